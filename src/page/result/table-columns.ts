import { type Column, isNumeric, isRepeated, isTemporal } from '../api/catalogue.ts';
import type { Row } from '../api/client.ts';
import { formatCell } from './format.ts';

/** Minimum and maximum characters of a column; its content decides in between. */
const least = 6;
const most = 90;

/** Characters of an identifier, whose beginning distinguishes it. */
const ofIdentifier = 12;

/** Maximum characters of the text of a row's level. */
const ofLevel = 14;

/** The column with the text of a log row; undefined if there is none. */
export function mainColumn(columns: readonly Column[]): Column | undefined {
  const texts = columns.filter(
    column => column.type === 'STRING' && !isRepeated(column) && column.name !== 'id',
  );
  return texts.find(({ name }) => /message/i.test(name)) ?? texts[0];
}

/**
 * The widths of columns as grid tracks, by their content: times and numbers in full, texts and
 * names in proportion to their length.
 * @param hasLevel whether the second column is the level of a row
 */
export function tracksOf(columns: readonly Column[], rows: readonly Row[], hasLevel: boolean): string {
  const main = mainColumn(columns);
  const tracks = columns.map(column => trackOf(column, rows, column === main));
  if (hasLevel) tracks.splice(1, 0, `${ofLevel}ch`);
  return tracks.join(' ');
}

function trackOf(column: Column, rows: readonly Row[], isMain: boolean): string {
  const lengths = rows.map(row => formatCell(column, row[column.name]).length).sort((a, b) => a - b);
  // One long value among short ones is cut.
  const usual = lengths[Math.floor(lengths.length * 0.9)] ?? 0;
  const wanted = Math.min(Math.max(usual, column.name.length + 2, least), most) + 3;
  if (isTemporal(column)) return `${wanted}ch`;
  if (column.name === 'id') return `${Math.min(wanted, ofIdentifier)}ch`;
  // A long name is cut before a number is, or before the last column leaves the screen.
  if (isNumeric(column) || column.type === 'BOOL')
    return `minmax(${Math.max(usual, least) + 3}ch, ${wanted}fr)`;
  // A record's text is only a summary.
  const share = column.type === 'STRUCT' || isRepeated(column) ? Math.min(wanted, 30) : wanted;
  return `minmax(${Math.min(wanted, isMain ? 36 : 20)}ch, ${share}fr)`;
}
