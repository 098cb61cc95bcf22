import type { Source } from '../endpoints/source.ts';
import type { CatalogTable } from '../googlesql/tree/types.ts';
import type { WireShape } from '../googlesql/tree/wire-shape.ts';
import type { SourceViews } from './files/source-views.ts';

/** The settings of all engine processes. */
export type EngineSettings = {
  /** The first of the two files of the database. */
  readonly databasePath: string;
  /** Sources that read files in place, or have types that DuckDB does not distinguish. */
  readonly sources: readonly Source[];
  /** Statements that the connection runs first. */
  readonly macros: readonly string[];
  /** Megabytes that DuckDB may use for buffers, sorts and aggregates. */
  readonly memoryLimitMb: number;
  /** Megabytes of resident memory at which the process is killed: lists and strings escape DuckDB's own limit. */
  readonly residentLimitMb: number;
  /** Megabytes that runs may leave behind; a process that keeps more is replaced. */
  readonly keptLimitMb: number;
  /** Maximum megabytes of disk to which one query may spill. */
  readonly spillLimitMb: number;
  /** Milliseconds between two heartbeats. */
  readonly aliveMs: number;
  /** Maximum bytes of one result. */
  readonly maxResultBytes: number;
};

/** The settings of one engine process. */
export type EngineArguments = EngineSettings & {
  /** Folder for data that does not fit into memory. Two processes must not share one: DuckDB gives its files the same names. */
  readonly spillDirectory: string;
};

/** A value for a statement's placeholder; `micros` is a TIMESTAMPTZ. */
export type BoundValue = { readonly placeholder: string } & (
  | { readonly text: string | readonly string[] | null }
  | { readonly micros: bigint }
);

/** A statement of one VARCHAR column, the JSON of a row; `shape` as in `CompiledStatement`, rows beyond `maxRows` are cut. */
export type EngineStatement = {
  /** Version of the catalogue for which it was compiled. Default: any. */
  readonly catalog?: string;
  readonly sql: string;
  readonly values: readonly BoundValue[];
  readonly shape?: readonly WireShape[];
  readonly maxRows: number;
  /** Whether more statements run than there are processors. Default false. */
  readonly isCrowded?: boolean;
};

/** From the gateway to the engine process. */
export type EngineCommand =
  | ({ readonly type: 'run'; readonly id: number } & EngineStatement)
  | { readonly type: 'interrupt'; readonly id: number };

/** The part that all messages at the end of a run share. */
type EndOfRun = {
  readonly id: number;
  /** Whether the run left so much memory allocated that the process should be replaced. */
  readonly isWorn: boolean;
};

/** The tables that a process reads; equal versions mean equal tables. */
export type Catalog = {
  readonly version: string;
  readonly tables: readonly CatalogTable[];
  /** Sources whose files can't be read, and why. */
  readonly problems: SourceViews['problems'];
};

/** From the engine process to the gateway. */
export type EngineReport =
  | { readonly type: 'ready'; readonly catalog: Catalog }
  /** The tables have changed. */
  | { readonly type: 'catalog'; readonly catalog: Catalog }
  /** The statement did not run, because the tables have changed since it was compiled. */
  | ({ readonly type: 'outdated' } & EndOfRun)
  /** The next part of `{"result":[…]}`; it is sent in parts so that a large one does not hold the gateway's event loop. */
  | { readonly type: 'part'; readonly id: number; readonly json: Uint8Array }
  /** The last part. */
  | ({
      readonly type: 'rows';
      readonly json: Uint8Array;
      readonly rowCount: number;
      readonly isTruncated: boolean;
    } & EndOfRun)
  | ({ readonly type: 'failed'; readonly message: string } & EndOfRun)
  /** The process has no run, and earlier ones have left so much memory allocated that it should be replaced. */
  | { readonly type: 'worn' }
  /** A heartbeat. */
  | { readonly type: 'alive' }
  /** The process is over its resident limit and asks to be killed. */
  | { readonly type: 'out of memory' };
