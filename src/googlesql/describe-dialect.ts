import { scalarFunctionRows, specialFunctions } from './functions/all-functions.ts';
import type { FunctionRow } from './functions/function-row.ts';
import { aggregateRows, windowRows } from './functions/functions-aggregate.ts';
import { warehouseAggregateRows, warehouseRows } from './functions/warehouse-functions.ts';
import { reservedWords } from './syntax/reserved-words.ts';
import { typeName } from './tree/types.ts';

/** The dialect of callers' SQL, for an editor. */
export type Dialect = {
  readonly keywords: readonly string[];
  readonly types: readonly string[];
  /** By name. */
  readonly functions: readonly {
    readonly name: string;
    readonly kind: 'scalar' | 'aggregate' | 'window';
    /** Such as `SUBSTR(STRING, INT64) STRING`; empty for functions with a call syntax of their own. */
    readonly signatures: readonly string[];
  }[];
};

/** Words that are keywords only in certain positions. */
const contextualWords = ['OFFSET', 'ORDINAL', 'PIVOT', 'SAFE_CAST', 'SAFE_OFFSET', 'SAFE_ORDINAL', 'UNPIVOT'];

const types = [
  'STRING', 'BYTES', 'BOOL', 'INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC',
  'TIMESTAMP', 'DATETIME', 'DATE', 'TIME', 'INTERVAL', 'JSON', 'ARRAY', 'STRUCT',
]; // biome-ignore format: one list

/** Describes the dialect, from the tables with which the front-end resolves calls. */
export function describeDialect(): Dialect {
  const aggregates = [...aggregateRows, ...warehouseAggregateRows];
  const scalars = [...scalarFunctionRows, ...warehouseRows];
  const names = (rows: readonly FunctionRow[]) => new Set(rows.map(({ name }) => name));
  const [windowNames, aggregateNames] = [names(windowRows), names(aggregates)];
  const rows = Map.groupBy([...aggregates, ...windowRows, ...scalars], ({ name }) => name);
  const all = [...new Set([...rows.keys(), ...Object.keys(specialFunctions)])].filter(isCallable).sort();
  return {
    keywords: [...new Set([...reservedWords, ...contextualWords])].sort(),
    types,
    functions: all.map(name => ({
      name,
      kind: windowNames.has(name) ? 'window' : aggregateNames.has(name) ? 'aggregate' : 'scalar',
      signatures: [...new Set((rows.get(name) ?? []).map(signatureOf))],
    })),
  };
}

/** Excludes operators, which have rows, too. */
const isCallable = (name: string) => /^[A-Z]\w*(?:\.\w+)?$/.test(name);

function signatureOf({ name, parameters, variadic, returns }: FunctionRow): string {
  return `${name}(${parameters.map(typeText).join(', ')}${variadic ? '...' : ''}) ${typeText(returns)}`;
}

function typeText(type: FunctionRow['returns']): string {
  switch (type.kind) {
    case 'exact':
      return typeName(type.type);
    case 'variable':
      return 'T';
    case 'arrayOfVariable':
      return 'ARRAY<T>';
    case 'top':
      return 'ARRAY<STRUCT<value T, count INT64>>';
  }
}
