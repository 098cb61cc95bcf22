import { isRange } from '../tree/types.ts';

type BoundTexts = Readonly<Record<string, string>>;

/** The bounds of a RANGE as casts to STRING write them. */
const castTexts: BoundTexts = {
  'RANGE<DATE>': 'cast($ as varchar)',
  'RANGE<DATETIME>': 'bq_datetime_text($)',
  'RANGE<TIMESTAMP>': 'bq_timestamp_text($)',
};

/** The bounds in an answer, where BigQuery writes each as a value of its type: contract 2.12. */
const wireTexts: BoundTexts = {
  'RANGE<DATE>': 'bq_wire_date($)',
  'RANGE<DATETIME>': 'bq_wire_datetime($)',
  'RANGE<TIMESTAMP>': 'cast(bq_wire_timestamp($) as varchar)',
};

/** Prints the cast of an INTERVAL or a RANGE to STRING. */
export function printIntervalText(sql: string, kind: string): string {
  return print(sql, kind, castTexts);
}

/** Prints an INTERVAL or a RANGE as the text that an answer of BigQuery has for it. */
export function printWireInterval(sql: string, kind: string): string {
  return print(sql, kind, wireTexts);
}

function print(sql: string, kind: string, boundTexts: BoundTexts): string {
  if (!isRange(kind)) return `bq_interval_text(${sql})`;
  const bound = (name: string) =>
    `case when isfinite((${sql}).${name}) then ${boundTexts[kind]!.replaceAll('$', `(${sql}).${name}`)} end`;
  return `(case when (${sql}) is not null then bq_range_text(${bound('s')}, ${bound('e')}) end)`;
}
