import type { ParameterType } from '../engine/engine.ts';
import type { CsvForm } from './csv-form.ts';
import type { LoadMapping } from './load-mapping.ts';

/** The type of a field: a BigQuery scalar, a record `{…}`, or `[…]` for a repeated one of either. */
export type SourceField = ParameterType | SourceFields | [ParameterType | SourceFields];
/** The type of a field that is neither a record nor repeated. */
export type ScalarType = Extract<SourceField, string>;
export type SourceFields = { readonly [name: string]: SourceField };

/** Files that the embedded engine reads in place. */
export type SourceFiles = {
  /** Absolute paths and globs. */
  readonly paths: readonly string[];
  readonly format: FileFormat;
};

export type FileFormat = 'parquet' | 'csv' | 'json';

/** A source: a table that saved queries read. */
export type Source = {
  readonly name: string;
  /** A second name for senders of events: a UUID in lower case. */
  readonly id?: string | undefined;
  readonly columns: SourceFields;
  /** By column, its name in files and in loaded rows if that differs. */
  readonly from?: Readonly<Record<string, string>> | undefined;
  /** Dotted paths of the fields that are never NULL. */
  readonly required?: readonly string[];
  /** Columns that get a UUID if a loaded row has no value for them. */
  readonly generated?: readonly string[];
  /** The table in the warehouse, `project.dataset.table`. */
  readonly table?: string | undefined;
  /** Absent for a table of the embedded database, into which rows are loaded. */
  readonly files?: SourceFiles | undefined;
  /** Column with the time of a row. */
  readonly time?: string | undefined;
  /** Dotted path of the field with the project of a row; loaded events without one get a default project. */
  readonly project?: string | undefined;
  /** Columns by which a loaded row replaces an earlier one. Default: none, and every row is kept. */
  readonly key?: readonly string[] | undefined;
  /** Days after which loaded rows are removed, by `time`. */
  readonly retentionDays?: number | undefined;
  /** Maximum megabytes of its rows, as stored in one of the two files; the oldest rows beyond that are removed. */
  readonly retentionMb?: number | undefined;
  /** The dialect of its CSV files. Default: detected in them. */
  readonly csv?: CsvForm | undefined;
  /** How loaded rows become rows of this source. */
  readonly load?: LoadMapping | undefined;
};

/** The column for a name in a file. */
export function columnOf({ from = {} }: Pick<Source, 'from'>, name: string): string {
  return Object.keys(from).find(column => from[column] === name) ?? name;
}
