/** The severity of a log row. */
export type Level = 'error' | 'warning' | 'info' | 'debug';

/** The levels, the worst last: stacked bars are drawn in this order. */
export const levels: readonly Level[] = ['debug', 'info', 'warning', 'error'];

/** A level, and the text in the row from which it comes, such as `503` or `LOG`. */
export type SaidLevel = { readonly level: Level; readonly text: string };

const words: readonly (readonly [RegExp, Level])[] = [
  [/^(err|error|fatal|panic|crit|critical|alert|emerg)/i, 'error'],
  [/^warn/i, 'warning'],
  [/^(debug|trace)/i, 'debug'],
  [/^(info|log|notice)/i, 'info'],
];

const keys = new Set(['level', 'severity', 'error_severity', 'log_level', 'status_code', 'status']);

/** Maximum characters of a level's text; a column of such a name may hold a whole message. */
const maxText = 40;

/** Maximum depth of nested records that are searched. */
const maxDepth = 5;

/** The level of a row, from anywhere in its records; undefined if it has none. */
export function levelOf(row: Readonly<Record<string, unknown>>): SaidLevel | undefined {
  return find(row, 0);
}

/** The text in the level's column: `error 503`, or the text alone if it is a word itself. */
export const wordsOf = ({ level, text }: SaidLevel): string => (/^\d/.test(text) ? `${level} ${text}` : text);

/** Whether a column is itself the level of a row. */
export const isLevel = ({ name }: { readonly name: string }) => keys.has(name);

function find(value: unknown, depth: number): SaidLevel | undefined {
  if (typeof value !== 'object' || value === null || depth > maxDepth) return undefined;
  const entries = Object.entries(value);
  for (const [key, inner] of entries) {
    const level = keys.has(key) ? toLevel(inner) : undefined;
    if (level) return { level, text: String(inner).slice(0, maxText) };
  }
  // The first elements suffice; a long array is not a record.
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
