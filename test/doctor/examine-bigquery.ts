import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { runDoctor } from '../../src/doctor.ts';
import { readSources, type SourceField, type SourceFields } from '../../src/duckdb/sources.ts';
import { bigqueryEnvironment, sourceTables } from '../bigquery/bigquery-environment.ts';
import { openWarehouse } from '../bigquery/scripted-warehouse.ts';
import type { Asked, Deed, Interference } from '../bigquery/warehouse-wire.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Has the doctor look at a gateway over BigQuery. */
export async function examine(environment: Record<string, string>) {
  const directory = await temporaryDirectory();
  const config = readConfig({ DATA_DIR: directory, ACCESS_TOKEN: 'one', ...environment });
  const lines: string[] = [];
  const clock = { now: () => Date.parse('2026-01-15T12:00:00Z') };
  const isAllFine = await runDoctor(config, { clock, say: line => lines.push(line) });
  return { isAllFine, lines: lines.slice(2) };
}

type TableSchema = {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  fields?: TableSchema[];
};

/** The columns of a source as BigQuery writes them, with its older names of types. */
export function schemaOf(fields: SourceFields): TableSchema[] {
  return Object.entries(fields).map(([name, field]) => toField(name, field));
}

function toField(name: string, field: SourceField): TableSchema {
  if (!Array.isArray(field)) return { name, type: field === 'INT64' ? 'INTEGER' : String(field) };
  const [element] = field;
  if (typeof element === 'string') return { name, type: element, mode: 'REPEATED' };
  return { name, type: 'RECORD', mode: 'REPEATED', fields: schemaOf(element) };
}

const sources = readSources();

/** The SQL of a dry run. */
export function textOf({ body }: Asked): string {
  return body?.configuration?.query.query ?? '';
}

/** The answer to a dry run over one table, with this schema. */
export function dryRunOf(table: string, fields: readonly TableSchema[], location = 'EU'): Deed {
  const query = { statementType: 'SELECT', referencedTables: [tableReference(table)], schema: { fields } };
  return { json: { jobReference: { jobId: 'j', location }, statistics: { query } } };
}

/** What BigQuery says of tables and queries that are as they should be. */
export const asTheyShouldBe: Interference = asked => {
  const text = textOf(asked);
  const at = sourceTables.findIndex(([, table]) => text.startsWith(`select * from \`${table}\``));
  return at < 0 ? fineQuery(text) : dryRunOf(sourceTables[at]![1], schemaOf(sources[at]!.columns));
};

function fineQuery(text: string): Deed {
  const tables = sourceTables.map(([, table]) => table).filter(table => text.includes(table));
  const query = { statementType: 'SELECT', referencedTables: tables.map(tableReference) };
  return { json: { statistics: { totalBytesProcessed: '77', query } } };
}

function tableReference(table: string): object {
  const [projectId, datasetId, tableId] = table.split('.');
  return { projectId, datasetId, tableId };
}

/** Has the doctor look at a gateway over a server that does as the rule says, and is fine where it says nothing. */
export async function examineOver(rule: Interference, environment: Record<string, string> = {}) {
  const warehouse = await openWarehouse({});
  onTestFinished(warehouse.close);
  warehouse.interfere(asked => rule(asked) ?? asTheyShouldBe(asked));
  return examine({ ...bigqueryEnvironment(warehouse.url), ...environment });
}
