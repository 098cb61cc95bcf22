import { isRange } from '../tree/types.ts';

const boundTexts: Readonly<Record<string, string>> = {
  'RANGE<DATE>': 'cast($ as varchar)',
  'RANGE<DATETIME>': 'bq_datetime_text($)',
  'RANGE<TIMESTAMP>': 'bq_timestamp_text($)',
};

/** Prints an INTERVAL or a RANGE as the text that BigQuery writes. */
export function printIntervalText(sql: string, kind: string): string {
  if (!isRange(kind)) return `bq_interval_text(${sql})`;
  const bound = (name: string) =>
    `case when isfinite((${sql}).${name}) then ${boundTexts[kind]!.replaceAll('$', `(${sql}).${name}`)} end`;
  return `(case when (${sql}) is not null then bq_range_text(${bound('s')}, ${bound('e')}) end)`;
}
