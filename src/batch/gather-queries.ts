import { GatewayError, toGatewayError } from '../base/errors.ts';
import { orAborted } from '../base/or-aborted.ts';
import type { ResultSet } from '../base/rows.ts';
import { batchGroupOf, type EndpointQuery, statementOf } from './endpoint-query.ts';
import { type QueryTerms, type RunStatement, runBatch } from './run-batch.ts';

/** Runs one query; throws what the engine throws. */
export type RunEndpointQuery = (query: EndpointQuery, terms: QueryTerms) => Promise<ResultSet>;

type Waiting = {
  readonly query: EndpointQuery;
  readonly terms: QueryTerms;
  readonly resolve: (rows: ResultSet) => void;
  readonly reject: (error: Error) => void;
};

/**
 * Makes a runner that lets queries of one batch group, under one limit of bytes and of one priority, wait for each other and
 * answers them with one run.
 * @param later called with each first query of a group; calls back when there is no more to wait for
 */
export function gatherQueries(run: RunStatement, later: (flush: () => void) => void): RunEndpointQuery {
  const groups = new Map<string, Waiting[]>();
  return (query, terms) => {
    const batchGroup = batchGroupOf(query);
    if (batchGroup === undefined) return run(statementOf(query), terms);
    const group = `${batchGroup} ${terms.maxBytesBilled} ${terms.priority}`;
    const rows = new Promise<ResultSet>((resolve, reject) => {
      const waiting = { query, terms, resolve, reject };
      const others = groups.get(group);
      if (others) {
        others.push(waiting);
        return;
      }
      const all = [waiting];
      groups.set(group, all);
      later(() => {
        if (groups.get(group) === all) groups.delete(group);
        void answerAll(run, all);
      });
    });
    // Who leaves does not wait for the run of the others.
    return orAborted(rows, terms.signal);
  };
}

/** Participants of one gathering: queries that may turn out to need a run, and are about to. */
export type Gathering = {
  /** Joins before it is known whether there is anything to run. Whoever joined must run one query or leave. */
  join(): { readonly run: RunEndpointQuery; leave(): void };
};

/**
 * Makes a gathering of a known number of participants, which runs once each has come or left.
 * @param patienceMs milliseconds after the first has come; who comes later runs alone, or with those who come then
 */
export function openGathering(run: RunStatement, participants: number, patienceMs: number): Gathering {
  let expected = participants;
  let flushes: (() => void)[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const ready = flushes;
    flushes = [];
    for (const each of ready) each();
  };
  const flushWhenComplete = () => {
    if (expected <= 0) flush();
  };
  const gathered = gatherQueries(run, later => {
    flushes.push(later);
    timer ??= setTimeout(flush, patienceMs);
  });
  return {
    join() {
      let isExpected = true;
      const noLongerExpected = () => {
        if (isExpected) expected--;
        isExpected = false;
        flushWhenComplete();
      };
      return {
        run(query, terms) {
          const rows = gathered(query, terms);
          noLongerExpected();
          return rows;
        },
        leave: noLongerExpected,
      };
    },
  };
}

async function answerAll(run: RunStatement, waiting: readonly Waiting[]): Promise<void> {
  const present = waiting.filter(({ terms: { signal }, reject }) => {
    if (signal.aborted) reject(toGatewayError(signal.reason));
    return !signal.aborted;
  });
  if (present.length === 0) return;
  const queries = present.map(({ query }) => query);
  const answers = await runBatch(run, queries, termsOfAll(present.map(({ terms }) => terms))).catch(
    (error: unknown) => present.map(() => toGatewayError(error)),
  );
  const { caller } = present[0]!.terms;
  const again: Waiting[] = [];
  present.forEach((each, at) => {
    const answer = answers[at]!;
    if (!(answer instanceof GatewayError)) each.resolve(answer);
    // Refused for what the first caller has waiting: that is no reason to refuse the others.
    else if (answer.code === 'too_many_requests' && each.terms.caller !== caller) again.push(each);
    else each.reject(answer);
  });
  await answerAll(run, again);
}

/** One run for several: until the last of them leaves, in the name and under the labels of the first; all else they have in common. */
function termsOfAll(all: readonly QueryTerms[]): QueryTerms {
  return { ...all[0], signal: abortWithTheLast(all.map(({ signal }) => signal)) };
}

/** A signal that aborts when all of these have. */
function abortWithTheLast(signals: readonly AbortSignal[]): AbortSignal {
  if (signals.length === 1) return signals[0]!;
  const controller = new AbortController();
  let left = signals.length;
  for (const signal of signals) {
    signal.addEventListener(
      'abort',
      () => {
        left--;
        if (left === 0) controller.abort(signal.reason);
      },
      { once: true, signal: controller.signal },
    );
  }
  return controller.signal;
}
