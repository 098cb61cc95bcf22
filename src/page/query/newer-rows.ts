import type { Values } from '../api/catalogue.ts';
import type { Answer, Facts, Row } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { endsBefore } from '../form/time-values.ts';
import { type Micros, microBefore, newestMicros, newRows, oldestMicros, toIso } from './row-times.ts';

/** Rows, and the facts about their answer. */
export type ShownRows = {
  readonly rows: readonly Row[];
  readonly facts: Facts;
  /** As they were sent. */
  readonly values: Values;
  /** Whether there are no older rows, as a request for them has shown. */
  readonly isComplete?: boolean;
  /** Rows of the longest answer so far: an answer with fewer was not cut. */
  readonly fullRows: number;
  /** Times that each fill an answer, the newest first: they may have more rows, which no bound can select. */
  readonly crowded: readonly Micros[];
};

/** The time column, and the parameters that bound it: exclusively below, inclusively above. */
export type TimeBounds = { readonly time: string; readonly start: string; readonly end: string | undefined };

/** Maximum rows that are shown; newer ones push out the oldest. */
const maxRows = 20_000;

/** Microseconds before the newest row that are asked for again: with several writers, a row may arrive after a newer one. */
const lateMicros = 10_000_000;

/** Maximum answers of one round. */
const maxAnswers = 10;

/**
 * Asks for the rows since those that are shown. An answer holds a limited number of the newest rows; earlier ones are asked for until they
 * meet those that are shown.
 * @param nowMs rows of later times are ignored for where to begin: one of next year would hide all others until then
 * @returns all rows to show, the newest first, in the same array if none is new; without the rows so far if the new ones do not meet them,
 * so that there is no gap between two rows
 * @throws Problem
 */
export async function withNewerRows(
  run: Run,
  bounds: TimeBounds,
  shown: ShownRows,
  nowMs: number,
): Promise<ShownRows> {
  const { time, start } = bounds;
  const newest = newestMicros(time, shown.rows, nowMs * 1000);
  const { values } = shown;
  const asked =
    newest === undefined ? values : { ...values, [start]: laterOf(values[start], newest - lateMicros) };
  const { found, facts, isMet, ...more } = await askBackTo(newest ?? Infinity, run, bounds, asked);
  const fullRows = Math.max(shown.fullRows, more.fullRows);
  if (!isMet)
    return { ...shown, ...more, fullRows, rows: newestFirst(time, found), facts, isComplete: false };
  const fresh = newRows(time, found, shown.rows);
  const crowded = [...more.crowded, ...shown.crowded];
  // The rows that were cut from an answer are shown already.
  const known = { ...shown, fullRows, crowded, facts: { ...facts, cutAt: shown.facts.cutAt } };
  if (fresh.length === 0) return known;
  const rows = newestFirst(time, [...fresh, ...shown.rows]);
  // Rows that are pushed out can be asked for again.
  if (rows.length > maxRows) return { ...known, rows: rows.slice(0, maxRows), isComplete: false };
  return { ...known, rows };
}

export type Run = (values: Values) => Promise<Answer>;

type Found = Pick<ShownRows, 'facts' | 'fullRows' | 'crowded'> & {
  readonly found: readonly Row[];
  readonly isMet: boolean;
};

/** Asks for rows back to a time, the newest first; stops earlier if that takes too many answers, or one after the first fails. */
async function askBackTo(
  micros: number,
  run: Run,
  { time, end }: TimeBounds,
  values: Values,
): Promise<Found> {
  let { rows: found, facts } = await run(values);
  let oldest = oldestMicros(time, found);
  let [answers, fullRows, isCrowded] = [1, found.length, false];
  const crowded: Micros[] = [];
  const soFar = (isMet: boolean): Found => ({ found, facts, isMet, fullRows, crowded });
  while (oldest !== undefined && oldest > micros) {
    if (end === undefined || answers++ === maxAnswers) return soFar(false);
    const before = toIso(isCrowded ? microBefore(oldest) : oldest);
    const answer = await run({ ...values, [end]: before }).catch(error => {
      // For example a token's limit of requests, which the next poll would meet again.
      if (error instanceof Problem) return undefined;
      throw error;
    });
    if (!answer) return soFar(false);
    facts = answer.facts;
    const more = newRows(time, answer.rows, found);
    found = [...found, ...more];
    if (more.length > 0) oldest = oldestMicros(time, more);
    else if (isCrowded || !isFull(answer.rows, fullRows)) return soFar(true);
    isCrowded = more.length === 0;
    if (isCrowded) crowded.push(oldest!);
    fullRows = Math.max(fullRows, answer.rows.length);
  }
  return soFar(true);
}

/**
 * Whether an answer may have been cut. If such an answer has nothing new, a single microsecond fills it, and there may be older rows before
 * that.
 */
export const isFull = (rows: readonly Row[], fullRows: number): boolean =>
  rows.length > 1 && rows.length >= fullRows;

/** The bound of the form, unless the other time is later. */
function laterOf(given: Values[string] | undefined, micros: number): string {
  const [text, other] = [String(given ?? ''), toIso(micros)];
  return endsBefore(text, other) ? text : other;
}

function newestFirst(time: string, rows: readonly Row[]): Row[] {
  return [...rows].sort(({ [time]: one }, { [time]: other }) => Number(other) - Number(one));
}
