import type { Mutant } from './mutant.ts';

const oneDeadline = 'test/contract/one-deadline.test.ts';
const engine = 'test/duckdb/duckdb-engine.test.ts';
const answeredInTime = 'is answered within 250 ms of its deadline, whatever the engine does';

export const deadline: readonly Mutant[] = [
  {
    promise: 'the halves of a batch share the time of one query',
    file: 'src/batch/run-queries.ts',
    find: 'const options = { ...others, startedMs };',
    replace: 'const options = others;',
    test: [oneDeadline, 'runs of one batch share its time'],
  },
  {
    promise: 'each run of a batch has what its query has left of its time',
    file: 'src/pipeline/run-statement.ts',
    find: 'const timeoutMs = Math.ceil(queryTimeoutMs - (beganMs - startedMs));',
    replace: 'const timeoutMs = beganMs - startedMs > queryTimeoutMs ? 0 : queryTimeoutMs;',
    test: [oneDeadline, 'runs of one batch share its time'],
  },
  {
    promise: 'a run that has used up the time is not tried again in halves',
    file: 'src/batch/run-queries.ts',
    find: "'too_many_requests', 'deadline_exceeded'];",
    replace: "'too_many_requests'];",
    test: ['test/batch/batch-queries.test.ts', ', nothing is tried again'],
  },
  {
    promise: 'a batch that nobody waits for any more is not halved further',
    file: 'src/batch/run-queries.ts',
    find: 'part.length > 1 && !options.signal.aborted && mayDependOnValues(error)',
    replace: 'part.length > 1 && mayDependOnValues(error)',
    test: ['test/batch/batch-queries.test.ts', 'a run that was left is not tried again in halves'],
  },
  {
    promise: 'a run of a batch has a bounded number of patterns',
    file: 'src/batch/run-queries.ts',
    find: 'patterns: 50, rows:',
    replace: 'patterns: 5000, rows:',
    test: [
      'test/batch/batch-queries.test.ts',
      'a run has fifty patterns at most, for one pattern is made of them',
    ],
  },
  {
    promise: 'a REST request ends with its deadline',
    file: 'src/http/answer-rest.ts',
    find: 'return withinDeadline(caller, deps.queryTimeoutMs, signal => ask({ ...asked, signal }, context));',
    replace:
      'return withinDeadline(caller, 10 * deps.queryTimeoutMs, signal => ask({ ...asked, signal }, context));',
    test: [oneDeadline, answeredInTime],
  },
  {
    promise: 'a GraphQL request ends with its deadline',
    file: 'src/graphql/answer-graphql.ts',
    find: 'withinDeadline(context.signal, pipeline.queryTimeoutMs, signal =>',
    replace: 'withinDeadline(context.signal, 10 * pipeline.queryTimeoutMs, signal =>',
    test: [oneDeadline, answeredInTime],
  },
  {
    promise: 'a request of an agent ends with its deadline',
    file: 'src/mcp/answer-mcp.ts',
    find: 'return withinDeadline(context.signal, deps.queryTimeoutMs, async signal => {',
    replace: 'return withinDeadline(context.signal, 10 * deps.queryTimeoutMs, async signal => {',
    test: [oneDeadline, answeredInTime],
  },
  {
    promise: 'a request ends within 250 ms of its deadline',
    file: 'src/base/time-limit.ts',
    find: 'const graceMs = 150;',
    replace: 'const graceMs = 2000;',
    test: [oneDeadline, answeredInTime],
  },
  {
    promise: 'the wait for another gateway’s query and a run of one’s own share the time of a request',
    file: 'src/base/time-limit.ts',
    find: 'const limit = startLimit({ signal, timeoutMs }, graceMs);',
    replace: 'const limit = startLimit({ signal, timeoutMs: 2 * timeoutMs }, graceMs);',
    test: [
      oneDeadline,
      "the wait for another gateway's query and a run of one's own share the time of the request",
    ],
  },
  {
    promise: 'a query that is run again keeps its own deadline',
    file: 'src/duckdb/duckdb-engine.ts',
    find: 'againIfOutdated(limit, () => runIn(child, statement, options))',
    replace:
      'againIfOutdated(limit, () => runIn(child, statement, runs > 1 ? { ...options, ...nobody() } : options))',
    test: [engine, 'a query that was run again keeps its own deadline'],
  },
  {
    promise: 'the requests of one query to the warehouse end with its deadline, repeated ones too',
    file: 'src/bigquery/client/in-flight-tracker.ts',
    find: 'AbortSignal.any([signal, stop.signal]), timeoutMs });',
    replace: 'AbortSignal.any([signal, stop.signal]), timeoutMs: 100 * timeoutMs });',
    test: ['test/bigquery/run-job.test.ts', 'does not outlive its deadline'],
  },
  {
    promise: 'a parameter’s pattern whose program is large is refused before it is compiled',
    file: 'src/endpoints/parameters/read-parameter.ts',
    find: 'if (tooLarge) return',
    replace: 'if (tooLarge && text.length > 1024) return',
    test: [
      'test/pipeline/bind-parameters.test.ts',
      'refuses a pattern whose repetitions make a large program before it is compiled, and says the limit',
    ],
  },
  {
    promise: 'a pattern in a caller’s SQL whose program is large is refused before anything runs',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: '  if (problem) throw invalidQuery(problem, at);\n',
    replace: '',
    test: ['test/sandbox/limits.test.ts', 'before anything runs'],
  },
  {
    promise: 'the patterns of one statement are bounded together',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: "  statement.count('instructions', patternSize(pattern), at);\n",
    replace: '',
    test: ['test/sandbox/limits.test.ts', 'before anything runs'],
  },
  {
    promise: 'a pattern that a caller’s SQL calculates is refused where its program is large',
    file: 'src/googlesql/functions/texts/functions-string.ts',
    find: "isCallers(context.environment) ? 'bq_pattern(bq_checked_pattern($1))' : 'bq_pattern($1)'",
    replace: "isCallers(context.environment) ? 'bq_pattern($1)' : 'bq_pattern($1)'",
    test: ['test/sandbox/limits.test.ts', 'in time, and answers the next'],
  },
  {
    promise: 'optional and repeated pieces multiply what a pattern’s program is estimated at',
    file: 'src/googlesql/values/patterns.ts',
    find: 'group.last * times + (group.last + 1) * optional',
    replace: 'group.last + times + optional',
    test: ['test/googlesql/functions/patterns.test.ts', 'with the limit'],
  },
  {
    promise: 'a query that does not stop is ended by the end of its process',
    file: 'src/duckdb/engine-child.ts',
    find: "    killing = setTimeout(() => child.kill('unresponsive query'), graceMs);\n",
    replace: '',
    test: [engine, 'a query that does not respond ends with its process alone: its neighbours go on'],
  },
  {
    promise: 'each query has a process of its own, so that one that does not stop takes no other with it',
    file: 'src/duckdb/engine-pool.ts',
    find: 'const last = isNew ? undefined : idle.pop();',
    replace:
      'const last = isNew ? undefined : (idle.pop() ?? [...living].map(child => ({ child, timer: undefined }))[0]);',
    test: [
      'test/duckdb/engine-pool.test.ts',
      'kills the process of a statement that does not respond, and no other',
    ],
  },
  {
    promise: 'a query whose process ends under it runs again',
    file: 'src/duckdb/duckdb-engine.ts',
    find: 'const maxRuns = 3;',
    replace: 'const maxRuns = 1;',
    test: [engine, 'after kill -9 of its process a query is run again, and answered'],
  },
  {
    promise: 'a query that runs again has a new process, for idle ones may have ended with the first',
    file: 'src/duckdb/duckdb-engine.ts',
    find: 'isNew: runs > 1,',
    replace: 'isNew: false,',
    test: [
      engine,
      'a query is run again in a new process, for idle ones may have been killed together with its own',
    ],
  },
  {
    promise: 'a query whose process gives no sign of life is run again in another one',
    file: 'src/duckdb/engine-child.ts',
    find: 'if (++missing > maxSilentTimes) onLong();',
    replace: 'if (++missing > 1000 * maxSilentTimes) onLong();',
    test: [engine, 'a query whose process is frozen is run again in another one'],
  },
  {
    promise: 'who joined a query late has a deadline of its own, for which the query runs again',
    file: 'src/base/turns.ts',
    find: "return code === 'deadline_exceeded' && leftMs >= minLeftMs;",
    replace: 'return false;',
    test: [
      'test/cache/single-flight.test.ts',
      'a load whose time is over is repeated for those who came a second or more after its first caller',
    ],
  },
  {
    promise: 'nobody waits for a redaction beyond the deadline',
    file: 'src/redaction/redactor.ts',
    find: 'await orAborted(result, signal)',
    replace: 'await result',
    test: [
      'test/redaction/redactor.test.ts',
      'a caller leaves at once, and its work ends; others get theirs',
    ],
  },
];
