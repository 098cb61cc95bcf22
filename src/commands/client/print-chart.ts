import { printable } from '../printable.ts';
import type { Screen } from './print-table.ts';
import type { ShownColumn } from './read-table.ts';

/** Blocks of the series, used in turn; so are the colours. */
const blocks = ['█', '▓', '▒', '░'];
const colours = [34, 32, 33, 35, 36, 31];

/**
 * Draws a bar for each row: its numbers side by side, labelled by its first time or else its first text. After it are the numbers
 * themselves, not their sum, which may be meaningless. A negative number has no bar.
 * @returns undefined if there is no number to draw
 */
export function chartText(columns: readonly ShownColumn[], { width, hasColour }: Screen): string | undefined {
  const series = columns.filter(({ kind }) => kind === 'number');
  const [first] = series;
  if (!first) return undefined;
  const labels = columns.find(({ kind }) => kind === 'time') ?? columns.find(({ kind }) => kind === 'other');
  const values = series.map(({ cells }) => cells.map(cell => Math.max(0, Number(cell ?? 0)) || 0));
  const sums = first.cells.map((_, row) => values.reduce((sum, own) => sum + own[row]!, 0));
  const most = maxOf(sums.filter(Number.isFinite));
  const labelWidth = Math.min(30, maxOf((labels?.cells ?? []).map(cell => [...(cell ?? 'NULL')].length)));
  const numbers = first.cells.map((_, row) => series.map(({ cells }) => cells[row] ?? 'NULL').join(', '));
  const room = Math.max(10, width - labelWidth - 2 - maxOf(numbers.map(text => text.length)));
  const paint = (text: string, at: number) =>
    hasColour && text !== '' ? `\u001b[${colours[at % colours.length]}m${text}\u001b[0m` : text;
  const block = (at: number) => (hasColour ? '█' : blocks[at % blocks.length]!);
  const lines = first.cells.map((_, row) => {
    const label = [...printable(labels?.cells[row] ?? 'NULL')]
      .slice(0, labelWidth)
      .join('')
      .padEnd(labelWidth);
    let drawn = 0;
    let sum = 0;
    const bars = values.map((own, at) => {
      sum += own[row]!;
      // The ends are rounded, not the lengths, so that the length of a bar matches its sum.
      const end = most === 0 ? 0 : Math.round((Math.min(sum, most) / most) * room);
      const bar = block(at).repeat(end - drawn);
      drawn = end;
      return paint(bar, at);
    });
    return `${labels ? `${label} ` : ''}${bars.join('')} ${numbers[row]}`;
  });
  const legend = series.map(({ name }, at) => `${paint(block(at), at)} ${printable(name)}`).join('  ');
  return [legend, ...lines, ''].join('\n');
}

/** The largest number, or 0. Not `Math.max`: a hundred thousand rows are too many arguments. */
const maxOf = (numbers: readonly number[]) => numbers.reduce((most, each) => Math.max(most, each), 0);
