import type { ResultSet } from '../base/rows.ts';
import type { Limit } from '../base/time-limit.ts';
import type { RunOptions, Statement } from '../engine/engine.ts';
import { createFairQueue } from '../engine/fair-queue.ts';
import { defaultMaxResultBytes } from '../engine/result-too-large.ts';
import type { AssembledSql } from './assemble-sql.ts';
import type { BigQueryEngineOptions } from './bigquery-options.ts';
import type { BigQueryApi } from './client/bigquery-api.ts';
import { isEmulator } from './client/emulator-endpoint.ts';
import type { InFlightTracker } from './client/in-flight-tracker.ts';
import type { Retries } from './client/retries.ts';
import type { DryRunGuard } from './dry-run-guard.ts';
import type { JobRequest } from './job-bodies.ts';
import { createLargeResults } from './large-results.ts';
import { type JobDeps, runJob } from './run-job.ts';

/** The deadline and the retries of one statement. */
export type Waiting = { readonly limit: Limit; readonly retries: Retries };

export type StatementToRun = {
  readonly statement: Statement;
  readonly runOptions: RunOptions;
  readonly waiting: Waiting;
};

/** The caller of a statement that waits for a place, and its deadline. */
type Placed = Pick<StatementToRun, 'runOptions' | 'waiting'>;

type RunnerDeps = {
  readonly api: BigQueryApi;
  readonly dryRunGuard: DryRunGuard;
  readonly inFlight: InFlightTracker;
  readonly options: BigQueryEngineOptions;
};

/** Maximum results of over a megabyte that are read at the same time. */
const maxLargeResults = 4;

/** Makes the runner of assembled statements, a limited number at a time: the dry run first, then the job. */
export function createStatementRunner({ api, dryRunGuard, inFlight, options }: RunnerDeps) {
  const { maxConcurrentQueries = 32, maxWaitingQueries = 256, maxWaitingPerCaller = 64 } = options;
  const waitingRoom = { maxWaiting: maxWaitingQueries, maxWaitingPerCaller };
  const queue = createFairQueue({ permits: maxConcurrentQueries, ...waitingRoom });
  const largeResults = createLargeResults(maxLargeResults, maxConcurrentQueries);

  async function runNow(assembled: AssembledSql, run: StatementToRun): Promise<ResultSet> {
    const { statement, runOptions, waiting } = run;
    const { endpoint, parameters, maxRows } = statement;
    const { text, sources, columns } = assembled;
    const found = await dryRunGuard.check({ text, sources, parameters }, waiting);
    const job = { ...jobOf(options, statement, text, runOptions), location: options.location ?? found };
    const read = largeResults.begin(waiting.limit.signal, runOptions);
    const reading = {
      maxRows,
      maxResultBytes: options.maxResultBytes ?? defaultMaxResultBytes,
      ours: columns,
      isEmulator: isEmulator(options.endpoint),
      onHeld: read.onHeld,
    };
    const onReplace: JobDeps['onReplace'] = ({ reason }, { mayBeBilled }) =>
      options.emit({ type: 'warehouse.job_replaced', endpoint, reason, mayBeBilled });
    return runJob({ api, inFlight, onReplace, ...waiting }, job, reading).finally(read.end);
  }

  async function inPlace<Result>(run: Placed, work: () => Promise<Result>): Promise<Result> {
    const release = await queue.take(run.waiting.limit.signal, run.runOptions);
    return work().finally(release);
  }

  return {
    /** Number of statements that wait for a place. */
    waiting: queue.waiting,
    /** Waits for a place at the warehouse, and keeps it while other work than a run is done. */
    inPlace,
    run: (assembled: AssembledSql, run: StatementToRun) => inPlace(run, () => runNow(assembled, run)),
  };
}

/** The job for one run of a statement; of two limits of bytes the lower one counts. */
function jobOf(
  options: BigQueryEngineOptions,
  { parameters, maxRows }: Statement,
  text: string,
  run: RunOptions,
): JobRequest {
  const limits = [options.maxBytesBilled, run.maxBytesBilled].filter(bytes => bytes !== undefined);
  const isBackground = run.priority === 'background';
  return {
    text,
    parameters,
    maxRows,
    priority: (isBackground && options.backgroundPriority) || 'INTERACTIVE',
    labels: run.labels ?? {},
    ...(limits.length > 0 ? { maxBytesBilled: Math.min(...limits) } : {}),
    ...(options.reservation ? { reservation: options.reservation } : {}),
  };
}
