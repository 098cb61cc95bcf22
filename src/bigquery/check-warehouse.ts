import type { Limit } from '../engine/start-limit.ts';
import { GatewayError } from '../errors.ts';
import type { Catalog, CatalogTable } from '../googlesql/types.ts';
import { SetupError, type SetupProblem } from '../setup-error.ts';
import type { Field, JobAnswer } from './bigquery-answers.ts';
import type { BigQueryApi } from './bigquery-api.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { dryRunBody } from './job-bodies.ts';
import { columnsOf } from './render-rows.ts';
import type { Retries } from './retries.ts';
import type { TableId, TableMapping } from './table-mapping.ts';
import { accessProblem, tableProblem, type WarehousePlace } from './warehouse-problems.ts';

export type WarehouseToCheck = {
  readonly api: BigQueryApi;
  readonly place: WarehousePlace;
  readonly mapping: TableMapping;
  readonly catalog: Catalog;
};

type Waiting = { readonly limit: Limit; readonly retries: Retries };

/**
 * Says at the start what would keep every query from being answered: no credentials, a project that may not be used, or a table
 * of the mapping that is not there, may not be read, or has another shape than its source. Costs nothing: it asks by dry runs.
 * @throws SetupError with each problem, for the operator: it names tables
 */
export async function checkWarehouse(warehouse: WarehouseToCheck, waiting: Waiting): Promise<void> {
  const problems = await findProblems(warehouse, waiting);
  if (problems.length > 0) throw new SetupError("BigQuery can't be used as it is set up.", problems);
}

async function findProblems(warehouse: WarehouseToCheck, waiting: Waiting): Promise<SetupProblem[]> {
  // Without a table: what fails here would fail with each of them.
  const { failure } = await dryRun(warehouse, waiting, 'select 1');
  if (failure) return [accessProblem(failure, warehouse.place)];
  const tables = [...warehouse.mapping].map(([source, id]) => checkTable(warehouse, waiting, source, id));
  return (await Promise.all(tables)).flat();
}

async function checkTable(
  warehouse: WarehouseToCheck,
  waiting: Waiting,
  source: string,
  { project, dataset, table }: TableId,
): Promise<SetupProblem[]> {
  const name = `${project}.${dataset}.${table}`;
  // A bound that nothing reaches: tables may want one.
  const text = `select * from \`${name}\` where timestamp > timestamp '9999-12-31 00:00:00+00'`;
  const { failure, answer } = await dryRun(warehouse, waiting, text);
  if (failure) {
    const foundIn = await findRegion(warehouse, waiting, { text, failure });
    return [tableProblem(failure, { source, name, ...(foundIn === undefined ? {} : { foundIn }) })];
  }
  const query = answer?.statistics?.query;
  const read = (query?.referencedTables ?? []).map(id => `${id.projectId}.${id.datasetId}.${id.tableId}`);
  if (read.length > 0 && !read.includes(name)) {
    return [
      {
        found: `${source} is ${name}: it is a view`,
        fix: `name a table for ${source} in BIGQUERY_TABLES: of a view BigQuery names the tables behind it, which are not allowed`,
      },
    ];
  }
  return misshapen(query?.schema?.fields ?? [], warehouse.catalog.get(source)).map(problem => ({
    found: `${source} is ${name}: ${problem}`,
    fix: `give the table the columns of schema/sources.json, or correct ${source} in BIGQUERY_TABLES`,
  }));
}

/** The region of a table that is not in the one where jobs are to run: where none is said, BigQuery finds it. */
async function findRegion(
  warehouse: WarehouseToCheck,
  waiting: Waiting,
  { text, failure }: { readonly text: string; readonly failure: BigQueryFailure },
): Promise<string | undefined> {
  if (warehouse.place.location === undefined || failure.reason !== 'notFound') return undefined;
  const { answer } = await dryRun(warehouse, waiting, text, { anywhere: true });
  return answer?.jobReference?.location;
}

async function dryRun(
  { api }: WarehouseToCheck,
  { limit, retries }: Waiting,
  text: string,
  { anywhere = false } = {},
): Promise<{ failure?: BigQueryFailure; answer?: JobAnswer }> {
  const ask = () => {
    const body = dryRunBody({ text, parameters: [] });
    const { jobReference } = body;
    const sent = anywhere ? { ...body, jobReference: { ...jobReference, location: undefined } } : body;
    return api.insert(sent, limit.signal);
  };
  try {
    return { answer: await retries.renew(ask) };
  } catch (error) {
    if (error instanceof BigQueryFailure) return { failure: error };
    if (error instanceof GatewayError && error.code === 'deadline_exceeded')
      return { failure: new BigQueryFailure('noAnswer', error.message) };
    throw error;
  }
}

/** Top columns that are missing, or of another type than the source's; a server that says nothing of columns has them all. */
function misshapen(fields: readonly Field[], source: CatalogTable | undefined): string[] {
  if (fields.length === 0) return [];
  return (source?.columns ?? []).flatMap(({ name, type }) => {
    const needed = type.kind === 'ARRAY' ? `repeated ${type.element.kind}` : type.kind;
    const field = fields.find(candidate => candidate.name.toLowerCase() === name.toLowerCase());
    if (!field) return [`column ${name} is missing; needed: ${needed}`];
    const found = typeOf(field);
    return found === needed ? [] : [`column ${name} is ${found}; needed: ${needed}`];
  });
}

function typeOf(field: Field): string {
  try {
    const [column] = columnsOf([field]);
    return `${column!.mode === 'REPEATED' ? 'repeated ' : ''}${column!.type}`;
  } catch (error) {
    if (error instanceof BigQueryFailure) return `of no use (${error.message})`;
    throw error;
  }
}
