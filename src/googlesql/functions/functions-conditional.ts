import { row } from './function-row.ts';

export const conditionalRows = [
  row('IF(BOOL, T, T) T', '(case when $1 then $2 else $3 end)'),
  row('IFNULL(T, T) T', 'coalesce($1, $2)'),
  row('COALESCE(T...) T', 'coalesce($*)'),
  // A literal with a point beside NUMERIC fits this row and the next alike: the first one wins.
  row('NULLIF(NUMERIC, NUMERIC) NUMERIC', 'nullif($1, $2)'),
  // NaN equals nothing, not even itself.
  row('NULLIF(FLOAT64, FLOAT64) FLOAT64', '(case when isnan($1) then $1 else nullif($1, $2) end)'),
  row('NULLIF(C, C) C', 'nullif($1, $2)'),
  ...['INT64', 'FLOAT64', 'NUMERIC'].flatMap(type => [
    row(`NULLIFZERO(${type}) ${type}`, 'nullif($1, 0)'),
    row(`ZEROIFNULL(${type}) ${type}`, 'coalesce($1, 0)'),
  ]),
  // DuckDB ignores NULL here, BigQuery returns NULL; in BigQuery NaN wins both.
  row('GREATEST(C...) C', '(case when $null then null else greatest($*) end)'),
  row(
    'LEAST(FLOAT64...) FLOAT64',
    "(case when $null then null when isnan(greatest($*)) then 'nan'::double else least($*) end)",
  ),
  row('LEAST(C...) C', '(case when $null then null else least($*) end)'),
];
