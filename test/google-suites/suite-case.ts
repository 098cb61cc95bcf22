import type { SmallTable, TableRow } from '../oracle/small-tables.ts';
import type { WireColumn, WireValue } from '../oracle/wire-values.ts';

/** The column of a value table, to which the compliance tests give no name: they cannot tell what BigQuery calls it. */
export const anyName = '';

/** What a suite says about a query. */
export type Expected =
  /** Typed rows, as the compliance tests write them. */
  | {
      readonly kind: 'rows';
      readonly columns: readonly WireColumn[];
      readonly rows: readonly (readonly WireValue[])[];
      readonly isOrdered: boolean;
      /** An array within a row has no order that counts. */
      readonly hasUnorderedArrays: boolean;
    }
  /** A result table drawn in a page of the documentation: names and cells as texts. */
  | {
      readonly kind: 'table';
      readonly names: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'error'; readonly message: string };

/** A table that queries of a suite read. */
export type SuiteTable = SmallTable & {
  readonly rows: readonly TableRow[];
  /** Columns that the embedded engine can't store. */
  readonly lost: readonly string[];
  /** The query that makes it, for the reference implementation. */
  readonly sql: string;
};

export type SuiteCase = {
  /** File and line. */
  readonly at: string;
  readonly sql: string;
  readonly expected: Expected;
  readonly tables: readonly SuiteTable[];
  /** Why the case is left out, for example that BigQuery lacks the feature. */
  readonly skipped?: string;
  /** It reads times without a zone, which the suite takes to be in another one than UTC. */
  readonly isOfOtherZone?: boolean;
  /** The suite says that another order of rows may give another answer. */
  readonly isUnsteady?: boolean;
};
