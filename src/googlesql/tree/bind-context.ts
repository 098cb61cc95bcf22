import type { SqlPosition } from '../../base/errors.ts';
import type { BoundExpression, BoundFrom, BoundQuery, BoundSubset } from './bound-tree.ts';
import { createExpressionKeys, type KeyOf } from './expression-keys.ts';
import type { Scope } from './scope.ts';
import { invalidQuery } from './sql-error.ts';
import type { CallSyntax, Expression, Pivot, Query, Unpivot, WindowSpec } from './syntax-tree.ts';
import type { Catalog, ScalarKind } from './types.ts';

/** A position at which a saved query names a base table, and the table's name in the catalogue. */
export type TableReference = {
  readonly name: string;
  readonly at: SqlPosition;
  /** The name that qualifies its columns; absent if the query gives it an alias. */
  readonly impliedAlias: string | undefined;
};

/** Types by the names of parameters. */
export type ParameterTypes = ReadonlyMap<string, ScalarKind>;

/** The parameters that a statement may use, and its dialect. */
export type Declarations = {
  readonly parameterNames: readonly string[];
  readonly arrayParameterNames: readonly string[];
  /** Types of parameters, or of their elements if they are arrays. Default: STRING. */
  readonly parameterTypes: ParameterTypes;
  /** Whether `::` casts to Postgres' names of types, which GoogleSQL refuses. */
  readonly takesPostgresCasts: boolean;
};

/** What binding one statement collects, over all its queries. */
export type StatementState = Declarations & {
  readonly functions: Set<string>;
  readonly tables: TableReference[];
  /** Subsets named in FROM, with repetitions, in the order of binding. */
  readonly subsetReads: BoundSubset[];
  /** Windows of WINDOW clauses that are used. */
  readonly usedWindows: Set<WindowSpec>;
  readonly keyOf: KeyOf;
  nextId(): number;
  /**
   * Adds to what the statement has of something.
   * @throws GatewayError `invalid_query` if that is more than the binder can handle in time, see `statementLimits`
   */
  count(what: Counted, amount: number, at: SqlPosition): void;
  /** A copy of the state for a statement that builds on this one: with its tables, ids and counts, but without functions and reads. */
  fork(): StatementState;
};

/** The tables that FROM can see: subsets by lower-case name, then those of the enclosing environment. */
export type Environment = {
  readonly subsets: Map<string, BoundSubset>;
  readonly parent?: Environment;
  /** Base tables; only the outermost environment of a saved query has them, a caller's has none. */
  readonly catalog?: Catalog;
};

/** Whether this is a caller's SQL, which can't reach any base table. */
export function isCallers(environment: Environment): boolean {
  let root = environment;
  while (root.parent) root = root.parent;
  return root.catalog === undefined;
}

/** The binding functions that others call recursively; they are connected in one place, so that files import only downwards. */
export type Binder = {
  expression(context: BindContext, syntax: Expression): BoundExpression;
  query(context: BindContext, syntax: Query): BoundQuery;
  pivot(context: BindContext, item: Pivot, input: BoundSource): BoundSource;
  unpivot(context: BindContext, item: Unpivot, input: BoundSource): BoundSource;
};

/** The context of an expression: what it can see, and what it may contain. */
export type BindContext = {
  readonly binder: Binder;
  readonly statement: StatementState;
  readonly environment: Environment;
  readonly scope: Scope;
  /** Name of the clause that allows no aggregate function: `WHERE clause`; undefined where they are allowed. */
  readonly aggregatesRefusedIn: string | undefined;
  readonly windows: ReadonlyMap<string, WindowSpec>;
  /** The input of the pipe operator that is being bound. */
  readonly input?: BoundSource;
};

/** A FROM clause, and the names it brings into scope. */
export type BoundSource = { readonly from: BoundFrom; readonly scope: Scope };

/** Binds a function for which the types of arguments are not enough: with a date part, a format or a pattern as constant text. */
export type SpecialFunction = (context: BindContext, call: CallSyntax) => BoundExpression;

/** Binds the arguments of a call by position. */
export function bindArguments(context: BindContext, call: CallSyntax): readonly BoundExpression[] {
  return call.arguments.map(argument => context.binder.expression(context, argument));
}

type Counted =
  | 'columns'
  | 'expressions'
  | 'variables'
  | 'leaves'
  | 'records'
  | 'instructions'
  | 'safeInstructions';

/** How much a statement may have of something, over all its parts, and the message for one that has more. */
const statementLimits: Readonly<Record<Counted, { limit: number; refusal: string; unit?: string }>> = {
  /** Those of SELECT lists and FROM items. */
  columns: { limit: 20_000, refusal: 'The query has too many columns in all its parts' },
  /** The longest text has 33,000, but one that is bound again at each level of nested calls multiplies without end. */
  expressions: { limit: 100_000, refusal: 'The query is too complex' },
  /** Names of WITH expressions: each is searched for in all that follows it. */
  variables: { limit: 200, refusal: 'The query has too many names in WITH expressions' },
  /** Scalars in the columns of SELECT lists, see `leavesOf`: a short text can name a wide record often. */
  leaves: { limit: 50_000, refusal: 'The query has too many columns in the records of all its parts' },
  /** `pathSteps` of the records that expressions name. */
  records: { limit: 50_000, refusal: 'The query names too many fields in records' },
  /** Those of regular expressions, see `patternSize`. */
  instructions: {
    limit: 100_000,
    refusal: 'The regular expressions of the query are too large together',
    unit: ' instructions',
  },
  /** Those in calls with SAFE, which are compiled here to see whether they are none: that takes four milliseconds for a thousand. */
  safeInstructions: {
    limit: 10_000,
    refusal: 'The regular expressions of calls with SAFE are too large together',
    unit: ' instructions',
  },
};

/** What a statement has so far, and the last of its ids. */
type Counts = Record<Counted | 'ids', number>;

const noCounts: Counts = {
  ids: 0,
  columns: 0,
  expressions: 0,
  variables: 0,
  leaves: 0,
  records: 0,
  instructions: 0,
  safeInstructions: 0,
};

export function createStatementState(
  declarations: Declarations,
  before: Counts = noCounts,
  tables: readonly TableReference[] = [],
): StatementState {
  const counts = { ...before };
  const state: StatementState = {
    ...declarations,
    functions: new Set(),
    tables: [...tables],
    subsetReads: [],
    usedWindows: new Set(),
    keyOf: createExpressionKeys(),
    nextId: () => {
      counts.ids += 1;
      return counts.ids;
    },
    count(what, amount, at) {
      counts[what] += amount;
      const { limit, refusal, unit = '' } = statementLimits[what];
      if (counts[what] > limit) throw invalidQuery(`${refusal}; the limit is ${limit}${unit}`, at);
    },
    fork: () => createStatementState(declarations, counts, state.tables),
  };
  return state;
}
