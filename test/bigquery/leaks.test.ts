import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { endWithProcess } from '../support/end-with-process.ts';
import { complete, incomplete, openWarehouse } from './scripted-warehouse.ts';
import { type Asked, type Deed, type Interference, refusal } from './warehouse-wire.ts';

/** One kind of request is treated badly, all others as they should be. */
function only(what: string, deed: Deed): Interference {
  return asked => (asked.what === what ? deed : started(asked));
}

/** A job that runs, with the name of its case. */
function started(asked: Asked, json: object = incomplete.json): Deed | undefined {
  const jobReference = { projectId: 'payer', jobId: caseOf(asked) };
  return ['query', 'insert'].includes(asked.what) ? { json: { ...json, jobReference } } : undefined;
}

/** What an answer has that is not all: another page, and no receipt. */
const unfinished = complete(['1'], { pageToken: 'b', totalSlotMs: undefined }).json;

/** The reasons of the fault table and all that a connection can suffer on a query's way; and how the query ends. */
const faults: Readonly<Record<string, readonly [Interference, string]>> = {
  backendError: [only('query', refusal(503, 'backendError')), 'unavailable'],
  internalError: [only('query', refusal(500, 'internalError')), 'unavailable'],
  rateLimitExceeded: [only('query', refusal(429, 'rateLimitExceeded')), 'overloaded'],
  jobBackendError: [only('query', refusal(400, 'jobBackendError')), 'unavailable'],
  jobRateLimitExceeded: [only('query', refusal(400, 'jobRateLimitExceeded')), 'overloaded'],
  tableUnavailable: [only('query', refusal(400, 'tableUnavailable')), 'unavailable'],
  quotaExceeded: [only('query', refusal(403, 'quotaExceeded')), 'engine_failed'],
  accessDenied: [only('query', refusal(403, 'accessDenied')), 'engine_failed'],
  invalidQuery: [only('query', refusal(400, 'invalidQuery')), 'invalid_query'],
  bytesBilledLimitExceeded: [only('query', refusal(400, 'bytesBilledLimitExceeded')), 'engine_failed'],
  authError: [only('query', refusal(401, 'authError')), 'engine_failed'],
  jobLost: [only('results', refusal(404, 'notFound')), 'unavailable'],
  noJson: [only('query', { text: '<html>' }), 'unavailable'],
  halfAPage: [only('query', 'halfAPage'), 'unavailable'],
  reset: [only('query', 'reset'), 'unavailable'],
  resetOfPoll: [only('results', 'reset'), 'unavailable'],
  hangOfLock: [only('dryRun', 'hang'), 'deadline_exceeded'],
  hangOfStart: [only('query', 'hang'), 'deadline_exceeded'],
  hangOfInsert: [only('insert', 'hang'), 'deadline_exceeded'],
  hangAfterHeaders: [only('query', 'hangAfterHeaders'), 'deadline_exceeded'],
  hangOfPoll: [only('results', 'hang'), 'deadline_exceeded'],
  hangOfPollAfterHeaders: [only('results', 'hangAfterHeaders'), 'deadline_exceeded'],
  neverEnds: [only('results', incomplete), 'deadline_exceeded'],
  hangOfPage: [
    asked => (asked.what === 'results' ? 'hang' : started(asked, unfinished)),
    'deadline_exceeded',
  ],
  hangOfReceipt: [
    asked => (asked.what === 'job' ? 'hang' : started(asked, { ...unfinished, pageToken: undefined })),
    'rows',
  ],
  hangOfCancel: [
    asked => (['results', 'cancel'].includes(asked.what) ? 'hang' : started(asked)),
    'deadline_exceeded',
  ],
  lateName: [only('query', { ...incomplete, afterMs: 500 }), 'rows'],
  fine: [asked => started(asked, complete(['1']).json), 'rows'],
};

/** How callers end it: by waiting, by a deadline that is near, by leaving; and by leaving a job of batch priority. */
const endings = ['over', 'late', 'left', 'batch'];

/** The case that a request belongs to: its text holds it, and the names of jobs are made of it. */
function caseOf({ path, body }: Asked): string {
  const text = body?.query ?? body?.configuration?.query.query ?? path;
  return /\w+\.(?:over|late|left|batch)/.exec(text)?.[0] ?? '';
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
  await vi.waitFor(() => expect(out + err).toContain('\n'), 20_000);

  expect(err).toBe('');
  const { endings: ended, alive } = JSON.parse(out);
  for (const name of cases.filter(each => each.endsWith('.over') && !each.startsWith('hangOfInsert'))) {
    expect([name, ended[name].how]).toEqual([name, faultOf(name)?.[1]]);
  }
  for (const name of ['hangOfLock.left', 'hangOfStart.left', 'hangOfPoll.left', 'hangOfInsert.batch']) {
    expect([name, ended[name].how]).toEqual([name, 'cancelled']);
  }
  // A deadline or a leave after 200 ms, and what a busy machine adds.
  const slow = cases.filter(name => !name.endsWith('.over') && ended[name].ms > 2000);
  expect(slow).toEqual([]);
  expect(warehouse.held().map(asked => `${asked.what} of ${caseOf(asked)}`)).toEqual([]);
  expect(alive).toEqual([]);

  child.stdin.end();
  const closedMs = performance.now();
  expect(await exit).toEqual([0, null]);
  expect(performance.now() - closedMs).toBeLessThan(3000);
  expect(err).toBe('');
  expect(await warehouse.openSockets()).toBe(0);
});
