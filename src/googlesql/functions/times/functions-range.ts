import type { SqlPosition } from '../../../base/errors.ts';
import type { BoundExpression } from '../../tree/bound-tree.ts';
import { temporalLiteral } from '../../tree/coercion.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import { type RangeKind, rangeKinds, type ScalarKind, scalar } from '../../tree/types.ts';
import { row } from '../function-row.ts';

const overlap = '($1.s < $2.e and $2.s < $1.e)';

/**
 * RANGE values are records of two bounds, the open ones at infinity: so DuckDB's own order and equality are BigQuery's.
 */
export const rangeRows = rangeKinds.flatMap(range => {
  const type = elementOf(range);
  const duckDb = { DATE: 'date', DATETIME: 'timestamp', TIMESTAMP: 'timestamptz' }[type as string]!;
  const array = `bq_range_array(cast($1.s as timestamp), cast($1.e as timestamp), $2, $3)`;
  const ranges = (isLast: string) =>
    `list_transform(${array.replace('$3', isLast)}, lambda p: {'s': cast(p[1] as ${duckDb}), 'e': cast(p[2] as ${duckDb})})`;
  return [
    row(
      `RANGE(${type}, ${type}) ${range}`,
      `bq_range($1, $2, cast(bq_fail_text('Range start element must be smaller than range end element') as ${duckDb}))`,
    ),
    row(`RANGE_START(${range}) ${type}`, `cast(case when isfinite($1.s) then $1.s end as ${duckDb})`),
    row(`RANGE_END(${range}) ${type}`, `cast(case when isfinite($1.e) then $1.e end as ${duckDb})`),
    row(`RANGE_CONTAINS(${range}, ${type}) BOOL`, '($1.s <= $2 and $2 < $1.e)'),
    row(`RANGE_CONTAINS(${range}, ${range}) BOOL`, '($1.s <= $2.s and $2.e <= $1.e)'),
    row(`RANGE_OVERLAPS(${range}, ${range}) BOOL`, overlap),
    row(
      `RANGE_INTERSECT(${range}, ${range}) ${range}`,
      `(case when ${overlap} then {'s': greatest($1.s, $2.s), 'e': least($1.e, $2.e)} when $1 is not null and $2 is not null then {'s': cast(bq_fail_text('Provided RANGE inputs do not overlap') as ${duckDb}), 'e': $1.e} end)`,
    ),
    row(`GENERATE_RANGE_ARRAY(${range}, INTERVAL) ARRAY<${range}>`, ranges('true')),
    row(`GENERATE_RANGE_ARRAY(${range}, INTERVAL, BOOL) ARRAY<${range}>`, ranges('$3')),
  ];
});

function elementOf(range: RangeKind): ScalarKind {
  return range.slice('RANGE<'.length, -1) as ScalarKind; // the range is named after it
}

/** `RANGE<DATE> '[2026-01-01, UNBOUNDED)'`, as its two bounds; NULL for an open one. */
export function rangeBounds(text: string, range: RangeKind, at: SqlPosition): readonly BoundExpression[] {
  const type = scalar(elementOf(range));
  // Spaces are trimmed afterwards: matched here, they would be tried in each of three places.
  const bounds = /^\[([^,]*),([^,]*)\)$/
    .exec(text)
    ?.slice(1)
    .map(bound => bound.trim());
  if (!bounds?.every(Boolean)) throw invalidQuery(`Invalid ${range} literal: ${JSON.stringify(text)}`, at);
  return bounds.map(bound =>
    /^(unbounded|null)$/i.test(bound) ? { kind: 'null', type } : temporalLiteral(bound, type, at),
  );
}
