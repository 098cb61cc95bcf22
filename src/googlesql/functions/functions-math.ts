import type { BoundExpression } from '../tree/bound-tree.ts';
import { type FunctionRow, row, unsupported, type Variant } from './function-row.ts';
import { constantNumber } from './magnitude.ts';

/** Functions with exact rows for NUMERIC in `functions-numeric.ts`. */
const exactNumeric: ReadonlySet<string> = new Set([
  ...['FLOOR', 'CEIL', 'CEILING', 'TRUNC', 'ROUND', 'SQRT', 'MOD', 'DIV'],
  ...['SAFE_DIVIDE', 'SAFE_ADD', 'SAFE_SUBTRACT', 'SAFE_MULTIPLY'],
]);

const floatFunctions = Object.entries({
  SQRT: 'sqrt($1)',
  EXP: 'bq_exp($1)',
  LN: 'bq_ln($1)',
  LOG10: 'bq_log10($1)',
  SIN: ofAngle('sin'),
  COS: ofAngle('cos'),
  TAN: ofAngle('tan'),
  FLOOR: 'floor($1)',
  CEIL: 'ceil($1)',
  CEILING: 'ceil($1)',
  TRUNC: 'trunc($1)',
  ROUND: 'round($1)',
}).flatMap(([name, template]) => [row(`${name}(FLOAT64) FLOAT64`, template), ...exact(name, 1)]);

/** DuckDB fails for an infinite angle, where BigQuery answers NaN. */
function ofAngle(name: string): string {
  return `(case when isinf($1) then 'nan'::double else ${name}($1) end)`;
}

const power = ['POW', 'POWER'].flatMap(name => [
  row(`${name}(FLOAT64, FLOAT64) FLOAT64`, 'bq_pow($1, $2)'),
  ...exact(name, 2),
]);

/** BigQuery calculates NUMERIC exactly, DuckDB in FLOAT64 only: these signatures exist only to be refused. */
function exact(name: string, count: number): readonly FunctionRow[] {
  const types = exactNumeric.has(name) ? ['BIGNUMERIC'] : ['NUMERIC', 'BIGNUMERIC'];
  return types.map(type => row(`${name}(${Array(count).fill(type).join(', ')}) ${type}`, unsupported));
}

/**
 * Variants for constant numbers of places, with their power of ten written out: they take a tenth of the time of a function in the engine
 * process.
 */
function places(macro: string, least: number): readonly Variant[] {
  return Array.from({ length: 13 - least }, (_, i) => ({
    template: `${macro}($1, 1e${least + i}::double, $2)`,
    applies: ([, count]) => constantNumber(count!) === least + i,
  }));
}

const signs: Readonly<Record<string, string>> = {
  INT64: 'cast(sign($1) as bigint)',
  NUMERIC: 'cast(sign($1) as decimal(38, 9))',
  FLOAT64: 'bq_sign($1)',
};

/** NULL on overflow; NaN and infinities pass through. */
const finiteQuotient =
  '(case when isfinite($1 / nullif($2, 0)) or not isfinite($1) or not isfinite($2) then $1 / nullif($2, 0) end)';

/** Integers divide without overflow. */
const isSmallQuotient = (values: readonly BoundExpression[]): boolean =>
  values.every(value => value.kind === 'cast' && value.of.type.kind === 'INT64');

export const mathRows = [
  ...Object.entries(signs).flatMap(([type, sign]) => [
    row(`ABS(${type}) ${type}`, 'abs($1)'),
    row(`SIGN(${type}) ${type}`, sign),
  ]),
  ...floatFunctions,
  ...power,
  row('ROUND(FLOAT64, INT64) FLOAT64', 'bq_round($1, $2)', { variants: places('bq_round_to', 5) }),
  row('TRUNC(FLOAT64, INT64) FLOAT64', 'bq_float_trunc($1, $2)', { variants: places('bq_trunc_to', 1) }),
  ...['ROUND', 'TRUNC'].map(name => row(`${name}(BIGNUMERIC, INT64) BIGNUMERIC`, unsupported)),
  row('LOG(FLOAT64) FLOAT64', 'bq_ln($1)'),
  row('LOG(FLOAT64, FLOAT64) FLOAT64', 'bq_log($1, $2)'),
  row('MOD(INT64, INT64) INT64', 'bq_mod($1, $2)'),
  row('DIV(INT64, INT64) INT64', 'bq_div($1, $2)'),
  row('SAFE_DIVIDE(FLOAT64, FLOAT64) FLOAT64', finiteQuotient, {
    variants: [{ template: '($1 / nullif($2, 0))', applies: isSmallQuotient }],
  }),
  row('IEEE_DIVIDE(FLOAT64, FLOAT64) FLOAT64', '($1 / $2)'),
  // After FLOAT64: integers would fit either, and BigQuery makes them FLOAT64.
  ...['LOG', 'MOD', 'DIV', 'SAFE_DIVIDE'].flatMap(name => exact(name, 2)),
  ...['SAFE_ADD', 'SAFE_SUBTRACT', 'SAFE_MULTIPLY'].flatMap(name => exact(name, 2)),
  ...exact('LOG', 1),
  ...Object.entries({ SAFE_ADD: '+', SAFE_SUBTRACT: '-', SAFE_MULTIPLY: '*' }).flatMap(([name, symbol]) => [
    row(`${name}(INT64, INT64) INT64`, `try($1 ${symbol} $2)`),
    row(
      `${name}(FLOAT64, FLOAT64) FLOAT64`,
      `(case when isfinite($1 ${symbol} $2) or not isfinite($1) or not isfinite($2) then $1 ${symbol} $2 end)`,
    ),
  ]),
  row('IS_NAN(FLOAT64) BOOL', 'isnan($1)'),
  row('IS_INF(FLOAT64) BOOL', 'isinf($1)'),
  row('RAND() FLOAT64', 'random()'),
];
