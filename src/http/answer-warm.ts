import { type Caller, coversEndpoint } from '../auth/caller.ts';
import type { Authenticator } from '../auth/tokens.ts';
import { GatewayError } from '../base/errors.ts';
import { readCredentials } from '../http-messages/caller-headers.ts';
import type { RequestContext } from '../http-messages/request-context.ts';
import type { HttpResponse } from '../http-messages/send-response.ts';
import { identifyCaller } from '../pipeline/identify-caller.ts';
import type { ScheduleState, WarmSchedule } from '../warming/schedule.ts';
import { privateJson } from './json-response.ts';

/**
 * Answers `GET /admin/warm`: when groups are due, what all workers did, and what they skipped and why; for tokens with the scope `warm`.
 * Lists the groups of the saved queries that the token covers.
 * @throws GatewayError `unauthorized`, `forbidden`, `unavailable`
 */
export async function answerWarm(
  tokens: Pick<Authenticator, 'authenticate'>,
  schedule: Pick<WarmSchedule, 'state'>,
  context: RequestContext,
): Promise<HttpResponse> {
  const caller = await identifyCaller(tokens, readCredentials(context.request.headers), 'warm');
  return privateJson(render(await stateOf(schedule), caller));
}

async function stateOf(schedule: Pick<WarmSchedule, 'state'>): Promise<ScheduleState> {
  try {
    return await schedule.state();
  } catch (cause) {
    throw new GatewayError('unavailable', 'The Redis that holds the schedule does not answer; try again', {
      cause,
    });
  }
}

function render({ groups, keys, totals }: ScheduleState, caller: Caller) {
  const covered = groups.filter(({ endpoint }) => coversEndpoint(caller, endpoint));
  const count = (name: string) => totals[name] ?? 0;
  const skipped = Object.entries(totals)
    .filter(([name]) => name.startsWith('skipped:'))
    .map(([name, number]) => [name.slice('skipped:'.length), number]);
  return {
    keys,
    groups: covered.map(({ endpoint, group, keys: own, dueInMs, isClaimed, failures }) => ({
      endpoint,
      group: group.slice(0, 12),
      keys: own,
      due_in_seconds: Math.round(dueInMs / 1000),
      running: isClaimed,
      failures_in_a_row: failures,
    })),
    totals: {
      cycles: count('groups'),
      due: count('due'),
      refreshed: count('refreshed'),
      failed: count('failed'),
      skipped: Object.fromEntries(skipped),
      engine_runs: count('runs'),
      bytes_processed: count('bytes'),
      bytes_saved: count('savedBytes'),
      mean_lateness_ms: count('groups') > 0 ? Math.round(count('lateMs') / count('groups')) : 0,
    },
  };
}
