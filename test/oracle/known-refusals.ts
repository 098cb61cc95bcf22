/** What is refused by name though the reference answers it, and why. A refusal that no entry names is a fault. */
export const knownRefusals: readonly (readonly [message: RegExp, reason: string])[] = [
  [/^NaN is not supported where an aggregate sorts/, 'DuckDB sorts NaN elsewhere'],
  [
    /^Floating point overflow; (?:a sum|an average) that leaves FLOAT64|^Floating point overflow; NaN and infinity in/,
    'the order of addition would decide',
  ],
  [/^RESPECT NULLS in PERCENTILE_/, 'DuckDB has no form of it'],
  [
    /for an array that an outer join or a missing element may leave out|^(?:Comparing arrays that|CONTAINS_SUBSTR of what) an outer join/,
    'stored arrays are never NULL, those of missing rows are',
  ],
  [/^A RANGE frame with a distance is not supported for a key with a subquery/, 'the bounds repeat the key'],
  [/^A window in the keys of another/, "DuckDB's parser takes none"],
  [/^A correlated subquery of this kind is not supported/, 'DuckDB refuses some as it plans'],
  [/^With DISTINCT, ORDER BY inside/, 'two subqueries in the same words are not the same to us'],
  [/^Duplicate field name \S+ in a STRUCT/, 'a record of DuckDB has no two fields of one name'],
];
