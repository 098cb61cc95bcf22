import type { Unsupported } from './sql-error.ts';
import { type CatalogTable, type ScalarKind, type SqlType, type StructType, scalar } from './types.ts';

/**
 * A query with every name resolved and every type known: plain data, without anything of the text.
 * A relation is one occurrence of a table, a subset, a derived table or an UNNEST; its columns are identified by position.
 */
export type BoundQuery = {
  readonly subsets: readonly BoundSubset[];
  readonly body: BoundBody;
  readonly orderBy: readonly BoundOrder[];
  readonly limit?: RowCount;
  readonly offset?: RowCount;
  readonly columns: readonly OutputColumn[];
};

/** The operand of LIMIT or OFFSET: a number, or a call that returns one from a parameter. */
export type RowCount = number | BoundCall;

/** One common table expression. */
export type BoundSubset = {
  readonly id: number;
  readonly name: string;
  readonly query: BoundQuery;
  /** Subsets that its text names, including its own. */
  readonly reads: readonly BoundSubset[];
  /** Whether its query refers to itself. */
  readonly isRecursive?: boolean;
};

export type OutputColumn = {
  readonly name: string;
  readonly type: SqlType;
  /** Whether it has no name from an alias or a path, only `f0_`. Nothing can refer to it. */
  readonly anonymous: boolean;
  /** Whether it is the only column of a value table, made by SELECT AS STRUCT or AS VALUE: in FROM its rows have the table's name. */
  readonly isRow?: boolean;
  /** Whether neither a name nor a star can refer to it. */
  readonly isHidden?: boolean;
};

export type BoundBody =
  | BoundSelect
  | { readonly kind: 'query'; readonly query: BoundQuery }
  | {
      readonly kind: 'setOperation';
      readonly operator: 'UNION' | 'INTERSECT' | 'EXCEPT';
      readonly all: boolean;
      readonly parts: readonly { body: BoundBody; columns: readonly OutputColumn[] }[];
      /** What every part's columns become. */
      readonly columns: readonly OutputColumn[];
    };

export type BoundSelect = {
  readonly kind: 'select';
  readonly distinct: boolean;
  readonly items: readonly BoundExpression[];
  readonly from?: BoundFrom;
  readonly where?: BoundExpression;
  /** Undefined: no GROUP BY. Empty: all rows are one group, even if there are none. */
  readonly groupBy?: readonly BoundExpression[];
  /** Indexes of keys: the rows are grouped by each set of them. */
  readonly groupingSets?: readonly (readonly number[])[];
  readonly having?: BoundExpression;
  readonly qualify?: BoundExpression;
};

export type BoundFrom =
  | { readonly kind: 'table'; readonly relation: number; readonly table: CatalogTable }
  | { readonly kind: 'subset'; readonly relation: number; readonly subset: BoundSubset }
  | { readonly kind: 'derived'; readonly relation: number; readonly query: BoundQuery }
  | {
      readonly kind: 'join';
      readonly join: 'CROSS' | 'INNER' | 'LEFT' | 'RIGHT' | 'FULL';
      readonly left: BoundFrom;
      readonly right: BoundFrom;
      readonly on?: BoundExpression;
    }
  | {
      /** Each row of `input` with each element of `array`: column 0 is the element, column 1 its offset. */
      readonly kind: 'unnest';
      readonly relation: number;
      readonly input?: BoundFrom;
      readonly array: BoundExpression;
      readonly withOffset: boolean;
      /** Whether a row without elements is kept, with NULLs. */
      readonly outer: boolean;
      readonly on?: BoundExpression;
    };

/** An ORDER BY item: a column of the output, by position from 0, or an expression. */
export type BoundOrder = {
  readonly by: number | BoundExpression;
  readonly descending: boolean;
  readonly nulls: 'FIRST' | 'LAST';
};

export type BoundFrameBound =
  | { readonly kind: 'UNBOUNDED PRECEDING' | 'UNBOUNDED FOLLOWING' | 'CURRENT ROW' }
  | { readonly kind: 'PRECEDING' | 'FOLLOWING'; readonly distance: BoundExpression };

export type BoundWindow = {
  readonly partitionBy: readonly BoundExpression[];
  readonly orderBy: readonly BoundOrder[];
  readonly frame?: {
    readonly unit: 'ROWS' | 'RANGE';
    readonly start: BoundFrameBound;
    readonly end?: BoundFrameBound;
  };
};

/** A function with its arguments, as text of DuckDB. */
type Templated = {
  readonly type: SqlType;
  readonly name: string;
  readonly template: string;
  readonly arguments: readonly BoundExpression[];
  /** Present if DuckDB has no form of the call. */
  readonly unsupported?: Unsupported;
};

/** In its template `$1` is the first argument, `$*` all of them between commas. */
export type BoundCall = Templated & { readonly kind: 'call' };

/** In its template `$distinct`, `$order`, `$filter` and `$over` are empty if the call has no such part. */
export type BoundAggregate = Templated & {
  readonly kind: 'aggregate';
  readonly distinct: boolean;
  readonly ignoreNulls: boolean;
  readonly orderBy: readonly BoundOrder[];
  /** Only rows that fulfil it count; used by PIVOT. */
  readonly filter?: BoundExpression;
  /** Present on an analytic call. */
  readonly over?: BoundWindow;
};

/** JSON_VALUE of a text by a path that DuckDB's own reader also accepts. */
export type BoundJsonValue = {
  readonly kind: 'jsonValue';
  readonly type: SqlType;
  readonly of: BoundExpression;
  /** The path in DuckDB's spelling. */
  readonly path: string;
  /** The steps of `parseJsonPath` as JSON. */
  readonly steps: string;
  /** Names that the path passes through. A text may hold one of them twice; DuckDB's reader then follows only the first. */
  readonly passed: readonly string[];
  /** Positions in arrays, as texts: BigQuery also reads them as names of an object's members. */
  readonly positions: readonly string[];
};

export type BoundExpression =
  | { readonly kind: 'literal'; readonly type: SqlType; readonly value: string }
  /** A NULL of a type, or of no type yet. */
  | {
      readonly kind: 'null';
      readonly type: SqlType;
      /** The type is a guess: beside another value the NULL takes that value's type. */
      readonly isBare?: true;
    }
  | { readonly kind: 'parameter'; readonly type: SqlType; readonly name: string }
  /** The one instant of the statement. */
  | { readonly kind: 'now'; readonly type: SqlType }
  | { readonly kind: 'column'; readonly type: SqlType; readonly relation: number; readonly index: number }
  | { readonly kind: 'field'; readonly type: SqlType; readonly of: BoundExpression; readonly name: string }
  | { readonly kind: 'struct'; readonly type: StructType; readonly values: readonly BoundExpression[] }
  | { readonly kind: 'array'; readonly type: SqlType; readonly elements: readonly BoundExpression[] }
  | {
      readonly kind: 'element';
      readonly type: SqlType;
      readonly of: BoundExpression;
      /** From 0, whatever the text counted from. */
      readonly index: BoundExpression;
      /** Out of range: NULL when true, an error when false. */
      readonly safe: boolean;
    }
  | { readonly kind: 'arrayLength'; readonly type: SqlType; readonly of: BoundExpression }
  | { readonly kind: 'cast'; readonly type: SqlType; readonly of: BoundExpression; readonly safe: boolean }
  | {
      readonly kind: 'case';
      readonly type: SqlType;
      readonly branches: readonly { when: BoundExpression; result: BoundExpression }[];
      readonly otherwise?: BoundExpression;
    }
  | { readonly kind: 'isNull'; readonly type: SqlType; readonly of: BoundExpression }
  | BoundCall
  | BoundAggregate
  | BoundJsonValue
  /** Values that `body` names by `named`, each calculated once. */
  | {
      readonly kind: 'let';
      readonly type: SqlType;
      readonly values: readonly BoundExpression[];
      readonly body: BoundExpression;
    }
  /** A value of a `let` around it: the same object. */
  | { readonly kind: 'named'; readonly type: SqlType; readonly value: BoundExpression }
  /** NULL where the inner expression would fail: `SAFE.` functions. */
  | { readonly kind: 'try'; readonly type: SqlType; readonly of: BoundExpression }
  | {
      readonly kind: 'subquery';
      readonly type: SqlType;
      readonly form: 'SCALAR' | 'EXISTS' | 'ARRAY';
      readonly query: BoundQuery;
    }
  | {
      readonly kind: 'inQuery';
      readonly type: SqlType;
      readonly of: BoundExpression;
      readonly query: BoundQuery;
    };

/** A call with its own template, without a function's row. */
export function call(
  name: string,
  template: string,
  values: readonly BoundExpression[],
  type: SqlType,
): BoundCall {
  return { kind: 'call', name, template, arguments: values, type };
}

export type BoundLiteral = Extract<BoundExpression, { kind: 'literal' }>;

/** A literal of a scalar type, its value in the spelling of `bindLiteral`. */
export function literal(kind: ScalarKind, value: string): BoundLiteral {
  return { kind: 'literal', type: scalar(kind), value };
}

/** NOT of a condition. */
export function negated(condition: BoundExpression): BoundCall {
  return call('NOT', '(not $1)', [condition], scalar('BOOL'));
}

/** Conditions joined by AND or OR; a single one is returned as it is. */
export function joinConditions(
  operator: 'AND' | 'OR',
  conditions: readonly BoundExpression[],
): BoundExpression {
  if (conditions.length === 1) return conditions[0]!;
  return call(operator, operator === 'AND' ? '($and)' : '($or)', conditions, scalar('BOOL'));
}

/** A value without a DuckDB form, and its parts. */
export function unsupportedCall(
  unsupported: Unsupported,
  type: SqlType,
  parts: readonly BoundExpression[],
): BoundCall {
  return { kind: 'call', name: unsupported.message, type, template: '', arguments: parts, unsupported };
}
