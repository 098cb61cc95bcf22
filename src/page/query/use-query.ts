import { useEffect, useRef, useState } from 'preact/hooks';
import { type Column, type Endpoint, timeBounds, type Values } from '../api/catalogue.ts';
import type { Answer, Client } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { requestValues } from '../form/request-values.ts';
import { guessColumns } from '../result/format.ts';
import { type ShownRows, type TimeBounds, withNewerRows } from './newer-rows.ts';
import { olderThan } from './older-rows.ts';
import { timeColumn } from './row-times.ts';

/** The state of the latest query. */
export type QueryState = {
  readonly isRunning: boolean;
  readonly answer?: ShownAnswer;
  readonly problem?: Problem;
};

type ShownAnswer = ShownRows & {
  readonly columns: readonly Column[];
  /** The values of the form, in which times may move with the clock. */
  readonly form: Values;
};

export type Query = QueryState & {
  /** @param isFresh whether to bypass the gateway's cache. Default: false */
  run(values: Values, isFresh?: boolean): void;
  cancel(): void;
  /** Loads rows before the oldest one; absent if the endpoint can't select them. */
  readonly loadOlder?: () => void;
  readonly isLive: boolean;
  setLive(isLive: boolean): void;
};

/** Loads what is shown next. */
type Load = (client: Client, signal: AbortSignal) => Promise<ShownAnswer>;

/** Milliseconds between two polls: for new rows only, and for all rows. */
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

  /** @param keepsRows whether the rows so far stay if this fails */
  async function show(load: Load, keepsRows: boolean): Promise<void> {
    if (!client) return;
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState(before => ({ ...before, isRunning: true }));
    try {
      const answer = await load(client, own.signal);
      if (!own.signal.aborted) setState({ isRunning: false, answer });
    } catch (error) {
      if (own.signal.aborted) return;
      const problem = error instanceof Problem ? error : new Problem(String(error), { code: 'page' });
      setState(before => ({ ...(keepsRows ? before : {}), isRunning: false, problem }));
    }
  }

  usePolling(
    isLive,
    () => latest.current,
    endpoint,
    load => show(load, true),
    () => setLive(false),
  );
  const older = endpoint && state.answer && olderRows(endpoint, state.answer);
  const cancel = () => {
    running.current?.abort();
    setState(before => ({ ...before, isRunning: false }));
  };
  return {
    ...state,
    run: (values, isFresh = false) => endpoint && void show(wholeAnswer(endpoint, values, isFresh), false),
    cancel,
    ...(older && { loadOlder: () => void show(older, true) }),
    isLive: isLive(),
    setLive(next) {
      // Rows requested before a pause must not arrive after it.
      if (!next) cancel();
      setLive(next);
    },
  };
}

/** Whether Live is on. Read from a reference: a poll may be due before the next rendering. */
function useLive(): [() => boolean, (isLive: boolean) => void] {
  const now = useRef(false);
  const [, setShown] = useState(false);
  const set = (isLive: boolean) => {
    now.current = isLive;
    setShown(isLive);
  };
  return [() => now.current, set];
}

/** Polls while Live is on and the page is visible; turns Live off if the token is no longer accepted. */
function usePolling(
  isLive: () => boolean,
  latest: () => QueryState,
  endpoint: Endpoint | undefined,
  show: (load: Load) => Promise<void>,
  end: () => void,
): void {
  // Each rendering has its own function, with the client at that time.
  const current = useRef(show);
  current.current = show;
  useEffect(() => {
    if (!isLive() || !endpoint) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const poll = async () => {
      const { answer, isRunning } = latest();
      if (!isLive()) return;
      const newer = answer && newerRows(endpoint, answer);
      if (answer && !isRunning && document.visibilityState !== 'hidden') {
        // Bounds that move with the clock are resolved now.
        await current.current(newer ?? wholeAnswer(endpoint, answer.form, true));
      }
      const { problem } = latest();
      if (problem?.status === 401 || problem?.status === 403) return end();
      const pauseMs = (problem?.retryAfterSeconds ?? 0) * 1000;
      if (!isOver) timer = setTimeout(poll, Math.max(newer ? tailMs : rerunMs, pauseMs));
    };
    timer = setTimeout(poll, tailMs / 2);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isLive(), endpoint]);
}

/** The rows for the values of a form; the columns of SQL are requested in parallel. */
function wholeAnswer(endpoint: Endpoint, form: Values, isFresh: boolean): Load {
  return async (client, signal) => {
    const values = requestValues(endpoint, form, Date.now());
    const columnsOf = async () => {
      if (values.sql === undefined) return endpoint.columns;
      const verdict = await client.check(endpoint, values, signal).catch(() => undefined);
      return verdict && 'columns' in verdict ? verdict.columns : undefined;
    };
    const [answer, columns] = await Promise.all([client.run(endpoint, values, signal, isFresh), columnsOf()]);
    const shown = {
      columns: columns ?? guessColumns(answer.rows),
      fullRows: answer.rows.length,
      crowded: [],
    };
    return { ...answer, ...shown, values, form };
  };
}

/** Adds the rows after the newest one to those that are shown; undefined if all rows must be asked for again. */
function newerRows(endpoint: Endpoint, shown: ShownAnswer): Load | undefined {
  const { time, start, end } = boundsOf(endpoint, shown);
  if (start === undefined || time === undefined) return undefined;
  const bounds: TimeBounds = { time, start, end };
  return async (client, signal) => {
    const run = (values: Values): Promise<Answer> => client.run(endpoint, values, signal, true);
    return { ...shown, ...(await withNewerRows(run, bounds, shown, Date.now())) };
  };
}

function olderRows(endpoint: Endpoint, shown: ShownAnswer): Load | undefined {
  const { time, end } = boundsOf(endpoint, shown);
  const ask = time === undefined ? undefined : olderThan(shown, { time, end });
  if (!ask) return undefined;
  return async (client, signal) => ({
    ...shown,
    ...(await ask(values => client.run(endpoint, values, signal, false))),
  });
}

/** The time column and its bounds; the caller's own SQL may use the bounds for anything. */
function boundsOf(endpoint: Endpoint, { columns, values }: ShownAnswer): Partial<TimeBounds> {
  if (values.sql !== undefined) return {};
  return { ...timeBounds(endpoint), time: timeColumn(columns) };
}
