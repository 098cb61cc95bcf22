import { isFull, type Run, type ShownRows, type TimeBounds } from './newer-rows.ts';
import { microBefore, newRows, oldestMicros, toIso } from './row-times.ts';

/**
 * Asks for rows before the oldest one that is shown; if one microsecond fills an answer, for rows before that.
 * @returns undefined if none can be asked for
 */
export function olderThan(
  shown: ShownRows,
  { time, end }: Pick<TimeBounds, 'time' | 'end'>,
): ((run: Run) => Promise<ShownRows>) | undefined {
  const { rows, values, isComplete, fullRows } = shown;
  const oldest = oldestMicros(time, rows);
  if (end === undefined || isComplete || oldest === undefined) return undefined;
  return async run => {
    const first = await run({ ...values, [end]: toIso(oldest) });
    const isNew = newRows(time, first.rows, rows).length > 0;
    const isCrowded = !isNew && isFull(first.rows, fullRows);
    const answer = isCrowded ? await run({ ...values, [end]: toIso(microBefore(oldest)) }) : first;
    const older = newRows(time, answer.rows, rows);
    const { ms, bytes } = shown.facts;
    return {
      ...shown,
      rows: [...rows, ...older],
      // Those of all that is shown.
      facts: { ...answer.facts, ms: ms + answer.facts.ms, bytes: bytes + answer.facts.bytes },
      isComplete: older.length === 0,
      fullRows: Math.max(fullRows, answer.rows.length),
      crowded: isCrowded ? [...shown.crowded, oldest] : shown.crowded,
    };
  };
}
