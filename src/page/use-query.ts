import { useEffect, useRef, useState } from 'preact/hooks';
import { type Column, type Endpoint, timeBounds, type Values } from './api/catalogue.ts';
import type { Answer, Client, Facts, Row } from './api/client.ts';
import { Problem } from './api/problem.ts';
import { requestValues } from './form/request-values.ts';
import { guessColumns } from './result/format.ts';
import { newestMicros, newRows, oldestMicros, timeColumn, toIso } from './row-times.ts';

/** What the page knows of the latest query. */
export type QueryState = {
  readonly isRunning: boolean;
  readonly answer?: {
    readonly rows: readonly Row[];
    readonly columns: readonly Column[];
    readonly facts: Facts;
    /** As they were sent. */
    readonly values: Values;
    /** Whether older rows were asked for, and there were none. */
    readonly isComplete?: boolean;
  };
  readonly problem?: Problem;
};

export type Query = QueryState & {
  /** @param isFresh whether the gateway's cache is not to answer. Default: it may */
  run(values: Values, isFresh?: boolean): void;
  cancel(): void;
  /** Rows before the oldest one; absent where the endpoint can't say it. */
  readonly loadOlder?: () => void;
  readonly isLive: boolean;
  setLive(isLive: boolean): void;
};

type ShownAnswer = NonNullable<QueryState['answer']>;

/** What to show, of the rows that came and those that are shown. */
type Merge = (answer: Answer, shown: ShownAnswer) => ShownAnswer;

/** Rows that live rows push out. */
const maxLiveRows = 20_000;

/** Milliseconds between two polls: for new rows alone, and for all of them. */
const tailMs = 2000;
const rerunMs = 10_000;

/** Runs the queries of one endpoint, one at a time. */
export function useQuery(client: Client | undefined, endpoint: Endpoint | undefined): Query {
  const [state, setState] = useState<QueryState>({ isRunning: false });
  const [isLive, setLive] = useLive();
  const running = useRef<AbortController>(undefined);
  const latest = useRef(state);
  latest.current = state;

  useEffect(() => {
    setState({ isRunning: false });
    setLive(false);
    return () => running.current?.abort();
  }, [client, endpoint?.name]);

  async function ask(sent: Values, isFresh: boolean, merge?: Merge): Promise<boolean> {
    if (!client || !endpoint) return false;
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState(before => ({ ...before, isRunning: true }));
    try {
      const [answer, columns] = await Promise.all([
        client.run(endpoint, sent, own.signal, isFresh),
        columnsOf(client, endpoint, sent, own.signal),
      ]);
      if (own.signal.aborted) return false;
      setState(before => {
        const shown = before.answer;
        if (merge && shown) return { isRunning: false, answer: merge(answer, shown) };
        const found = columns ?? guessColumns(answer.rows);
        return { isRunning: false, answer: { ...answer, columns: found, values: sent } };
      });
      return true;
    } catch (error) {
      if (own.signal.aborted) return false;
      const problem = error instanceof Problem ? error : new Problem(String(error), { code: 'page' });
      setState(before => ({ ...(merge ? before : {}), isRunning: false, problem }));
      return false;
    }
  }

  usePolling(isLive, () => latest.current, endpoint, ask);
  const older = endpoint && state.answer && olderOf(endpoint, state.answer);
  const cancel = () => {
    running.current?.abort();
    setState(before => ({ ...before, isRunning: false }));
  };
  return {
    ...state,
    run: (values, isFresh = false) =>
      endpoint && void ask(requestValues(endpoint, values, Date.now()), isFresh),
    cancel,
    ...(older && { loadOlder: () => void ask(older.values, false, older.merge) }),
    isLive: isLive(),
    setLive(next) {
      // Rows that were asked for before a pause do not come after it.
      if (!next) cancel();
      setLive(next);
    },
  };
}

/** Whether it is live, known at once: a poll that is due may come before the next rendering. */
function useLive(): [() => boolean, (isLive: boolean) => void] {
  const now = useRef(false);
  const [, setShown] = useState(false);
  const set = (isLive: boolean) => {
    now.current = isLive;
    setShown(isLive);
  };
  return [() => now.current, set];
}

type Ask = (sent: Values, isFresh: boolean, merge?: Merge) => Promise<boolean>;

/** Asks again and again while it is live, and while somebody can see it. */
function usePolling(
  isLive: () => boolean,
  latest: () => QueryState,
  endpoint: Endpoint | undefined,
  ask: Ask,
): void {
  // Each rendering has its own `ask`, for the values of its time.
  const current = useRef(ask);
  current.current = ask;
  useEffect(() => {
    if (!isLive() || !endpoint) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const poll = async () => {
      const { answer, isRunning } = latest();
      const tail = answer && tailOf(endpoint, answer);
      if (!isLive()) return;
      if (answer && !isRunning && document.visibilityState !== 'hidden') {
        if (tail) await current.current(tail.values, true, tail.merge);
        else await current.current(answer.values, true);
      }
      const pauseMs = (latest().problem?.retryAfterSeconds ?? 0) * 1000;
      if (!isOver) timer = setTimeout(poll, Math.max(tail ? tailMs : rerunMs, pauseMs));
    };
    timer = setTimeout(poll, tailMs / 2);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isLive(), endpoint]);
}

/** The columns of an answer; those of SQL are asked for beside it. */
async function columnsOf(client: Client, endpoint: Endpoint, values: Values, signal: AbortSignal) {
  if (values.sql === undefined) return endpoint.columns;
  const verdict = await client.check(endpoint, values, signal).catch(() => undefined);
  return verdict && 'columns' in verdict ? verdict.columns : undefined;
}

/** What asks for the rows after the newest one; undefined where all of them must be asked for again. */
function tailOf(endpoint: Endpoint, { columns, rows, values }: ShownAnswer) {
  const { start } = timeBounds(endpoint);
  const time = timeColumn(columns);
  if (start === undefined || !time || values.sql !== undefined) return undefined;
  const newest = newestMicros(time, rows);
  // The bound is exclusive, and another row may have the newest one's very time.
  const asked = newest === undefined ? values : { ...values, [start]: toIso(newest - 1) };
  const merge: Merge = ({ rows: found, facts }, shown) => {
    const fresh = newRows(time, found, shown.rows);
    // The same array where nothing is new: nothing is drawn.
    const merged = fresh.length === 0 ? shown.rows : [...fresh, ...shown.rows].slice(0, maxLiveRows);
    return { ...shown, rows: merged, facts };
  };
  return { values: asked, merge };
}

function olderOf(endpoint: Endpoint, { columns, rows, values, isComplete }: ShownAnswer) {
  const { end } = timeBounds(endpoint);
  const time = timeColumn(columns);
  if (end === undefined || time === undefined || values.sql !== undefined || isComplete) return undefined;
  const oldest = oldestMicros(time, rows);
  if (oldest === undefined) return undefined;
  const merge: Merge = ({ rows: found, facts }, shown) => {
    const older = newRows(time, found, shown.rows);
    const { ms, bytes } = shown.facts;
    return {
      ...shown,
      rows: [...shown.rows, ...older],
      // Those of all that is shown.
      facts: { ...facts, ms: ms + facts.ms, bytes: bytes + facts.bytes },
      isComplete: older.length === 0,
    };
  };
  return { values: { ...values, [end]: toIso(oldest) }, merge };
}
