import { maxFormatLength } from '../engine-function.ts';

/** Elements of CAST's formats by category. The categories have the names that BigQuery's messages have. */
const categories: Readonly<Record<string, string>> = {
  YEAR: 'YYYY YYY YY Y RRRR RR Y,YYY IYYY IYY IY I SYYYY YEAR SYEAR',
  MONTH: 'MM MON MONTH RM',
  DAY: 'DDD DD D DAY DY J',
  HOUR: 'HH HH12 HH24',
  MINUTE: 'MI',
  SECOND: 'SS SSSSS FF1 FF2 FF3 FF4 FF5 FF6 FF7 FF8 FF9',
  MERIDIAN_INDICATOR: 'AM PM A.M. P.M.',
  TIME_ZONE: 'TZH TZM',
  CENTURY: 'CC SCC',
  QUARTER: 'Q',
  WEEK: 'IW WW W',
  ERA_INDICATOR: 'AD BC A.D. B.C.',
  MISC: 'SP TH SPTH THSP FM',
};

const categoryOf: ReadonlyMap<string, string> = new Map(
  Object.entries(categories).flatMap(([category, names]) =>
    names.split(' ').map(name => [name, category] as const),
  ),
);

const longestFirst = [...categoryOf.keys()].sort((a, b) => b.length - a.length);
const element = new RegExp(`${longestFirst.map(name => name.replaceAll('.', '\\.')).join('|')}`, 'iy');
const quoted = /"((?:[^"\\]|\\["\\])*)"/y;
const plain = /[-./,';:]/y;
const spaces = / +/y;

/** Elements that can be parsed. */
const readable: ReadonlySet<string> = new Set([
  ...['YYYY', 'YYY', 'YY', 'Y', 'RRRR', 'RR', 'Y,YYY', 'MM', 'MON', 'MONTH', 'DD', 'HH', 'HH12', 'HH24'],
  ...['MI', 'SS', 'SSSSS', 'A.M.', 'P.M.', 'TZH', 'TZM'],
  ...Array.from({ length: 9 }, (_, i) => `FF${i + 1}`),
]);

/** Categories that a type has. */
const dateParts = ['YEAR', 'MONTH', 'DAY'];
const clockParts = ['HOUR', 'MINUTE', 'SECOND', 'MERIDIAN_INDICATOR'];
const partsOf: Readonly<Record<string, readonly string[]>> = {
  DATE: dateParts,
  TIME: clockParts,
  DATETIME: [...dateParts, ...clockParts],
  TIMESTAMP: Object.keys(categories),
};

export type Piece = {
  /** The element in upper case; for literal text `QUOTED`, `PLAIN` or `SPACE`. */
  readonly name: string;
  /** As it stands in the format. */
  readonly written: string;
  /** `LITERAL` for text between elements. */
  readonly category: string;
};

/**
 * Checks a format before the query runs.
 * @throws Error with BigQuery's message
 */
export function checkTimeFormat(format: string, kind: string, isReading: boolean): void {
  const pieces = piecesOf(format);
  if (isReading) checkForReading(pieces, kind);
  else checkForWriting(pieces, kind);
}

/** Whether texts in a format have an offset from UTC; false for an invalid format. */
export function isZonedFormat(format: string): boolean {
  return categoriesOf(format).includes('TIME_ZONE');
}

/** Whether a format has year and month: then the current ones do not matter. */
export function isDatedFormat(format: string): boolean {
  const found = categoriesOf(format);
  return found.includes('MONTH') && /(?:YYYY|RRRR|Y,YYY)/i.test(format);
}

function categoriesOf(format: string): readonly string[] {
  try {
    return piecesOf(format).map(({ category }) => category);
  } catch {
    return [];
  }
}

let [lastFormat, lastPieces]: [string, readonly Piece[]] = ['', []];

/** The last format is remembered: it is usually constant. */
export function piecesOf(format: string): readonly Piece[] {
  if (format !== lastFormat) [lastPieces, lastFormat] = [split(format), format];
  return lastPieces;
}

function split(format: string): readonly Piece[] {
  if (format.length > maxFormatLength) throw new Error(`Format string too long; limit ${maxFormatLength}`);
  const pieces: Piece[] = [];
  for (let at = 0; at < format.length; ) {
    const take = (pattern: RegExp) => {
      pattern.lastIndex = at;
      return pattern.exec(format);
    };
    const named = take(element);
    const literal = take(quoted) ?? take(plain) ?? take(spaces);
    // Elements win over literal text, which may begin with the same characters.
    const found = named ?? literal;
    if (!found && format[at] === '"') throw new Error(`Cannot find matching " for quoted literal at ${at}`);
    if (!found) throw new Error(`Cannot find matched format element at ${at}`);
    const [whole, inside] = found;
    if (named) {
      const name = whole.toUpperCase();
      pieces.push({ name, written: whole, category: categoryOf.get(name)! });
    } else {
      const text = inside === undefined ? whole : inside.replace(/\\(.)/g, '$1');
      pieces.push({
        name: inside === undefined ? (whole.startsWith(' ') ? 'SPACE' : 'PLAIN') : 'QUOTED',
        written: text,
        category: 'LITERAL',
      });
    }
    at += whole.length;
  }
  return pieces;
}

export function checkForWriting(pieces: readonly Piece[], kind: string): void {
  if (kind === 'TIMESTAMP') return;
  const known = partsOf[kind]!;
  const foreign = pieces.find(({ category }) => category !== 'LITERAL' && !known.includes(category));
  if (foreign) throw new Error(`${kind} does not support '${foreign.name}'`);
}

/** Categories of which a format may have one element only, in the order in which BigQuery looks. */
const single = ['MERIDIAN_INDICATOR', 'YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE'];

export function checkForReading(pieces: readonly Piece[], kind: string): void {
  const named = pieces.filter(({ category }) => category !== 'LITERAL');
  const names = new Set<string>();
  for (const { name } of named) {
    if (!readable.has(name)) throw new Error(`Format element '${name}' is not supported for parsing`);
    // Fractions are one element, whatever their length.
    const key = name.replace(/^FF\d$/, 'FF');
    if (names.has(key))
      throw new Error(`Format element '${name}' appears more than once in the format string`);
    names.add(key);
  }
  const byCategory = Map.groupBy(named, ({ category }) => category);
  const known = partsOf[kind]!;
  for (const [category, [first]] of byCategory)
    if (!known.includes(category))
      throw new Error(
        `Format element in category ${category} ('${first!.name}') is not allowed for output type ${kind}`,
      );
  for (const category of single) {
    const [first, another] = byCategory.get(category) ?? [];
    if (first && another)
      throw new Error(
        `More than one format element in category ${category} exist: '${first.name}' and '${another.name}'`,
      );
  }
  checkClock(names, byCategory);
}

function checkClock(names: ReadonlySet<string>, byCategory: ReadonlyMap<string, readonly Piece[]>): void {
  const [meridian] = byCategory.get('MERIDIAN_INDICATOR') ?? [];
  const [hour] = byCategory.get('HOUR') ?? [];
  const exclude = (first: string, other: string) => {
    throw new Error(`Format elements '${first}' and '${other}' cannot exist simultaneously`);
  };
  if (meridian && hour?.name === 'HH24') exclude(meridian.name, hour.name);
  if (hour && hour.name !== 'HH24' && !meridian)
    throw new Error(
      `Format element in category MERIDIAN_INDICATOR is required when format element '${hour.name}' exists`,
    );
  if (meridian && !hour)
    throw new Error(
      `Format element of type HH/HH12 is required when format element in category MERIDIAN_INDICATOR ('${meridian.name}') exists`,
    );
  if (!names.has('SSSSS')) return;
  if (hour) exclude(hour.name, 'SSSSS');
  for (const name of ['MI', 'SS']) if (names.has(name)) exclude(name, 'SSSSS');
}
