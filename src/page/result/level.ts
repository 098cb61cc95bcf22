/** How bad a log row is. */
export type Level = 'error' | 'warning' | 'info' | 'debug';

/** The levels, the worst last: stacked bars are drawn in this order. */
export const levels: readonly Level[] = ['debug', 'info', 'warning', 'error'];

/** A level, and the text in the row that says so, such as `503` or `LOG`. */
export type SaidLevel = { readonly level: Level; readonly text: string };

const words: readonly (readonly [RegExp, Level])[] = [
  [/^(err|error|fatal|panic|crit|critical|alert|emerg)/i, 'error'],
  [/^warn/i, 'warning'],
  [/^(debug|trace)/i, 'debug'],
  [/^(info|log|notice)/i, 'info'],
];

const keys = new Set(['level', 'severity', 'error_severity', 'log_level', 'status_code', 'status']);

/** Characters of the text of a level; a column of this name may hold a whole message. */
const maxText = 40;

/** Records within records that are searched. */
const maxDepth = 5;

/** The level that a row says anywhere in its records; undefined if it says none. */
export function levelOf(row: Readonly<Record<string, unknown>>): SaidLevel | undefined {
  return find(row, 0);
}

/** What stands in the column of the level: `error 503`, and the text alone where it is a word itself. */
export const wordsOf = ({ level, text }: SaidLevel): string => (/^\d/.test(text) ? `${level} ${text}` : text);

/** Whether a column by itself says how bad a row is. */
export const isLevel = ({ name }: { readonly name: string }) => keys.has(name);

function find(value: unknown, depth: number): SaidLevel | undefined {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return undefined;
  const entries = Object.entries(value);
  for (const [key, inner] of entries) {
    const level = keys.has(key) ? toLevel(inner) : undefined;
    if (level) return { level, text: String(inner).slice(0, maxText) };
  }
  // The first elements say it; a long array is no record.
  for (const [, inner] of entries.slice(0, 20)) {
    const level = find(inner, depth + 1);
    if (level) return level;
  }
  return undefined;
}

function toLevel(value: unknown): Level | undefined {
  const status = Number(value);
  if (status >= 100 && status < 600) {
    if (status >= 500) return 'error';
    return status >= 400 ? 'warning' : 'info';
  }
  return typeof value === 'string' ? words.find(([pattern]) => pattern.test(value))?.[1] : undefined;
}
