import type { SqlPosition } from '../../base/errors.ts';
import { type BoundExpression, call } from '../tree/bound-tree.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Expression } from '../tree/syntax-tree.ts';
import type { SqlType } from '../tree/types.ts';

/** Digits before and after the point that a NUMERIC has room for. */
const [mostWhole, mostScale] = [29, 9];

/**
 * Reads the limits of a type: the length of `STRING(10)`, precision and scale of `NUMERIC(10, 2)`.
 * @throws GatewayError `invalid_query` for a type that takes none, or not these
 */
export function readLimits(type: SqlType, limits: readonly Expression[], at: SqlPosition): readonly bigint[] {
  const { kind } = type;
  const numbers = limits.map(limit => {
    if (limit.kind === 'literal' && limit.type === 'INT64') return BigInt(limit.value);
    throw invalidQuery(`Limits of ${kind} must be integer literals`, at);
  });
  const [first, second] = numbers;
  if (first === undefined || kind === 'BIGNUMERIC') return numbers;
  if (kind === 'STRING' || kind === 'BYTES') {
    if (numbers.length > 1)
      throw invalidQuery(`${kind} type can only have one parameter. Found ${numbers.length} parameters`, at);
    if (first < 1n) throw invalidQuery(`${kind} length must be greater than 0`, at);
    return numbers;
  }
  if (kind !== 'NUMERIC') throw invalidQuery(`${kind} does not support type parameters`, at);
  const scale = second ?? 0n;
  const written = second === undefined ? 'NUMERIC(P)' : `NUMERIC(P, ${second})`;
  if (numbers.length > 2)
    throw invalidQuery(
      `NUMERIC type can only have 1 or 2 parameters. Found ${numbers.length} parameters`,
      at,
    );
  if (scale > mostScale) throw invalidQuery(`In NUMERIC(P, S), S must be between 0 and ${mostScale}`, at);
  const least = scale > 1n ? scale : 1n;
  const most = BigInt(mostWhole) + scale;
  if (first < least || first > most)
    throw invalidQuery(`In ${written}, P must be between ${least} and ${most}`, at);
  return numbers;
}

/**
 * A value within the limits of its type: a NUMERIC is rounded to its scale; one that does not fit fails the query, with SAFE_CAST too.
 * Source: GoogleSQL, "Parameterized data types", and its reference implementation.
 */
export function withinLimits(value: BoundExpression, limits: readonly bigint[]): BoundExpression {
  const { kind } = value.type;
  const [first = 0n, scale = 0n] = limits;
  const written = `${kind}(${limits.join(', ')})`;
  if (kind === 'STRING' || kind === 'BYTES') {
    const [length, stored] = kind === 'STRING' ? ['length($1)', 'varchar'] : ['octet_length($1)', 'blob'];
    const message = `'${written} has maximum length ${first} but got a value with length ' || ${length}`;
    return call(
      'CAST',
      `(case when ${length} > ${first} then cast(bq_fail_text(${message}) as ${stored}) else $1 end)`,
      [value],
      value.type,
    );
  }
  const most = greatest(Number(first), Number(scale));
  const message = `${written} has precision ${first} and scale ${scale} but got a value that is not in range of [-${most}, ${most}]`;
  const rounded = call('ROUND', `bq_numeric_round($1, ${scale})`, [value], value.type);
  return call(
    'CAST',
    `(case when abs($1) > cast('${most}' as decimal(38, 9)) then cast(bq_fail('${message}') as decimal(38, 9)) else $1 end)`,
    [rounded],
    value.type,
  );
}

/** The greatest number of so many digits, some of them after the point: `999.99` for 5 and 2. */
function greatest(precision: number, scale: number): string {
  const whole = '9'.repeat(precision - scale) || '0';
  return scale > 0 ? `${whole}.${'9'.repeat(scale)}` : whole;
}
