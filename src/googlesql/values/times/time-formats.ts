import type { EngineFunctions } from '../engine-function.ts';
import { formatTime } from './format-time.ts';
import { parseTime } from './parse-time.ts';

/** FORMAT_… and PARSE_… with elements that DuckDB's formats lack or treat differently. Times are microseconds of the wall clock. */
export const timeFormats: EngineFunctions = {
  /** @param ahead seconds by which the wall clock is ahead of UTC */
  'bq_format_time(STRING, STRING, INT64, INT64) STRING': (
    format: string,
    kind: string,
    at: bigint,
    ahead: bigint,
  ) => formatTime(format, { kind, at, ahead }),
  'bq_parsed_time(STRING, STRING, STRING) INT64': (format: string, text: string, kind: string) =>
    parseTime(format, text, kind).at,
  /** The zone of the result of `bq_parsed_time`, if the text has one. */
  'bq_parsed_zone(STRING, STRING) STRING': (format: string, text: string) =>
    parseTime(format, text, 'TIMESTAMP').zone ?? null,
};
