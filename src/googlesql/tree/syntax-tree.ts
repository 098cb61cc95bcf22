import type { SqlPosition } from '../../base/errors.ts';
import type { ScalarKind } from './types.ts';

/** A name as written; names compare without regard to case. */
export type Identifier = { readonly name: string; readonly quoted: boolean; readonly at: SqlPosition };

/** A type as written in CAST, `ARRAY<…>` or `STRUCT<…>`. */
export type TypeSyntax =
  /** `limits`: those of `STRING(10)` and `NUMERIC(10, 2)`. */
  | { readonly kind: 'scalar'; readonly type: ScalarKind; readonly limits?: readonly Expression[] }
  | { readonly kind: 'array'; readonly element: TypeSyntax }
  | { readonly kind: 'struct'; readonly fields: readonly { name: string; type: TypeSyntax }[] };

export type OrderItem = {
  readonly expression: Expression;
  readonly descending: boolean;
  /** Default: first when ascending, last when descending. */
  readonly nulls?: 'FIRST' | 'LAST';
};

export type FrameBound =
  | { readonly kind: 'UNBOUNDED PRECEDING' | 'UNBOUNDED FOLLOWING' | 'CURRENT ROW' }
  | { readonly kind: 'PRECEDING' | 'FOLLOWING'; readonly distance: Expression };

export type WindowFrame = {
  readonly unit: 'ROWS' | 'RANGE';
  readonly start: FrameBound;
  readonly end?: FrameBound;
};

export type WindowSpec = {
  /** A named window that this one refines. */
  readonly base?: Identifier;
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly OrderItem[];
  readonly frame?: WindowFrame;
};

export type CallSyntax = {
  readonly kind: 'call';
  /** `safe.parse_timestamp` has two parts. */
  readonly name: readonly Identifier[];
  readonly arguments: readonly Expression[];
  /** `name => value`, after the others. */
  readonly named?: readonly { readonly name: Identifier; readonly value: Expression }[];
  readonly star: boolean;
  readonly distinct: boolean;
  readonly nulls?: 'IGNORE' | 'RESPECT';
  readonly having?: { readonly extreme: 'MAX' | 'MIN'; readonly expression: Expression };
  readonly orderBy: readonly OrderItem[];
  readonly limit?: Expression;
  readonly over?: WindowSpec;
  readonly at: SqlPosition;
};

/** A call with arguments by position alone. */
export function plainCall(name: CallSyntax['name'], values: readonly Expression[]): CallSyntax {
  const { at } = name[0]!;
  return { kind: 'call', name, arguments: values, star: false, distinct: false, orderBy: [], at };
}

export type SubscriptMode = 'BARE' | 'OFFSET' | 'SAFE_OFFSET' | 'ORDINAL' | 'SAFE_ORDINAL';

export type Expression = { readonly at: SqlPosition } & (
  | { readonly kind: 'literal'; readonly type: ScalarKind; readonly value: string }
  | { readonly kind: 'parameter'; readonly name: string }
  | { readonly kind: 'path'; readonly parts: readonly Identifier[] }
  | { readonly kind: 'field'; readonly of: Expression; readonly name: Identifier }
  | {
      readonly kind: 'subscript';
      readonly of: Expression;
      readonly mode: SubscriptMode;
      readonly index: Expression;
    }
  | CallSyntax
  | {
      readonly kind: 'cast';
      readonly safe: boolean;
      readonly of: Expression;
      readonly to: TypeSyntax;
      /** `FORMAT 'YYYY' AT TIME ZONE 'UTC'`, as two expressions. */
      readonly format?: readonly Expression[];
      /** Written as `x::text`, which is Postgres' and no GoogleSQL. */
      readonly isPostgres?: boolean;
    }
  | {
      readonly kind: 'case';
      readonly operand?: Expression;
      readonly branches: readonly { when: Expression; result: Expression }[];
      readonly otherwise?: Expression;
    }
  | { readonly kind: 'unary'; readonly operator: '-' | '+' | '~' | 'NOT'; readonly of: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'between';
      readonly of: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly not: boolean;
    }
  | {
      readonly kind: 'inList';
      readonly of: Expression;
      readonly list: readonly Expression[];
      readonly not: boolean;
    }
  | { readonly kind: 'inArray'; readonly of: Expression; readonly array: Expression; readonly not: boolean }
  | { readonly kind: 'inQuery'; readonly of: Expression; readonly query: Query; readonly not: boolean }
  | {
      readonly kind: 'like';
      readonly of: Expression;
      readonly patterns: readonly Expression[];
      readonly quantifier: 'ONE' | 'ANY' | 'ALL';
      readonly not: boolean;
    }
  /** LIKE ANY UNNEST and its kind: patterns are the elements of an array. */
  | {
      readonly kind: 'likeArray';
      readonly of: Expression;
      readonly array: Expression;
      readonly quantifier: 'ANY' | 'ALL';
      readonly not: boolean;
    }
  | {
      readonly kind: 'is';
      readonly of: Expression;
      readonly what: 'NULL' | 'TRUE' | 'FALSE' | 'UNKNOWN';
      readonly not: boolean;
    }
  | {
      readonly kind: 'isDistinct';
      readonly left: Expression;
      readonly right: Expression;
      readonly not: boolean;
    }
  | { readonly kind: 'subquery'; readonly form: 'SCALAR' | 'EXISTS' | 'ARRAY'; readonly query: Query }
  | { readonly kind: 'array'; readonly element?: TypeSyntax; readonly elements: readonly Expression[] }
  | {
      readonly kind: 'struct';
      /** `(a, b)`: no field takes a name from its expression. */
      readonly isTuple?: boolean;
      readonly type?: TypeSyntax;
      readonly fields: readonly { expression: Expression; alias?: Identifier }[];
    }
  /** `WITH(a AS 1, a + 1)`: each variable sees those before it. */
  | {
      readonly kind: 'with';
      readonly variables: readonly { readonly name: Identifier; readonly value: Expression }[];
      readonly body: Expression;
    }
  /** `to`: the last part of `HOUR TO SECOND`. */
  | { readonly kind: 'interval'; readonly of: Expression; readonly part: string; readonly to?: string }
  | {
      readonly kind: 'extract';
      readonly part: string;
      readonly weekday?: string;
      readonly of: Expression;
      readonly zone?: Expression;
    }
);

export type SelectItem =
  | { readonly kind: 'expression'; readonly expression: Expression; readonly alias?: Identifier }
  | {
      readonly kind: 'star';
      /** `t.*` has `t`; a bare `*` has nothing. */
      readonly of?: Expression;
      readonly except: readonly Identifier[];
      readonly replace: readonly { expression: Expression; name: Identifier }[];
      readonly at: SqlPosition;
    };

export type JoinKind = 'CROSS' | 'INNER' | 'LEFT' | 'RIGHT' | 'FULL';

export type NamedExpression = { readonly expression: Expression; readonly alias?: Identifier };

/** Columns that UNPIVOT makes one row of, and what stands for them in its name column. */
export type UnpivotGroup = { readonly columns: readonly Identifier[]; readonly label?: Expression };

/** A FROM item that PIVOT or UNPIVOT turns, and the name of the result. */
type Turned = { readonly at: SqlPosition; readonly of: FromItem; readonly alias?: Identifier };

/** `PIVOT(aggregates FOR by IN (values))`. */
export type Pivot = Turned & {
  readonly kind: 'pivot';
  readonly aggregates: readonly NamedExpression[];
  readonly by: Expression;
  readonly values: readonly NamedExpression[];
};

/** `UNPIVOT(values FOR name IN (groups))`. */
export type Unpivot = Turned & {
  readonly kind: 'unpivot';
  readonly includesNulls: boolean;
  readonly values: readonly Identifier[];
  readonly name: Identifier;
  readonly groups: readonly UnpivotGroup[];
};

export type FromItem = { readonly at: SqlPosition } & (
  | {
      /** The input of a pipe operator. */
      readonly kind: 'input';
    }
  | {
      /** A subset, a table, or an array path: `t.metadata m`. */
      readonly kind: 'table';
      readonly path: readonly Identifier[];
      readonly alias?: Identifier;
      readonly offset?: Identifier;
    }
  | {
      readonly kind: 'unnest';
      readonly array: Expression;
      readonly alias?: Identifier;
      /** WITH OFFSET's alias, `offset` unless one is written. */
      readonly offset?: Identifier;
    }
  | { readonly kind: 'derived'; readonly query: Query; readonly alias?: Identifier }
  | Pivot
  | Unpivot
  | {
      readonly kind: 'join';
      readonly join: JoinKind;
      readonly left: FromItem;
      readonly right: FromItem;
      readonly on?: Expression;
      readonly using?: readonly Identifier[];
    }
);

export type GroupBy = {
  readonly keys: readonly Expression[];
  /** GROUPING SETS, and what ROLLUP and CUBE stand for: indexes of keys. */
  readonly sets?: readonly (readonly number[])[];
};

export type Select = {
  readonly kind: 'select';
  readonly at: SqlPosition;
  readonly distinct: boolean;
  readonly as?: 'STRUCT' | 'VALUE';
  readonly items: readonly SelectItem[];
  readonly from?: FromItem;
  readonly where?: Expression;
  readonly groupBy?: 'ALL' | GroupBy;
  readonly having?: Expression;
  readonly qualify?: Expression;
  readonly windows: readonly { name: Identifier; spec: WindowSpec }[];
};

export type SetOperator = {
  readonly operator: 'UNION' | 'INTERSECT' | 'EXCEPT';
  readonly all: boolean;
  /** What is written before the operator. */
  readonly outer?: 'INNER' | 'LEFT' | 'FULL';
  /** Columns match by their names, and not by position. */
  readonly match?: {
    /** `STRICT`: the same names on both sides; `INNER`: those that both have; `LEFT`: those of the first; `FULL`: all. */
    readonly mode: 'STRICT' | 'INNER' | 'LEFT' | 'FULL';
    readonly columns?: readonly Identifier[];
  };
};

export type SetOperation = SetOperator & {
  readonly kind: 'setOperation';
  readonly at: SqlPosition;
  readonly parts: readonly QueryBody[];
};

/** `FROM t` alone, as a pipe may begin: all columns. */
export type FromBody = { readonly kind: 'from'; readonly at: SqlPosition; readonly from: FromItem };

export type QueryBody =
  | Select
  | FromBody
  | SetOperation
  | { readonly kind: 'parenthesized'; readonly at: SqlPosition; readonly query: Query };

export type WithItem = { readonly name: Identifier; readonly query: Query };

/** A query expression: subsets, a body, and the order and slice of its rows. */
export type Query = {
  readonly at: SqlPosition;
  readonly with: readonly WithItem[];
  /** WITH RECURSIVE: subsets may name themselves and later ones. */
  readonly isRecursive?: boolean;
  readonly body: QueryBody;
  readonly orderBy: readonly OrderItem[];
  readonly limit?: Expression;
  readonly offset?: Expression;
  /** What follows, each `|>` over the rows before it. */
  readonly pipes: readonly PipeOperator[];
};

/** A value with the name and the order that AGGREGATE gives it. */
export type AggregateItem = {
  readonly expression: Expression;
  readonly alias?: Identifier;
  readonly order?: Omit<OrderItem, 'expression'>;
};

export type PipeOperator = { readonly at: SqlPosition } & (
  | { readonly kind: 'where'; readonly condition: Expression }
  /** Fails for a row that does not fulfil it; the payload is for the message. */
  | { readonly kind: 'assert'; readonly condition: Expression; readonly payload: readonly Expression[] }
  | ({ readonly kind: 'select' } & Pick<Select, 'distinct' | 'as' | 'items' | 'windows'>)
  | ({ readonly kind: 'extend' } & Pick<Select, 'items' | 'windows'>)
  | { readonly kind: 'set'; readonly items: readonly { name: Identifier; expression: Expression }[] }
  | { readonly kind: 'drop'; readonly names: readonly Identifier[] }
  | { readonly kind: 'rename'; readonly names: readonly { from: Identifier; to: Identifier }[] }
  | { readonly kind: 'as'; readonly name: Identifier }
  | {
      readonly kind: 'aggregate';
      readonly items: readonly AggregateItem[];
      readonly keys: readonly AggregateItem[];
      readonly sets?: GroupBy['sets'];
    }
  | { readonly kind: 'distinct' }
  | { readonly kind: 'orderBy'; readonly items: readonly OrderItem[] }
  | { readonly kind: 'limit'; readonly limit: Expression; readonly offset?: Expression }
  /** A join, PIVOT or UNPIVOT of the input. */
  | { readonly kind: 'join'; readonly join: FromItem }
  | { readonly kind: 'setOperation'; readonly operator: SetOperator; readonly queries: readonly Query[] }
);
