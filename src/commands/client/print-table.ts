import { printable } from '../printable.ts';
import type { ShownColumn } from './read-table.ts';

/** The terminal's abilities. */
export type Screen = {
  /** Characters of a line. */
  readonly width: number;
  readonly hasColour: boolean;
};

/** Minimum width of a column, unless all its cells are shorter. */
const minCell = 8;

/** Writes rows as a table that fits the screen: long cells end with `…`, and columns that do not fit are counted. */
export function tableText(columns: readonly ShownColumn[], { width, hasColour }: Screen): string {
  const shown: string[][] = [];
  let left = width;
  for (const [at, column] of columns.entries()) {
    const isLast = at === columns.length - 1;
    const cells = [column.name, ...column.cells].map(cell => printable(cell ?? 'NULL'));
    const widest = cells.reduce((most, cell) => Math.max(most, lengthOf(cell)), 0);
    const own = Math.min(widest, left, isLast ? left : Math.max(minCell, Math.floor(width / 3)));
    if (own < Math.min(widest, minCell) || left <= 0) break;
    shown.push(cells.map(cell => fitted(cell, own, column.kind === 'number')));
    left -= own + 2;
  }
  const lines = Array.from({ length: (columns[0]?.cells.length ?? 0) + 1 }, (_, row) =>
    shown
      .map(cells => cells[row])
      .join('  ')
      .trimEnd(),
  );
  const [header = '', ...rows] = lines;
  const hidden = columns.slice(shown.length).map(({ name }) => printable(name));
  const count = `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}`;
  const note = hidden.length > 0 ? `${count}; no room for ${hidden.join(', ')}` : count;
  return [hasColour ? `\u001b[1m${header}\u001b[0m` : header, ...rows, `(${note})`, ''].join('\n');
}

const plain = /^[ -~]*$/;
const graphemes = new Intl.Segmenter();
/** Characters that are two cells wide on a terminal. Source: Unicode, UAX 11: those of East Asia, and emoji. */
const wide =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** Wider than any screen: the rest of a longer text is ignored. */
const maxPlaces = 1000;

/** The graphemes of a text, with the cells that each takes on a terminal. */
function* cellsOf(text: string): Generator<{ readonly text: string; readonly width: number }> {
  for (const { segment } of graphemes.segment(text))
    yield { text: segment, width: wide.test(segment) ? 2 : 1 };
}

/** The number of terminal cells that a text takes. */
function lengthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let sum = 0;
  for (const { width } of cellsOf(text)) {
    sum += width;
    if (sum > maxPlaces) break;
  }
  return sum;
}

function fitted(text: string, width: number, isNumber: boolean): string {
  let shown = text;
  let length = lengthOf(text);
  if (length > width) {
    [shown, length] = ['', 1];
    for (const cell of cellsOf(text)) {
      if (length + cell.width > width) break;
      shown += cell.text;
      length += cell.width;
    }
    shown += '…';
  }
  const padding = ' '.repeat(width - length);
  return isNumber ? padding + shown : shown + padding;
}
