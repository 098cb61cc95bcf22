import type { Column, ColumnType, ResultSet } from '../base/rows.ts';
import type { JoinedCallers } from '../base/turns.ts';

/**
 * A typed value bound to a named query parameter, in the text form of BigQuery's REST API: an integer's digits, a date
 * such as `2026-01-15`, bytes in base64. A list is an ARRAY of the type, and is never NULL.
 */
export type QueryParameter = {
  readonly name: string;
  readonly value: string | readonly string[] | null;
  /** Default STRING. */
  readonly type?: ParameterType;
};

export type ParameterType = Exclude<ColumnType, 'STRUCT'>;

/** How far apart the two time parameters of an endpoint may be. */
export type Window = {
  /** Name of the parameter that is the lower bound. */
  readonly start: string;
  /** Name of the parameter that is the upper bound. */
  readonly end: string;
  /** How far before the upper bound the window begins if there is no lower one. */
  readonly default: Duration;
  readonly max: Duration;
};

/** A length of time; `text` as the header writes it. */
export type Duration = { readonly text: string; readonly ms: number };

/** One saved query with its bound values, or a caller's SQL over that saved query's subsets. */
export type Statement = {
  /** Name of the endpoint, for events and labels. */
  readonly endpoint: string;
  /** The saved query in BigQuery SQL. */
  readonly sql: string;
  /** Replaces the saved query's final statement; may read nothing but its subsets (contract 4.1, 4.5). */
  readonly callerSql?: string;
  readonly parameters: readonly QueryParameter[];
  /** Maximum rows of the result; the engine cuts off the rest. */
  readonly maxRows: number;
  /** The bounds of its time parameters: see `enforceWindows`. An adapter never sees it. */
  readonly window?: Window;
};

export type RunOptions = {
  /** Aborted when no caller waits for the answer any more: the query is interrupted. */
  readonly signal: AbortSignal;
  /** Milliseconds the query may take, counted from the call. */
  readonly timeoutMs: number;
  /**
   * The id of the caller's access token: permits and waiting places are shared fairly among callers. Default: one common caller
   * without a name.
   */
  readonly caller?: string;
  /** All callers who wait for the same run, including those who join later. Default: the caller alone. */
  readonly joined?: JoinedCallers | undefined;
  /** `background`: no caller waits for it, and callers' queries run first. Default `interactive`. */
  readonly priority?: QueryPriority;
  /** Arbitrary names and values that a warehouse stores with the query, as far as it can, for its owner's accounting. Default: none. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A query that would be billed more bytes is refused, if the engine bills at all. Default: no limit. */
  readonly maxBytesBilled?: number;
};

export type QueryPriority = 'interactive' | 'background';

/** A common table expression of a saved query, which a caller's SQL can read. */
export type Subset = { readonly name: string; readonly columns: readonly Column[] };

/** What an engine knows about a statement without running it. */
export type Explanation = {
  readonly columns: readonly Column[];
  /** Names of the sources that it reads, as the saved query spells them. */
  readonly sources: readonly string[];
  /** Bytes that it would read; absent if the engine does not count them. */
  readonly estimatedBytes?: number;
};

/** The executor port: BigQuery in production, DuckDB embedded. */
export type Engine = {
  /**
   * Runs one statement.
   * @throws GatewayError `invalid_query`, `sandbox_refused`, `engine_failed`, `overloaded`, `too_many_requests`,
   * `deadline_exceeded`, `cancelled`, `unavailable`
   */
  run(statement: Statement, options: RunOptions): Promise<ResultSet>;
  /**
   * Resolves every name and type of a statement without running it.
   * @throws GatewayError `invalid_query` with line and column
   */
  describe(statement: Pick<Statement, 'sql' | 'parameters'>): Promise<readonly Column[]>;
  /**
   * The subsets of a saved query, in the order of its text.
   * @throws as `describe`
   */
  subsets(statement: Pick<Statement, 'sql' | 'parameters'>): Promise<readonly Subset[]>;
  /** Changes when the tables of the sources change, and with them the result of `subsets`. */
  tablesVersion(): Promise<string>;
  /**
   * Resolves every name and type of a caller's SQL by the front-end alone, without asking a warehouse.
   * @throws GatewayError `invalid_query`, `sandbox_refused`, with line and column; `overloaded`, `too_many_requests`
   */
  check(
    statement: Pick<Statement, 'sql' | 'callerSql' | 'parameters'>,
    options: Pick<RunOptions, 'signal' | 'caller'>,
  ): Promise<readonly Column[]>;
  /**
   * Checks a statement as `run` would, and returns what it would read (contract 4.10: the dry run).
   * @throws as `run`
   */
  explain(statement: Statement, options: RunOptions): Promise<Explanation>;
  /** Its current use of resources, for the metrics. */
  usage(): EngineUsage;
  close(): Promise<void>;
};

export type EngineUsage = {
  /** Queries that wait for their turn. */
  readonly waiting: number;
  /** Resident memory of its child processes. */
  readonly memoryBytes: number;
};
