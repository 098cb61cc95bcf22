import { type DuckDBConnection, type DuckDBType, DuckDBTypeId } from '@duckdb/node-api';
import type { CsvForm } from '../../endpoints/csv-form.ts';
import { quoteName, quoteText } from '../../googlesql/tree/quote-text.ts';

/** The columns of a CSV file as DuckDB types them. */
export type TypedTable = {
  /** SQL that selects all values as text. */
  readonly asText: string;
  readonly columns: readonly { readonly name: string; readonly type: DuckDBType }[];
};

/** Numbers that DuckDB recognises only if it is told how they are written. */
type NumberForm = { readonly csv: CsvForm; readonly types: Readonly<Record<string, 'BIGINT' | 'DOUBLE'>> };

/**
 * Finds numbers that were taken for text because they are written with decimal commas, or in groups of three digits.
 * @returns undefined if there are none, or the columns disagree
 */
export async function findNumberForm(
  connection: DuckDBConnection,
  { asText, columns }: TypedTable,
  { delimiter = ',' }: CsvForm,
): Promise<NumberForm | undefined> {
  const isOf = (typeId: DuckDBTypeId) => columns.filter(({ type }) => type.typeId === typeId);
  const [texts, floats] = [isOf(DuckDBTypeId.VARCHAR), isOf(DuckDBTypeId.DOUBLE)];
  if (texts.length === 0) return undefined;
  const [decimal, thousands] = delimiter === ',' ? (['.', ','] as const) : ([',', '.'] as const);
  const group = `[0-9]{1,3}([${thousands}][0-9]{3})+`;
  const whole = `[+-]?(${group}|[0-9]+)`;
  const looked = [...texts, ...floats].map(({ name }) => {
    const text = `trim(${quoteName(name)})`;
    const all = (pattern: string) => `bool_and(regexp_full_match(${text}, '${pattern}'))`;
    const isGrouped = `bool_or(regexp_full_match(${text}, '[+-]?${group}([${decimal}][0-9]+)?'))`;
    return `{fits: ${all(`${whole}([${decimal}][0-9]+)?`)}, whole: ${all(whole)}, grouped: ${isGrouped}, comma: bool_or(contains(${text}, ','))}`;
  });
  const read = await connection.runAndReadAll(`SELECT ${looked.join(', ')} FROM ${asText}`);
  type Facts = Readonly<Record<'fits' | 'whole' | 'grouped' | 'comma', boolean | null>>;
  const facts = (read.getRowsJS()[0] ?? []) as unknown as readonly Facts[]; // as selected
  const named = [...texts, ...floats].map(({ name }, at) => ({ name, ...facts[at]! }));
  const numbers = named.slice(0, texts.length).filter(({ fits, comma }) => fits && comma);
  const pointed = decimal === ',' ? named.slice(texts.length) : [];
  // If another column has decimal points, values with commas are not numbers.
  if (numbers.length === 0 || pointed.some(({ fits }) => !fits)) return undefined;
  const all = [...numbers, ...pointed];
  return {
    csv: {
      ...(decimal === ',' && { decimal }),
      ...(all.some(({ grouped }) => grouped) && { thousands }),
    },
    types: Object.fromEntries(all.map(({ name, whole: isWhole }) => [name, isWhole ? 'BIGINT' : 'DOUBLE'])),
  };
}

const days = ['%d.%m.%Y', '%d/%m/%Y', '%m/%d/%Y', '%d-%m-%Y', '%m-%d-%Y'];
const hours = ['%H:%M', '%H:%M:%S', '%I:%M %p', '%I:%M:%S %p'];

/** Rows from which a form of times is guessed; DuckDB then checks all rows against it. */
const sampleRows = 1000;

/** Finds a form of times that DuckDB itself does not try, such as one without seconds. */
export async function findTimeForm(
  connection: DuckDBConnection,
  { asText, columns }: TypedTable,
): Promise<CsvForm | undefined> {
  const texts = columns.filter(({ type }) => type.typeId === DuckDBTypeId.VARCHAR);
  if (texts.length === 0 || columns.some(({ type }) => type.typeId === DuckDBTypeId.TIMESTAMP))
    return undefined;
  const forms = days.flatMap(day => hours.map(hour => `${day} ${hour}`));
  const list = forms.map(form => `${fits('x', form)} AS ${quoteName(form)}`);
  for (const { name } of texts) {
    const values = `SELECT ${quoteName(name)} AS x FROM ${asText} WHERE ${quoteName(name)} IS NOT NULL LIMIT ${sampleRows}`;
    const [row] = (await connection.runAndReadAll(`SELECT ${list.join(', ')} FROM (${values})`)).getRows();
    const timestamp = forms.find((_, at) => row?.[at] === true);
    if (timestamp !== undefined) return { timestamp };
  }
  return undefined;
}

/** Other forms that also fit all dates or times, with day and month in the other order. */
export async function findOtherForms(
  connection: DuckDBConnection,
  { asText, columns }: TypedTable,
  csv: CsvForm,
): Promise<CsvForm> {
  const other: { date?: string; timestamp?: string } = {};
  const kinds = { date: DuckDBTypeId.DATE, timestamp: DuckDBTypeId.TIMESTAMP } as const;
  for (const kind of ['date', 'timestamp'] as const) {
    const form = csv[kind];
    const read = columns.filter(({ type }) => type.typeId === kinds[kind]);
    // Dates with points always have the day before the month.
    if (form === undefined || read.length === 0 || !/%[dm][/-]%[dm]/.test(form)) continue;
    const swapped = form.replace(/%[dm]/g, part => (part === '%d' ? '%m' : '%d'));
    const facts = read.map(({ name }) => fits(quoteName(name), swapped));
    const [row] = (await connection.runAndReadAll(`SELECT ${facts.join(', ')} FROM ${asText}`)).getRows();
    if (row?.every(fact => fact !== false)) other[kind] = swapped;
  }
  return other;
}

const fits = (column: string, form: string) =>
  `bool_and(try_strptime(${column}, ${quoteText(form)}) IS NOT NULL OR ${column} IS NULL)`;
