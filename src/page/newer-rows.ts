import type { Values } from './api/catalogue.ts';
import type { Answer, Facts, Row } from './api/client.ts';
import { Problem } from './api/problem.ts';
import { endsBefore } from './form/time-values.ts';
import { newestMicros, newRows, oldestMicros, toIso } from './row-times.ts';

/** Rows, and what was known of them as they came. */
export type ShownRows = {
  readonly rows: readonly Row[];
  readonly facts: Facts;
  /** As they were sent. */
  readonly values: Values;
  /** Whether older rows were asked for, and there were none. */
  readonly isComplete?: boolean;
};

/** The column that says when a row happened, and the parameters that bound it: exclusively below, inclusively above. */
export type TimeBounds = { readonly time: string; readonly start: string; readonly end: string | undefined };

/** Rows that newer ones push out. */
const maxRows = 20_000;

/** Microseconds before the newest row that are asked for again: where several write, a row may come after a newer one. */
const lateMicros = 10_000_000;

/** Answers of one round. */
const maxAnswers = 10;

/**
 * Asks for the rows that came since those that are shown. An answer may hold only a limited number of the newest ones; the rows before them are
 * asked for until they meet those that are shown.
 * @param nowMs rows of later times say nothing of where to begin: one of the next year would hide all others until then
 * @returns all that is to be shown, the newest first, in the same array where nothing is new; without the rows so far where the new ones
 * do not meet them, so that no gap is between two rows
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
  const { found, facts, isMet } = await askBackTo(newest ?? Infinity, run, bounds, asked);
  if (!isMet) return { ...shown, rows: newestFirst(time, found), facts, isComplete: false };
  const fresh = newRows(time, found, shown.rows);
  // What an answer was cut of is shown already.
  const known = { ...shown, facts: { ...facts, cutAt: shown.facts.cutAt } };
  if (fresh.length === 0) return known;
  return { ...known, rows: newestFirst(time, [...fresh, ...shown.rows]).slice(0, maxRows) };
}

type Run = (values: Values) => Promise<Answer>;

type Found = { readonly found: readonly Row[]; readonly facts: Facts; readonly isMet: boolean };

/** Asks for rows back to a time, the newest first; not so far where that takes too many answers, or a later one fails. */
async function askBackTo(
  micros: number,
  run: Run,
  { time, end }: TimeBounds,
  values: Values,
): Promise<Found> {
  let asked = values;
  let { rows: found, facts } = await run(asked);
  let oldest = oldestMicros(time, found);
  let [answers, isMore] = [1, true];
  while (isMore && oldest !== undefined && oldest > micros) {
    if (end === undefined || answers++ === maxAnswers) return { found, facts, isMet: false };
    asked = { ...asked, [end]: toIso(oldest) };
    const answer = await run(asked).catch(error => {
      // Such as a token's limit of requests: with the next poll it would be the same.
      if (error instanceof Problem) return undefined;
      throw error;
    });
    if (!answer) return { found, facts, isMet: false };
    const more = newRows(time, answer.rows, found);
    found = [...found, ...more];
    facts = answer.facts;
    oldest = oldestMicros(time, answer.rows);
    isMore = more.length > 0;
  }
  return { found, facts, isMet: true };
}

/** The bound of the form, unless the other time is later. */
function laterOf(given: Values[string] | undefined, micros: number): string {
  const [text, other] = [String(given ?? ''), toIso(micros)];
  return endsBefore(text, other) ? text : other;
}

function newestFirst(time: string, rows: readonly Row[]): Row[] {
  return [...rows].sort(({ [time]: one }, { [time]: other }) => Number(other) - Number(one));
}
