import { jsonText, type WireColumn, type WireValue } from '../oracle/wire-values.ts';

/** Whether a cell of a drawn table can stand for a value. The drawing is for readers: quotes, digits and signs vary. */
export function drawnAs(column: WireColumn, value: WireValue, cell: string): boolean {
  if (value === null) return /^(null|)$/i.test(cell);
  if (Array.isArray(value)) {
    if (value.length === 0 && /^(null|\[\s*\]|)$/i.test(cell)) return true;
    return [false, true].some(named => plain(drawing(column, value, named)) === plain(cell));
  }
  const text = String(value);
  switch (column.type) {
    case 'FLOAT64':
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return isNear(Number(text), cell);
    case 'TIMESTAMP':
      return microseconds(cell) === BigInt(text);
    case 'BYTES':
      return bytesDrawn(text).some(drawn => drawn === plain(cell.replace(/^b(?=["'])/, '')));
    case 'JSON':
      return plain(sortedJson(cell)) === plain(sortedJson(text));
    case 'DATETIME':
    case 'TIME':
      return clock(text) === clock(cell);
    case 'BOOL':
    case 'INT64':
      return text === cell.toLowerCase();
    default:
      return text.trim() === cell || plain(text) === plain(cell) || rangeDrawn(text) === rangeDrawn(cell);
  }
}

/** A RANGE with its bounds in one spelling; an empty text is none. */
function rangeDrawn(text: string): string {
  const bounds = /^\[(.+), (.+)\)$/.exec(text)?.slice(1);
  if (!bounds) return `no range: ${text}`;
  return bounds
    .map(bound => bound.replace(/^(DATE|DATETIME|TIMESTAMP) |'/g, '').replace(/(\d\.\d*?)0+(?=\+|$)/, '$1'))
    .map(bound => bound.replace('T', ' ').replace(/\.(?=\+|$)/, ''))
    .map(bound => (/\+\d\d$/.test(bound) ? String(microseconds(bound)) : bound))
    .join(', ');
}

function isNear(value: number, cell: string): boolean {
  const text = cell.toLowerCase().replace(/^\+/, '');
  if (/^-?inf/.test(text)) return value === (text.startsWith('-') ? -Infinity : Infinity);
  if (text === 'nan') return Number.isNaN(value);
  const drawn = Number(text);
  if (text === '' || Number.isNaN(drawn)) return false;
  const digits = /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
  const exponent = Number(/e([+-]?\d+)/.exec(text)?.[1] ?? 0);
  const step = digits === 0 ? 0 : 10 ** (exponent - digits);
  return Math.abs(value - drawn) <= Math.max(step, Math.abs(drawn) * 1e-9);
}

/** A time without the zeros at the end of its fraction. */
const clock = (text: string): string =>
  text
    .replace('T', ' ')
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '');

function sortedJson(text: string): string {
  try {
    return jsonText(text);
  } catch {
    return text;
  }
}

function bytesDrawn(base64: string): string[] {
  const bytes = Buffer.from(base64, 'base64');
  const escaped = [...bytes]
    .map(byte =>
      byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
    )
    .join('');
  return [base64, bytes.toString('utf8'), escaped, bytes.toString('hex')].map(plain);
}

/** What is left of a text without quotes, spaces and differences of brackets; numbers in one spelling. */
function plain(text: string): string {
  return text
    .replace(/["'\s]/g, '')
    .replace(/\(/g, '{')
    .replace(/\)/g, '}')
    .replace(/-?\d+\.\d+(?:e[+-]?\d+)?/gi, number => String(Number(number)))
    .toLowerCase();
}

function drawing(column: WireColumn, value: WireValue, isNamed: boolean): string {
  if (column.mode === 'REPEATED') {
    const element = { ...column, mode: 'NULLABLE' } as const;
    const list = Array.isArray(value) ? value : [];
    return `[${list.map(item => drawing(element, item, isNamed)).join(',')}]`;
  }
  if (value === null) return 'NULL';
  const fields = column.fields;
  if (fields && Array.isArray(value)) {
    const parts = value.map((item, i) => {
      const field = fields[i]!;
      const text = drawing(field, item, isNamed);
      return isNamed ? `${field.name}:${text}` : text;
    });
    return `{${parts.join(',')}}`;
  }
  if (column.type === 'TIMESTAMP')
    return `${new Date(Number(BigInt(String(value)) / 1000n)).toISOString().replace('T', ' ').replace('.000Z', '')}+00`;
  if (column.type === 'DATETIME') return String(value).replace('T', ' ');
  return String(value);
}

/** Microseconds since 1970 of an instant as pages draw it; a zone that is not named is UTC. */
function microseconds(cell: string): bigint | undefined {
  const parts =
    /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?)?\s*(UTC|Z|[+-]\d\d(?::?\d\d)?|America\/Los_Angeles)?$/.exec(
      cell,
    );
  if (!parts) return undefined;
  const [, day, clockPart = '00:00:00', fraction = '', zone = 'UTC'] = parts;
  const local = Date.parse(`${day}T${clockPart}Z`);
  const offset = /^[+-]/.test(zone) ? offsetOf(zone) : zone.startsWith('America') ? losAngeles(local) : 0;
  return BigInt(local - offset) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

function offsetOf(zone: string): number {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)!;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** The offset of Los Angeles at a local time. */
function losAngeles(local: number): number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: 'America/Los_Angeles',
    timeZoneName: 'longOffset',
  });
  const name = format.formatToParts(local + 8 * 3_600_000).find(part => part.type === 'timeZoneName')!.value;
  return offsetOf(name.replace('GMT', '') || '+00');
}
