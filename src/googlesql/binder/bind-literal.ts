import type { SqlPosition } from '../../base/errors.ts';
import { bindRow } from '../functions/function-row.ts';
import { rangeBounds, rangeRows } from '../functions/times/functions-range.ts';
import { parseJson } from '../json/parse-json.ts';
import { type BoundExpression, unsupportedCall } from '../tree/bound-tree.ts';
import { temporalLiteral } from '../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import { scalar } from '../tree/types.ts';

const rangesOf = rangeRows.filter(({ name }) => name === 'RANGE');

const smallestInt64 = -(2n ** 63n);

/** Gives a literal its value in one spelling: decimal digits, `TRUE`, checked dates and JSON. */
export function bindLiteral({
  type: kind,
  value,
  at,
}: Extract<Expression, { kind: 'literal' }>): BoundExpression {
  const type = scalar(kind);
  switch (kind) {
    case 'NULL':
      return { kind: 'null', type };
    case 'INT64': {
      const number = value.startsWith('-') ? -BigInt(value.slice(1)) : BigInt(value);
      if (number < smallestInt64 || number >= -smallestInt64) {
        throw invalidQuery(`Invalid integer literal: ${value}`, at);
      }
      return { kind: 'literal', type, value: String(number) };
    }
    case 'FLOAT64':
      if (!Number.isFinite(Number(value))) throw invalidQuery(`Invalid floating point literal: ${value}`, at);
      return { kind: 'literal', type, value };
    case 'BIGNUMERIC': {
      if (!/^\s*[+-]?(?:\d{1,39}\.?\d{0,38}|\.\d{1,38})(?:[eE][+-]?\d+)?\s*$/.test(value))
        throw invalidQuery(`Invalid BIGNUMERIC literal: "${value}"`, at);
      // No DuckDB type has 38 digits after the point.
      return unsupportedCall(onlyOnWarehouse('BIGNUMERIC', at).reason, type, []);
    }
    case 'NUMERIC': {
      const digits = numericDigits(value);
      if (digits === undefined) throw invalidQuery(`Invalid NUMERIC literal: "${value}"`, at);
      return { kind: 'literal', type, value: digits };
    }
    case 'RANGE<DATE>':
    case 'RANGE<DATETIME>':
    case 'RANGE<TIMESTAMP>':
      return bindRow(rangesOf, 'function RANGE', rangeBounds(value, kind, at), at);
    case 'JSON':
      return { kind: 'literal', type, value: canonicalJson(value, at) };
    case 'TIMESTAMP':
    case 'DATETIME':
    case 'DATE':
    case 'TIME':
      return temporalLiteral(value, type, at);
    default:
      return { kind: 'literal', type, value };
  }
}

/** A NUMERIC without its exponent; undefined if it has more than 29 digits before the point or 9 after it. */
function numericDigits(text: string): string | undefined {
  const [isNumber, sign, whole = '', fraction = '', exponent = '0'] =
    /^[\t-\r ]*([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:e([+-]?\d+))?[\t-\r ]*$/i.exec(text) ?? [];
  if (isNumber === undefined) return undefined;
  const written = (whole + fraction).replace(/^0+/, '');
  const digits = written.replace(/0+$/, '');
  if (digits === '') return '0';
  const places = fraction.length - Number(exponent) - (written.length - digits.length);
  if (places > 9 || digits.length - places > 29) return undefined;
  const padded = digits.padStart(places + 1, '0') + '0'.repeat(Math.max(0, -places));
  return places > 0 ? `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}` : `${sign}${padded}`;
}

function canonicalJson(text: string, at: SqlPosition): string {
  try {
    return parseJson(text, 'round');
  } catch (error) {
    throw invalidQuery(`Invalid JSON literal: ${(error as Error).message}`, at);
  }
}
