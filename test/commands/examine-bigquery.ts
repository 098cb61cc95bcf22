import { onTestFinished } from 'vitest';
import { runDoctor } from '../../src/commands/doctor.ts';
import { readConfig } from '../../src/composition/config.ts';
import type { SourceField, SourceFields } from '../../src/endpoints/source.ts';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { openWarehouse } from '../bigquery/scripted-warehouse.ts';
import type { Asked, Interference } from '../bigquery/warehouse-http.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Has the doctor look at a gateway over BigQuery. */
export async function examine(environment: Record<string, string>) {
  const directory = await temporaryDirectory();
  const config = readConfig({ DATA_DIR: directory, ACCESS_TOKEN: 'one', ...environment });
  const lines: string[] = [];
  const clock = createStandingClock();
  const isAllFine = await runDoctor(config, { clock, print: line => lines.push(line) });
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

/** The SQL of a dry run. */
export function textOf({ body }: Asked): string {
  return body?.configuration?.query.query ?? '';
}

/** Has the doctor look at a gateway over a server that does as the rule says, and is fine where it says nothing. */
export async function examineOver(rule: Interference, environment: Record<string, string> = {}) {
  const warehouse = await openWarehouse({});
  onTestFinished(warehouse.close);
  warehouse.interfere(rule);
  return examine({ ...bigqueryEnvironment(warehouse.url), ...environment });
}
