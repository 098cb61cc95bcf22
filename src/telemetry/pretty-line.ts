import { stripVTControlCharacters, styleText } from 'node:util';

type Line = {
  readonly level: number;
  readonly time: string;
  readonly event: string;
  readonly msg?: string;
  readonly err?: { readonly stack?: string; readonly message?: string };
};

const style = (format: 'bold' | 'dim' | 'red', text: string) =>
  styleText(format, text, { stream: process.stderr });

/** pino's levels. */
const levels: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info ', 40: 'WARN ', 50: 'ERROR' };

/** Rewrites a log line for people at a terminal: time, level, event, facts; the stack of an error below it. */
export function prettyLine(line: string): string {
  // `msg` repeats the error's message.
  const { level, time, event, err, msg: _, ...facts }: Line = JSON.parse(line);
  const shown = Object.entries(facts).map(([name, value]) => `${style('dim', `${name}=`)}${textOf(value)}`);
  const word = levels[level] ?? String(level);
  const head = [time.slice(11, 23), level >= 40 ? style('red', word) : word, style('bold', event)];
  const stack = err ? `\n${plain(err.stack ?? err.message ?? JSON.stringify(err))}` : '';
  return `${[...head, ...shown].join(' ')}${stack}\n`;
}

function textOf(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 100) / 100);
  if (typeof value !== 'string') return plain(JSON.stringify(value));
  return /^[\w.:/,-]+$/.test(value) ? value : plain(JSON.stringify(stripVTControlCharacters(value)));
}

/** Escapes control characters, so that text from callers can't control the terminal; those of C1 (U+009B is `ESC [`) included. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all but tab and line end
  return stripVTControlCharacters(text).replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, character => {
    const code = character.charCodeAt(0).toString(16);
    return `\\u${code.padStart(4, '0')}`;
  });
}
