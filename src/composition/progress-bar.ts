import type { WriteStream } from 'node:tty';

/** Parts done, and their total. */
export type Progress = { readonly done: number; readonly total: number };

const width = 30;

/**
 * Makes a progress callback that draws one line on a terminal, or else prints a line for each tenth.
 * @param label what is being done
 */
export function createProgressBar(stream: WriteStream, label: string): (progress: Progress) => void {
  let shownPercent = -1;
  return ({ done, total }) => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const step = stream.isTTY ? 1 : 10;
    if (percent < shownPercent + step && percent !== 100) return;
    if (percent === shownPercent) return;
    shownPercent = percent;
    const bar = '█'.repeat(Math.round((width * percent) / 100)).padEnd(width, '░');
    const line = `${label} ${bar} ${percent} % of ${total.toLocaleString('en')} rows`;
    stream.write(stream.isTTY ? `\r${line}${percent === 100 ? '\n' : ''}` : `${line}\n`);
  };
}
