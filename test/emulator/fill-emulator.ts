import type { SourceField } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { SourceRows } from './emulator-rows.ts';
import type { Emulator } from './start-emulator.ts';

/** Where the tables go. */
export type WarehousePlace = {
  readonly project: string;
  readonly dataset: string;
  /** Table by source. */
  readonly tables: ReadonlyMap<string, string>;
};

/** Rows of one INSERT. */
const batchRows = 20;

/**
 * Makes the dataset and its tables, with the columns of the sources, and inserts the rows: by BigQuery's REST and, for
 * the reasons in `emulator-manners.test.ts`, by SQL where tables.insert and tabledata.insertAll would do.
 */
export async function fillEmulator(
  emulator: Emulator,
  { project, dataset, tables }: WarehousePlace,
  rows: SourceRows,
): Promise<void> {
  const datasetReference = { projectId: project, datasetId: dataset };
  await emulator.post(`/projects/${project}/datasets`, { datasetReference });
  const run = (query: string) =>
    emulator.post(`/projects/${project}/queries`, { query, useLegacySql: false });
  for (const { name, columns } of readSources()) {
    const table = `\`${project}.${dataset}.${tables.get(name)}\``;
    const fields = Object.entries(columns);
    const declared = fields.map(([column, field]) => `\`${column}\` ${typeOf(field)}`);
    await run(`create table ${table} (${declared.join(', ')})`);
    const all = rows.get(name) ?? [];
    for (let from = 0; from < all.length; from += batchRows) {
      const values = all.slice(from, from + batchRows).map(row => {
        return `(${fields.map(([column, field]) => literalOf(field, row[column])).join(', ')})`;
      });
      const names = fields.map(([column]) => `\`${column}\``);
      await run(`insert into ${table} (${names.join(', ')}) values ${values.join(', ')}`);
    }
  }
}

const fieldsOf = (record: object) => Object.entries(record).filter(([name]) => name !== 'limit');

function typeOf(field: SourceField): string {
  if (typeof field === 'string') return field;
  if (Array.isArray(field)) return `array<${typeOf(field[0])}>`;
  const fields = fieldsOf(field).map(([name, inner]) => `\`${name}\` ${typeOf(inner)}`);
  return `struct<${fields.join(', ')}>`;
}

/** A value of `normaliseRow`, in SQL. Every array says its type: GoogleSQL converts no array to another type. */
function literalOf(field: SourceField, value: unknown): string {
  if (Array.isArray(field)) {
    const [element] = field;
    // normaliseRow makes an array for every repeated field, and an object for every record.
    const elements = (value as unknown[]).map(each => {
      if (typeof element === 'string') return literalOf(element, each);
      const record = each as Record<string, unknown>;
      return `struct(${fieldsOf(element)
        .map(([name, inner]) => literalOf(inner, record[name]))
        .join(', ')})`;
    });
    return `${typeOf(field)}[${elements.join(', ')}]`;
  }
  if (value === null) return 'null';
  if (field === 'STRING') return JSON.stringify(value);
  return field === 'TIMESTAMP' ? `timestamp '${value}'` : String(value);
}
