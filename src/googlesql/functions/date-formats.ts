import type { SqlPosition } from '../../base/errors.ts';
import { concatOperands } from '../tree/concat-operands.ts';
import { quoteText } from '../tree/quote-text.ts';
import { invalidQuery } from '../tree/sql-error.ts';

/** Elements that DuckDB spells in one format string too. */
const formats: Readonly<Record<string, string>> = {
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
  ...Object.fromEntries([...'mdHIMSpyjaAbBUWuwV'].map(letter => [letter, `%${letter}`])),
};

/** Elements that are an expression of their own over `$1`. */
const expressions: Readonly<Record<string, string>> = {
  // The year has no zeros before it.
  Y: 'cast(year($1) as varchar)',
  G: 'cast(isoyear($1) as varchar)',
  F: "(year($1) || strftime($1, '-%m-%d'))",
  e: "lpad(strftime($1, '%-d'), 2, ' ')",
  k: "lpad(strftime($1, '%-H'), 2, ' ')",
  l: "lpad(strftime($1, '%-I'), 2, ' ')",
  Q: 'cast(quarter($1) as varchar)',
  P: "lower(strftime($1, '%p'))",
  s: 'cast(bq_whole(epoch_us($1), 1000000) as varchar)',
  'E*S': "(strftime($1, '%S') || regexp_replace(strftime($1, '.%f'), '\\.?0+$', ''))",
};

/** Elements of the zone; only UTC's are known before the query runs. */
const zones: Readonly<Record<string, string>> = { Z: "'UTC'", z: "'+0000'", Ez: "'+00:00'" };

const element = /%(E[*\d]S|E4Y|Ez|[\s\S])?/g;

/** DuckDB text that formats `$1`, a DATETIME, as BigQuery's FORMAT_… would. */
export function formatTemplate(
  format: string,
  { kind, isUtc }: { kind: string; isUtc: boolean },
  at: SqlPosition,
): string {
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
    refuseForeign(name, kind, at);
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
  return pieces.length > 0 ? `(${concatOperands(pieces)})` : "left(strftime($1, '%Y'), 0)";
}

/** Elements that strptime reads as BigQuery does. */
const parsed: Readonly<Record<string, string>> = {
  ...formats,
  ...Object.fromEntries([...'Yj'].map(letter => [letter, `%${letter}`])),
  F: '%Y-%m-%d',
  e: '%-d',
  z: '%z',
  Ez: '%z',
  Q: '',
};
const unreadable = ['u', 'w', 'V', 'U', 'W', 'Q', 'E3S', 'E6S', 'E0S'];

/** Formats for DuckDB's strptime, to be tried in turn; what it cannot say the same way is refused. */
export function parseFormats(format: string, kind: string, at: SqlPosition): readonly string[] {
  const names = [...format.matchAll(element)].map(match => match[1]);
  if (!names.some(name => name && ['Y', 'y', 'F', 'D', 'x', 'E4Y'].includes(name))) {
    throw invalidQuery('A format without a year is not supported', at);
  }
  // A fraction may be there or not, and the offset may be `Z`.
  const fractions = names.includes('E*S') ? ['%S.%f', '%S'] : [''];
  const offsets = names.includes('Ez') ? ['%z', 'Z'] : [''];
  return fractions.flatMap(fraction =>
    offsets.map(offset =>
      format.replace(element, (written, name: string | undefined) => {
        if (name === 'E*S') return fraction;
        if (name === undefined || unreadable.includes(name) || !Object.hasOwn(parsed, name))
          throw invalidQuery(`Format element ${written} is not supported`, at);
        refuseForeign(name, kind, at);
        return name === 'Ez' ? offset : parsed[name]!;
      }),
    ),
  );
}

const clockElements = ['H', 'I', 'M', 'S', 'p', 'P', 'R', 'T', 'X', 'k', 'l', 'E*S', 'E3S', 'E6S', 'E0S'];
const zoneElements = ['Z', 'z', 'Ez', 's'];

/** A DATE has no hours and a DATETIME no zone: BigQuery leaves such elements as they are, or fails. */
function refuseForeign(name: string, kind: string, at: SqlPosition): void {
  const isClock = clockElements.includes(name) && kind === 'DATE';
  if (!isClock && !(zoneElements.includes(name) && kind !== 'TIMESTAMP')) return;
  throw invalidQuery(`Format element %${name} is not supported for type ${kind}`, at);
}
