import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Column, isNumeric, isRepeated, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { isLevel, levelOf } from './level.ts';
import { shortNames } from './short-names.ts';
import { mainColumn, tracksOf } from './table-columns.ts';

/** Pixels; the style sheet has the same ones. A narrow screen shows a row of the log in two lines. */
const rowHeight = { wide: 30, narrow: 52 } as const;

/** How the table draws rows. */
export type Shape = {
  /** Whether rows have a level in their records. */
  readonly hasLevel: boolean;
  readonly isNarrow: boolean;
  readonly columns: readonly Column[];
  /** The heading of each column. */
  readonly heads: readonly string[];
  /** Widths, as grid tracks. */
  readonly tracks: string;
  /** Pixels. */
  readonly rowHeight: number;
};

/** The shape for the columns and the width of the window. */
export function useShape(columns: readonly Column[], rows: readonly Row[]): Shape {
  const isSmall = useMedia('(width < 48rem)');
  return useMemo(() => {
    const sample = rows.slice(0, 50);
    // Not if there is a column for it.
    const hasLevel = !columns.some(isLevel) && sample.some(row => levelOf(row) !== undefined);
    const time = columns.find(isTemporal);
    const main = mainColumn(columns);
    // Measurements are narrow, and mean little without their other columns.
    const isNarrow = isSmall && time !== undefined && main !== undefined && hasLevel;
    const shown = isNarrow ? [time, main] : inReadingOrder(columns);
    const heads = isSmall ? shortHeads(shown) : shown.map(({ name }) => name);
    return {
      columns: shown,
      heads,
      hasLevel,
      isNarrow,
      tracks: tracksOf(shown, sample, hasLevel),
      rowHeight: isNarrow ? rowHeight.narrow : rowHeight.wide,
    };
    // Live rows leave the widths as they are.
  }, [columns, isSmall, rows.length === 0]);
}

/** On a small screen measurements are named as in the legend of their chart. */
function shortHeads(columns: readonly Column[]): string[] {
  const short = new Map<string, string>();
  const measured = columns.filter(isNumeric).map(({ name }) => name);
  shortNames(measured).names.forEach((name, at) => {
    short.set(measured[at]!, name);
  });
  return columns.map(({ name }) => short.get(name) ?? name);
}

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const follow = () => setMatches(media.matches);
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, []);
  return matches;
}

/** Time first, then what a person reads; identifiers and records last. */
function inReadingOrder(columns: readonly Column[]): Column[] {
  const rank = (column: Column) => {
    if (isTemporal(column)) return 0;
    if (column.name === 'id') return 3;
    return column.type === 'STRUCT' || isRepeated(column) ? 2 : 1;
  };
  return [...columns].sort((one, other) => rank(one) - rank(other));
}
