import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { endWithProcess } from '../support/end-with-process.ts';
import { complete, incomplete, openWarehouse } from './scripted-warehouse.ts';
import { type Asked, type Deed, type Interference, refusal } from './warehouse-http.ts';

/** One kind of request is treated badly, all others as they should be. */
function only(what: string, deed: Deed): Interference {
  return asked => (asked.what === what ? deed : undefined);
}

const runningJob = { jobReference: { projectId: 'payer', jobId: 'job_1' }, status: { state: 'RUNNING' } };

/** An answer that is not all: another page follows. */
const firstPage = complete(['1'], { totalRows: '2', pageToken: 'b' });

/** The reasons of the fault table and all that a connection can suffer on a query's way; and how the query ends. */
const faults: Readonly<Record<string, readonly [Interference, string]>> = {
  backendError: [only('insert', refusal(503, 'backendError')), 'unavailable'],
  internalError: [only('insert', refusal(500, 'internalError')), 'unavailable'],
  rateLimitExceeded: [only('insert', refusal(429, 'rateLimitExceeded')), 'overloaded'],
  jobBackendError: [only('insert', refusal(400, 'jobBackendError')), 'unavailable'],
  jobRateLimitExceeded: [only('insert', refusal(400, 'jobRateLimitExceeded')), 'overloaded'],
  tableUnavailable: [only('insert', refusal(400, 'tableUnavailable')), 'unavailable'],
  quotaExceeded: [only('insert', refusal(403, 'quotaExceeded')), 'engine_failed'],
  accessDenied: [only('insert', refusal(403, 'accessDenied')), 'engine_failed'],
  invalidQuery: [only('insert', refusal(400, 'invalidQuery')), 'invalid_query'],
  bytesBilledLimitExceeded: [only('insert', refusal(400, 'bytesBilledLimitExceeded')), 'engine_failed'],
  authError: [only('insert', refusal(401, 'authError')), 'engine_failed'],
  jobLost: [only('results', refusal(404, 'notFound')), 'unavailable'],
  noJson: [only('insert', { text: '<html>' }), 'unavailable'],
  halfAPage: [only('insert', 'halfAPage'), 'unavailable'],
  reset: [only('insert', 'reset'), 'unavailable'],
  resetOfPoll: [only('results', 'reset'), 'unavailable'],
  hangOfLock: [only('dryRun', 'hang'), 'deadline_exceeded'],
  hangOfStart: [only('insert', 'hang'), 'deadline_exceeded'],
  hangAfterHeaders: [only('insert', 'hangAfterHeaders'), 'deadline_exceeded'],
  hangOfPoll: [only('results', 'hang'), 'deadline_exceeded'],
  hangOfPollAfterHeaders: [only('results', 'hangAfterHeaders'), 'deadline_exceeded'],
  neverEnds: [only('results', incomplete), 'deadline_exceeded'],
  hangOfPage: [
    ({ what, params }) => (what !== 'results' ? undefined : params.has('pageToken') ? 'hang' : firstPage),
    'deadline_exceeded',
  ],
  hangOfReceipt: [only('job', 'hang'), 'rows'],
  hangOfCancel: [
    ({ what }) => (['results', 'cancel'].includes(what) ? 'hang' : undefined),
    'deadline_exceeded',
  ],
  lateStart: [only('insert', { json: runningJob, afterMs: 500 }), 'rows'],
  fine: [() => undefined, 'rows'],
};

/** How callers end it: by waiting, by a deadline that is near, by leaving; and by leaving a job of batch priority. */
const endings = ['over', 'late', 'left', 'batch'];

/** Cases by the names of their jobs. */
const caseOfJob = new Map<string, string>();

/** The case that a request belongs to: the text of its job holds it. */
function caseOf({ path, body }: Asked): string {
  const configuration = body?.configuration;
  if (!configuration) return caseOfJob.get(/(gateway_[^/]+)/.exec(path)?.[1] ?? '') ?? '';
  const found = /\w+\.(?:over|late|left|batch)/.exec(configuration.query.query)?.[0] ?? '';
  if (!configuration.dryRun) caseOfJob.set(body.jobReference.jobId, found);
  return found;
}

const faultOf = (name: string) => faults[name.split('.')[0] ?? ''];

test('after every fault, deadline and leave no timer, no socket, no rejection is left, and a closed engine lets its process end', async () => {
  const warehouse = await openWarehouse({ results: [complete(['1'])] });
  onTestFinished(warehouse.close);
  warehouse.interfere(asked => faultOf(caseOf(asked))?.[0](asked));

  const cases = endings.flatMap(ending => Object.keys(faults).map(fault => `${fault}.${ending}`));
  const args = ['test/bigquery/leak-probe.ts', warehouse.url, ...cases];
  const child = spawn('node', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  endWithProcess(child);
  let [out, err] = ['', ''];
  child.stderr.setEncoding('utf8').on('data', part => {
    err += part;
  });
  child.stdout.setEncoding('utf8').on('data', part => {
    out += part;
  });
  const exit = once(child, 'exit');
  await vi.waitFor(() => expect(out + err).toContain('\n'), { timeout: 200_000 });

  expect(err).toBe('');
  const { endings: ended, alive } = JSON.parse(out);
  for (const name of cases.filter(each => each.endsWith('.over'))) {
    expect([name, ended[name].how]).toEqual([name, faultOf(name)?.[1]]);
  }
  for (const name of ['hangOfLock.left', 'hangOfStart.left', 'hangOfPoll.left', 'hangOfStart.batch']) {
    expect([name, ended[name].how]).toEqual([name, 'cancelled']);
  }
  // A deadline or a leave after 200 ms, and what a busy machine adds; who is left has half a minute.
  const slow = cases.filter(name => !name.endsWith('.over') && ended[name].ms > 20_000);
  expect(slow).toEqual([]);
  expect(warehouse.held().map(asked => `${asked.what} of ${caseOf(asked)}`)).toEqual([]);
  expect(alive).toEqual([]);

  child.stdin.end();
  expect(await exit).toEqual([0, null]);
  expect(err).toBe('');
  expect(await warehouse.openSockets()).toBe(0);
});
