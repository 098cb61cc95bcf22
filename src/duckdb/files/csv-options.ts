import type { CsvForm } from '../../endpoints/csv-form.ts';
import { quoteText } from '../../googlesql/tree/quote-text.ts';

/** The named options of DuckDB's read_csv for a CSV dialect, each after a comma. */
export function csvOptions(csv: CsvForm = {}): string {
  const { header = true, skip = 0, strict = true, encoding, ...texts } = csv;
  const options: Record<string, string | undefined> = {
    delim: texts.delimiter,
    quote: texts.quote,
    escape: texts.escape,
    encoding: encoding === 'utf-8' ? undefined : encoding,
    decimal_separator: texts.decimal,
    thousands: texts.thousands,
    dateformat: texts.date,
    timestampformat: texts.timestamp,
  };
  const given = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`, ${name} = ${quoteText(value)}`],
  );
  // Without these, DuckDB would silently skip lines of other lengths at the beginning.
  return `, header = ${header}, skip = ${skip}, strict_mode = ${strict}${given.join('')}`;
}
