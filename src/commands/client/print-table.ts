import type { ShownColumn } from './read-table.ts';

/** What the terminal can show. */
export type Screen = {
  /** Characters of a line. */
  readonly width: number;
  readonly hasColour: boolean;
};

/** Characters of a cell that are always shown, if there are as many. */
const minCell = 8;

/** Writes rows as a table of lines that fit the screen: long cells end with `…`, what does not fit at all is counted. */
export function tableText(columns: readonly ShownColumn[], { width, hasColour }: Screen): string {
  const shown: string[][] = [];
  let left = width;
  for (const [at, column] of columns.entries()) {
    const isLast = at === columns.length - 1;
    const cells = [column.name, ...column.cells.map(cell => printable(cell ?? 'NULL'))];
    const widest = Math.max(...cells.map(lengthOf));
    const own = Math.min(widest, isLast ? left : Math.max(minCell, Math.floor(width / 3)));
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
  const hidden = columns.slice(shown.length).map(({ name }) => name);
  const count = `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}`;
  const note = hidden.length > 0 ? `${count}; no room for ${hidden.join(', ')}` : count;
  return [hasColour ? `\u001b[1m${header}\u001b[0m` : header, ...rows, `(${note})`, ''].join('\n');
}

/** Rows are what strangers sent: no character of theirs may steer the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, ' ');
}

const plain = /^[ -~]*$/;
const graphemes = new Intl.Segmenter();
/** Characters that take two places of a terminal. Source: Unicode, UAX 11, those of East Asia, and emoji. */
const wide =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;

/** What a person takes for one character, and the places that it takes. */
function cellsOf(text: string): { readonly text: string; readonly width: number }[] {
  return Array.from(graphemes.segment(text), ({ segment }) => ({
    text: segment,
    width: wide.test(segment) ? 2 : 1,
  }));
}

/** The places of a terminal that a text takes. */
function lengthOf(text: string): number {
  return plain.test(text) ? text.length : cellsOf(text).reduce((sum, { width }) => sum + width, 0);
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
