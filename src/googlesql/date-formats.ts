import type { SqlPosition } from '../errors.ts';
import { quoteText } from './quote-text.ts';
import { invalidQuery } from './sql-error.ts';

/** Elements that DuckDB spells in one format string too. */
const formats: Readonly<Record<string, string>> = {
  F: '%Y-%m-%d',
  T: '%H:%M:%S',
  R: '%H:%M',
  D: '%m/%d/%y',
  h: '%b',
  n: '\n',
  t: '\t',
  '%': '%%',
  X: '%H:%M:%S',
  x: '%m/%d/%y',
  E4Y: '%Y',
  E3S: '%S.%g',
  E6S: '%S.%f',
  E0S: '%S',
  ...Object.fromEntries([...'YmdHIMSpyjaAbBUWuwVG'].map(letter => [letter, `%${letter}`])),
};

/** Elements that are an expression of their own over `$1`. */
const expressions: Readonly<Record<string, string>> = {
  e: "lpad(strftime($1, '%-d'), 2, ' ')",
  k: "lpad(strftime($1, '%-H'), 2, ' ')",
  l: "lpad(strftime($1, '%-I'), 2, ' ')",
  Q: 'cast(quarter($1) as varchar)',
  P: "lower(strftime($1, '%p'))",
  s: 'cast(epoch_us($1) // 1000000 as varchar)',
  'E*S': "(strftime($1, '%S') || regexp_replace(strftime($1, '.%f'), '\\.?0+$', ''))",
};

/** Elements of the zone; only UTC's are known before the query runs. */
const zones: Readonly<Record<string, string>> = { Z: "'UTC'", z: "'+0000'", Ez: "'+00:00'" };

const element = /%(E[*\d]S|E4Y|Ez|[\s\S])?/g;

/** DuckDB text that formats `$1`, a DATETIME, as BigQuery's FORMAT_… would. */
export function formatTemplate(format: string, isUtc: boolean, at: SqlPosition): string {
  const pieces: string[] = [];
  let pending = '';
  const flush = () => {
    if (pending) pieces.push(`strftime($1, ${quoteText(pending).replaceAll('$', '$$$$')})`);
    pending = '';
  };
  let last = 0;
  for (const match of format.matchAll(element)) {
    pending += format.slice(last, match.index);
    last = match.index + match[0].length;
    const name = match[1] ?? '';
    const expression = expressions[name] ?? (isUtc ? zones[name] : undefined);
    if (expression && (name !== 's' || isUtc)) {
      flush();
      pieces.push(expression);
    } else if (Object.hasOwn(formats, name)) pending += formats[name];
    else throw invalidQuery(`Format element ${match[0]} is not supported`, at);
  }
  pending += format.slice(last);
  flush();
  // An empty format still answers NULL for NULL.
  return pieces.length > 0 ? `(${pieces.join(' || ')})` : "left(strftime($1, '%Y'), 0)";
}

/** A format for DuckDB's strptime; what it cannot say the same way is refused. */
export function parseFormat(format: string, at: SqlPosition): string {
  return format.replace(element, (written, name: string | undefined) => {
    if (name === undefined || 'uwVGUW'.includes(name))
      throw invalidQuery(`Format element ${written} is not supported`, at);
    if (/^E[*\d]S$/.test(name)) return '%S.%f';
    if (name === 'Ez' || name === 'z') return '%z';
    if (name === 'e') return '%-d';
    if (Object.hasOwn(formats, name)) return formats[name]!;
    throw invalidQuery(`Format element ${written} is not supported`, at);
  });
}
