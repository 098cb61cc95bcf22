import DataLoader from 'dataloader';
import { type GatewayError, toGatewayError } from '../base/errors.ts';
import type { ResultSet } from '../base/rows.ts';
import { orAborted } from '../base/time-limit.ts';
import { concernsFirstOnly, type JoinedCallers } from '../base/turns.ts';
import {
  batchGroupOf,
  type EndpointQuery,
  type QueryOptions,
  type RunQuery,
  type RunStatement,
  runBatch,
  statementOf,
} from './run-queries.ts';

/** A query as a caller requested it. */
type Asked = { readonly query: EndpointQuery; readonly options: QueryOptions };

/**
 * Makes a runner that collects queries of the same batch group, limit of bytes and priority, and answers them by one run.
 * @param schedule called with the first query of each group; must call back when the run is to start
 */
export function batchQueries(run: RunStatement, schedule: (start: () => void) => void): RunQuery {
  const loaders = new Map<string, DataLoader<Asked, ResultSet>>();

  function openLoader(group: string): DataLoader<Asked, ResultSet> {
    const answer = (all: readonly Asked[]) => {
      loaders.delete(group);
      return answerAll(run, all);
    };
    const loader = new DataLoader<Asked, ResultSet>(answer, { cache: false, batchScheduleFn: schedule });
    loaders.set(group, loader);
    return loader;
  }

  return (query, options) => {
    const batchGroup = batchGroupOf(query);
    if (batchGroup === undefined) return run(statementOf(query), options);
    const group = `${batchGroup} ${options.maxBytesBilled} ${options.priority}`;
    const rows = (loaders.get(group) ?? openLoader(group)).load({ query, options });
    // A caller who leaves does not wait for the shared run.
    return orAborted(rows, options.signal);
  };
}

/** Queries of a known number of participants, which may share a run. */
export type Batch = {
  /** Joins the batch before it is known whether a query is needed. Each participant then runs one query, or leaves. */
  join(): { readonly run: RunQuery; leave(): void };
};

/**
 * Opens a batch that runs as soon as each participant has a query or has left.
 * @param timeoutMs milliseconds after the first query at which the batch runs anyway; later queries form another batch
 */
export function openBatch(run: RunStatement, participants: number, timeoutMs: number): Batch {
  let expected = participants;
  let starts: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const startAll = () => {
    clearTimeout(timer);
    timer = undefined;
    const ready = starts;
    starts = [];
    for (const start of ready) start();
  };
  const batched = batchQueries(run, start => {
    starts.push(start);
    timer ??= setTimeout(startAll, timeoutMs);
  });
  return {
    join() {
      let isExpected = true;
      const leave = () => {
        if (isExpected) expected--;
        isExpected = false;
        if (expected <= 0) startAll();
      };
      return {
        run(query, options) {
          const rows = batched(query, options);
          leave();
          return rows;
        },
        leave,
      };
    },
  };
}

async function answerAll(run: RunStatement, all: readonly Asked[]): Promise<(ResultSet | GatewayError)[]> {
  const answers = new Map<Asked, ResultSet | GatewayError>();
  let open = all;
  while (open.length > 0) {
    for (const asked of open) {
      const { signal } = asked.options;
      if (signal.aborted) answers.set(asked, toGatewayError(signal.reason));
    }
    await answerOnce(
      run,
      open.filter(asked => !answers.has(asked)),
      answers,
    );
    open = all.filter(asked => !answers.has(asked));
  }
  return all.map(asked => answers.get(asked)!);
}

/** Answers queries by one run in the name of the first caller. Queries that must run again get no answer. */
async function answerOnce(
  run: RunStatement,
  open: readonly Asked[],
  answers: Map<Asked, ResultSet | GatewayError>,
): Promise<void> {
  const [first] = open;
  if (!first) return;
  const queries = open.map(({ query }) => query);
  const { signal, letGo } = abortWithTheLast(open.map(({ options }) => options.signal));
  const results = await runBatch(run, queries, { ...first.options, joined: joinedOf(open), signal })
    .catch((thrown: unknown) => {
      const error = toGatewayError(thrown);
      return open.map(() => error);
    })
    .finally(letGo);
  open.forEach((asked, at) => {
    const result = results[at]!;
    const isFirst = asked.options.caller === first.options.caller;
    // All have the time of the first.
    const isRepeated = 'code' in result && concernsFirstOnly(result.code, { isFirst, leftMs: 0 });
    if (!isRepeated) answers.set(asked, result);
  });
}

/** All callers who wait for one of these queries. */
function joinedOf(all: readonly Asked[]): JoinedCallers {
  return {
    follow(onJoin) {
      const ends = all.map(({ options: { caller, joined } }) => {
        if (caller !== undefined) onJoin(caller);
        return joined?.follow(onJoin);
      });
      return () => {
        for (const end of ends) end?.();
      };
    },
  };
}

/** A signal that aborts when all of these have aborted, and a function that removes its listeners from signals that may live as long as the process. */
function abortWithTheLast(signals: readonly AbortSignal[]): { signal: AbortSignal; letGo: () => void } {
  const controller = new AbortController();
  let left = signals.length;
  const leaves = signals.map(signal => {
    const leave = () => {
      left--;
      if (left === 0) controller.abort(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    return () => signal.removeEventListener('abort', leave);
  });
  return {
    signal: controller.signal,
    letGo() {
      for (const leave of leaves) leave();
    },
  };
}
