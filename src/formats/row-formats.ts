/** A format in which rows can be requested. */
export type RowFormat = 'json' | 'ndjson' | 'csv' | 'parquet' | 'arrow';

type FormatFacts = {
  /** The Content-Type of an answer. */
  readonly contentType: string;
  /** Media types in `Accept` that request it, in lower case. */
  readonly mediaTypes: readonly string[];
  /** Whether a content encoding makes it smaller. */
  readonly isCompressible: boolean;
};

/**
 * All formats, in our order of preference.
 * Source of the media types: IANA's registry; NDJSON has none registered.
 */
export const rowFormats: Record<RowFormat, FormatFacts> = {
  json: {
    contentType: 'application/json; charset=utf-8',
    mediaTypes: ['application/json'],
    isCompressible: true,
  },
  ndjson: {
    contentType: 'application/x-ndjson; charset=utf-8',
    mediaTypes: ['application/x-ndjson', 'application/ndjson', 'application/jsonl'],
    isCompressible: true,
  },
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    mediaTypes: ['text/csv'],
    isCompressible: true,
  },
  parquet: {
    contentType: 'application/vnd.apache.parquet',
    mediaTypes: ['application/vnd.apache.parquet'],
    isCompressible: false,
  },
  arrow: {
    contentType: 'application/vnd.apache.arrow.stream',
    mediaTypes: ['application/vnd.apache.arrow.stream'],
    isCompressible: true,
  },
};

/** The names that `?format=` takes. */
export const formatNames = Object.keys(rowFormats) as RowFormat[]; // its keys are these
