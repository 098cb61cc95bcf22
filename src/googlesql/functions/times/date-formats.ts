import { concatOperands, inTemplate, quoteText } from '../../tree/quote-text.ts';

/** Elements that DuckDB's format strings have, too. */
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
  ...Object.fromEntries([...'mdHIMSyj'].map(letter => [`-${letter}`, `%-${letter}`])),
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

const [twoDigits, fourDigits] = ['[0-9]{2}', '[0-9]{4}'];

const element = /%(E[*\d]S|E4Y|Ez|-[mdHIMSyj]|[\s\S])?/g;

/** DuckDB text that formats `$1`, a DATETIME, as BigQuery's FORMAT_… would; undefined if it lacks an element. */
export function formatTemplate(
  format: string,
  { kind, isUtc }: { kind: string; isUtc: boolean },
): string | undefined {
  const pieces: string[] = [];
  let pending = '';
  const flush = () => {
    if (pending) pieces.push(`strftime($1, ${inTemplate(quoteText(pending))})`);
    pending = '';
  };
  let last = 0;
  for (const match of format.matchAll(element)) {
    pending += format.slice(last, match.index);
    last = match.index + match[0].length;
    const name = match[1] ?? '';
    if (isForeign(name, kind)) return undefined;
    const expression = expressions[name] ?? (isUtc ? zones[name] : undefined);
    if (expression && (name !== 's' || isUtc)) {
      flush();
      pieces.push(expression);
    } else if (Object.hasOwn(formats, name)) pending += formats[name];
    else return undefined;
  }
  pending += format.slice(last);
  flush();
  // A format without an element of the time still answers NULL for NULL.
  if (!pieces.some(piece => piece.includes('$1'))) pieces.push("left(strftime($1, '%Y'), 0)");
  return `(${concatOperands(pieces)})`;
}

/**
 * Elements that strptime reads as BigQuery does if the text has the form of the pattern. In any other form it accepts too much: `epoch`,
 * spaces, signs, fewer digits.
 */
const parsed: Readonly<Record<string, readonly [element: string, pattern: string]>> = {
  ...Object.fromEntries([...'mdHIMSy'].map(letter => [letter, [`%${letter}`, twoDigits]])),
  ...Object.fromEntries([...'aAbB'].map(letter => [letter, [`%${letter}`, '[A-Za-z]+']])),
  h: ['%b', '[A-Za-z]+'],
  e: ['%d', twoDigits],
  p: ['%p', '[AaPp][Mm]'],
  Y: ['%Y', fourDigits],
  F: ['%Y-%m-%d', `${fourDigits}-${twoDigits}-${twoDigits}`],
  D: ['%m/%d/%y', `${twoDigits}/${twoDigits}/${twoDigits}`],
  x: ['%m/%d/%y', `${twoDigits}/${twoDigits}/${twoDigits}`],
  R: ['%H:%M', `${twoDigits}:${twoDigits}`],
  T: ['%H:%M:%S', `${twoDigits}:${twoDigits}:${twoDigits}`],
  X: ['%H:%M:%S', `${twoDigits}:${twoDigits}:${twoDigits}`],
  '%': ['%%', '%'],
  // The fraction is optional, and the offset may be `Z`.
  'E*S': ['', `${twoDigits}(?:[.][0-9]{1,6})?`],
  Ez: ['', '(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9])'],
};

/** Maximum length of a pattern; texts of a longer format are read without DuckDB. */
const maxPatternLength = 500;

/**
 * Formats for DuckDB's strptime, to be tried in turn, and the pattern of the texts that it reads by them as BigQuery does; undefined for a
 * format that strptime can't express.
 */
export function parseFormats(
  format: string,
  kind: string,
): { readonly formats: readonly string[]; readonly pattern: string } | undefined {
  const names = [...format.matchAll(element)].map(match => match[1]);
  const has = (...searched: readonly string[]) => searched.some(name => names.includes(name));
  const isReadable = names.every(name => name && Object.hasOwn(parsed, name) && !isForeign(name, kind));
  if (!isReadable || !has('Y', 'y', 'F', 'D', 'x')) return undefined;
  // DuckDB also accepts PM with a 24-hour clock, and reads 12 without AM or PM as noon.
  if (has('I') !== has('p') || (has('I') && has('H', 'R', 'T', 'X'))) return undefined;
  let last = 0;
  let pattern = '';
  for (const { 0: whole, 1: name, index } of format.matchAll(element)) {
    pattern += escaped(format.slice(last, index)) + parsed[name!]![1];
    last = index + whole.length;
  }
  pattern += escaped(format.slice(last));
  if (pattern.length > maxPatternLength) return undefined;
  const fractions = has('E*S') ? ['%S.%f', '%S'] : [''];
  const offsets = has('Ez') ? ['%z', 'Z'] : [''];
  const formats = fractions.flatMap(fraction =>
    offsets.map(offset =>
      format.replace(element, (_, name: string) =>
        name === 'E*S' ? fraction : name === 'Ez' ? offset : parsed[name]![0],
      ),
    ),
  );
  return { formats, pattern };
}

/** Text as part of a pattern of RE2. */
const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

const clockElements = ['H', 'I', 'M', 'S', 'p', 'P', 'R', 'T', 'X', 'k', 'l', 'E*S', 'E3S', 'E6S', 'E0S'];
const zoneElements = ['Z', 'z', 'Ez', 's'];

/** A DATE has no hours and a DATETIME no zone. */
function isForeign(name: string, kind: string): boolean {
  if (clockElements.includes(name)) return kind === 'DATE';
  return zoneElements.includes(name) && kind !== 'TIMESTAMP';
}
