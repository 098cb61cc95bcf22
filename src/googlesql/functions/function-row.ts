import type { SqlPosition } from '../../base/errors.ts';
import type { BoundCall, BoundExpression } from '../tree/bound-tree.ts';
import { anyValueOf, coerce, coercionCost, supertype } from '../tree/coercion.ts';
import { invalidQuery, onlyOnWarehouse, type Unsupported } from '../tree/sql-error.ts';
import { asComputed, isEmptyArray, unclearArray } from '../tree/storage.ts';
import { arrayOf, type ScalarKind, type SqlType, scalar, structOf, typeName } from '../tree/types.ts';

/** A type in a signature: `T` is any one type, `ARRAY<T>` an array of it, `ORDERED` any type that sorts. */
type ParameterType =
  | { readonly kind: 'exact'; readonly type: SqlType }
  | { readonly kind: 'variable'; readonly comparable: boolean }
  | { readonly kind: 'arrayOfVariable' }
  /** An array of values with their counts, or with sums of this type. */
  | { readonly kind: 'top'; readonly sum?: SqlType };

/**
 * One signature of one function, and its DuckDB form.
 * A name with several signatures has several rows; the closest one wins.
 */
export type FunctionRow = {
  readonly name: string;
  readonly parameters: readonly ParameterType[];
  /** Whether the last parameter may be repeated. */
  readonly variadic: boolean;
  readonly returns: ParameterType;
  /** DuckDB text, see `BoundCall` and `BoundAggregate`. */
  readonly template: string;
} & RowOptions;

/** What few rows need besides their signature and template. */
type RowOptions = {
  /** Cheaper templates for some arguments; the first one that applies wins. Default: none. */
  readonly variants?: readonly Variant[];
  /** The template with DISTINCT, if it differs. */
  readonly distinct?: string;
  /** The argument by which an aggregate sorts, from 0: NaN is refused there, see `bq_not_nan`. */
  readonly sortsBy?: number;
};

export type Variant = {
  readonly template: string;
  applies(values: readonly BoundExpression[]): boolean;
};

/** Used as the template of a signature without a DuckDB form: only the warehouse answers such a call. */
export const unsupported = '';

/**
 * Writes a row: `row('SUBSTR(STRING, INT64) STRING', 'substr($1, $2)')`.
 * Types: scalar names, `ARRAY<X>`, `T` (any), `C` (any that compares), `ARRAY<T>`, `TOP<T>`, `SKETCH` (BYTES),
 * `ARRAY<STRUCT<a X, b Y>>`; `...` after the last repeats it.
 */
export function row(signature: string, template: string, options: RowOptions = {}): FunctionRow {
  const [, name = '', inside = '', returns = ''] = /^(.+?)\((.*)\) (.+)$/.exec(signature) ?? [];
  const words = inside ? inside.split(/, */) : [];
  const variadic = words.at(-1)?.endsWith('...') ?? false;
  const parameters = words.map(word => parameterType(word.replace('...', '')));
  return { name, parameters, variadic, returns: parameterType(returns), template, ...options };
}

/** Rows by name, in the order in which they are written. */
export function rowsByName(rows: readonly FunctionRow[]): ReadonlyMap<string, readonly FunctionRow[]> {
  return Map.groupBy(rows, r => r.name);
}

export type MatchedRow = {
  readonly row: FunctionRow;
  /** The row's, or that of the variant that applies. */
  readonly template: string;
  readonly arguments: readonly BoundExpression[];
  readonly type: SqlType;
  readonly unsupported?: Unsupported;
};

/**
 * Picks the signature that needs the fewest coercions, and coerces the arguments. All arrays, arguments and results alike, are LISTs:
 * DuckDB's functions pass values on in the form of their types.
 * @param what `function LOWER` or `operator +`, for the message
 */
export function matchRow(
  rows: readonly FunctionRow[],
  what: string,
  given: readonly BoundExpression[],
  at: SqlPosition,
): MatchedRow {
  const values = given.map(asComputed);
  let best: { row: FunctionRow; variable: SqlType; cost: number } | undefined;
  for (const candidate of rows) {
    // Nothing is closer.
    if (best?.cost === 0 && best.row.template !== unsupported) break;
    const fit = fits(candidate, values);
    // If all arguments are NULL, which fits any row, rows without a DuckDB form come last.
    const isBetter =
      !best ||
      (fit && fit.cost < best.cost) ||
      (fit?.cost === best.cost && best.row.template === unsupported);
    if (fit && isBetter) best = { row: candidate, ...fit };
  }
  if (!best) {
    const types = values.map(value => typeName(value.type)).join(', ');
    throw invalidQuery(`No matching signature for ${what} for argument types: ${types || '()'}`, at);
  }
  const { row: chosen, variable } = best;
  const targets = values.map((_, i) => filled(parameterOf(chosen, i), variable));
  refuseBareNull(chosen, values, at);
  const coerced = values.map((value, i) => coerce(value, targets[i]!, at));
  const variant = chosen.variants?.find(({ applies }) => applies(coerced));
  return {
    row: chosen,
    template: (variant ?? chosen).template,
    arguments: coerced,
    type: filled(chosen.returns, variable),
    unsupported:
      unsupportedRow(rows, chosen, { what, types: targets, at }) ?? unclearArgument(given, what, at),
  };
}

/** An untyped NULL is not accepted for a RANGE, for both of its bounds, or for the array of RANGE_BUCKET. */
function refuseBareNull(
  { name, parameters }: FunctionRow,
  values: readonly BoundExpression[],
  at: SqlPosition,
): void {
  const isBare = values.map(({ type }) => type.kind === 'NULL');
  if (!isBare.includes(true)) return;
  if (name === 'RANGE' && isBare.every(Boolean))
    throw invalidQuery('At least one argument of RANGE must have a type', at);
  if (name === 'RANGE_BUCKET' && isBare[1])
    throw invalidQuery('The second argument of RANGE_BUCKET must be an array', at);
  const isRange = parameters.map(
    ({ kind, ...of }) => kind === 'exact' && 'type' in of && of.type.kind.startsWith('RANGE<'),
  );
  if (isBare.some((bare, i) => bare && isRange[i]))
    throw invalidQuery(
      'A literal NULL argument cannot be accepted in place of RANGE; write CAST(NULL AS RANGE<DATE>)',
      at,
    );
}

/** Why DuckDB can't answer a row: the whole function, or these types of it. */
function unsupportedRow(
  rows: readonly FunctionRow[],
  chosen: FunctionRow,
  { what, types, at }: { what: string; types: readonly SqlType[]; at: SqlPosition },
): Unsupported | undefined {
  if (chosen.template !== unsupported) return undefined;
  const isWhole = rows.every(({ template }) => template === unsupported);
  const named = isWhole ? '' : ` for argument types: ${types.map(typeName).join(', ')}`;
  const { reason } = onlyOnWarehouse(what, at);
  return { ...reason, message: `${reason.message}${named}` };
}

function unclearArgument(
  given: readonly BoundExpression[],
  what: string,
  at: SqlPosition,
): Unsupported | undefined {
  if (!given.some(({ type }) => type.kind === 'ARRAY') || given.some(isEmptyArray)) return undefined;
  return given.map(value => unclearArray(value, what, at)).find(Boolean);
}

/** A scalar call by the row that fits. */
export function bindRow(
  rows: readonly FunctionRow[],
  what: string,
  values: readonly BoundExpression[],
  at: SqlPosition,
): BoundCall {
  const { row: chosen, ...call } = matchRow(rows, what, values, at);
  return { kind: 'call', name: chosen.name, ...call };
}

/** What a row expects as its argument at an index, from 0: a variadic row repeats its last parameter. */
const parameterOf = ({ parameters }: FunctionRow, index: number): ParameterType =>
  parameters[Math.min(index, parameters.length - 1)]!;

function fits(
  candidate: FunctionRow,
  values: readonly BoundExpression[],
): { variable: SqlType; cost: number } | undefined {
  const { parameters, variadic } = candidate;
  if (values.length < parameters.length || (values.length > parameters.length && !variadic)) return undefined;
  const variable = solveVariable(candidate, values);
  if (!variable) return undefined;
  let cost = 0;
  for (const [i, value] of values.entries()) {
    const target = filled(parameterOf(candidate, i), variable);
    const step = coercionCost(value, target);
    if (step === undefined) return undefined;
    // A literal with a point is a NUMERIC only beside another NUMERIC.
    if (value.type.kind === 'FLOAT64' && target.kind === 'NUMERIC' && !values.some(isNumeric))
      return undefined;
    cost += step;
  }
  return { variable, cost };
}

const isNumeric = ({ type }: BoundExpression): boolean => type.kind === 'NUMERIC';

const noType = scalar('NULL');

/** The type that `T` stands for in this call; NULL when there is no T, or nothing but NULLs for it. */
function solveVariable(candidate: FunctionRow, values: readonly BoundExpression[]): SqlType | undefined {
  const { parameters } = candidate;
  if (parameters.every(({ kind }) => kind === 'exact')) return noType;
  const plain = values.filter((_, i) => parameterOf(candidate, i).kind === 'variable');
  const arrays = values.filter((_, i) => parameterOf(candidate, i).kind === 'arrayOfVariable');
  const comparable = parameters.some(parameter => parameter.kind === 'variable' && parameter.comparable);
  const arrayType = supertype(arrays);
  if (!arrayType || (arrayType.kind !== 'NULL' && arrayType.kind !== 'ARRAY')) return undefined;
  const elements: BoundExpression[] =
    arrayType.kind === 'ARRAY' && arrayType.element.kind !== 'NULL' ? [anyValueOf(arrayType.element)] : [];
  const type = supertype([...plain, ...elements]);
  if (!type || (comparable && ['ARRAY', 'STRUCT', 'JSON'].includes(type.kind))) return undefined;
  return type;
}

function filled(parameter: ParameterType, variable: SqlType): SqlType {
  if (parameter.kind === 'exact') return parameter.type;
  if (parameter.kind === 'top') {
    const fields = [
      { name: 'value', type: variable },
      parameter.sum ? { name: 'sum', type: parameter.sum } : { name: 'count', type: scalar('INT64') },
    ];
    return arrayOf(structOf(fields));
  }
  return parameter.kind === 'variable' ? variable : arrayOf(variable);
}

/** `term STRING, count INT64` */
function recordType(fields: string): SqlType {
  return structOf(
    fields.split(', ').map(field => {
      const [name = '', kind] = field.split(' ');
      return { name, type: scalar(kind as ScalarKind) };
    }),
  );
}

function parameterType(word: string): ParameterType {
  if (word === 'T' || word === 'C') return { kind: 'variable', comparable: word === 'C' };
  const [, isTop, sum] = /^(TOP<T>)(?: OF (\w+))?$/.exec(word) ?? [];
  if (isTop) return { kind: 'top', sum: sum ? scalar(sum as ScalarKind) : undefined };
  if (word === 'ARRAY<T>') return { kind: 'arrayOfVariable' };
  if (word === 'SKETCH') return { kind: 'exact', type: { kind: 'BYTES', isSketch: true } };
  const record = /^ARRAY<STRUCT<(.+)>>$/.exec(word)?.[1];
  if (record !== undefined) return { kind: 'exact', type: arrayOf(recordType(record)) };
  const element = /^ARRAY<(.+)>$/.exec(word)?.[1];
  // The names of types are written in the tables of this folder, and a test binds every row.
  const type = scalar((element ?? word) as ScalarKind);
  return { kind: 'exact', type: element ? arrayOf(type) : type };
}
