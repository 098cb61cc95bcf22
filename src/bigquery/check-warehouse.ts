import { GatewayError } from '../base/errors.ts';
import { SetupError, type SetupProblem } from '../base/setup-error.ts';
import type { Limit } from '../base/time-limit.ts';
import type { TableId } from '../endpoints/table-id.ts';
import type { Catalog, CatalogTable, SqlType } from '../googlesql/tree/types.ts';
import type { Field, JobAnswer } from './answers/bigquery-answers.ts';
import { BigQueryFailure } from './answers/bigquery-failure.ts';
import { columnsOf } from './answers/render-value.ts';
import type { BigQueryApi } from './client/bigquery-api.ts';
import type { Retries } from './client/retries.ts';
import type { TableMapping } from './client/table-mapping.ts';
import { dryRunBody } from './job-bodies.ts';
import { layoutAdvice } from './table-layout.ts';
import { accessProblem, tableProblem, type WarehousePlace } from './warehouse-problems.ts';

export type WarehouseToCheck = {
  readonly api: BigQueryApi;
  readonly place: WarehousePlace;
  readonly mapping: TableMapping;
  readonly catalog: Catalog;
};

/** The deadline of a check, and the function that starts the retries of one of its requests. */
type Waiting = { readonly limit: Limit; readonly startRetries: () => Retries };

/** The findings about one table. */
type TableFinding = {
  /** Why no query can read it. */
  readonly problems: readonly SetupProblem[];
  /** Columns that differ from the source's: only queries that read them fail. */
  readonly misshapen: readonly SetupProblem[];
  /** Whether any column matches the source. */
  readonly isUsable: boolean;
};

/** Asks `tables.get`, which is free, for each table's layout, and advises on cheaper ones. */
export async function adviseOnLayouts(
  { api, mapping, catalog }: WarehouseToCheck,
  { limit, startRetries }: Waiting,
): Promise<readonly SetupProblem[]> {
  const advice = [...mapping].map(async ([source, id]) => {
    const name = `${id.project}.${id.dataset}.${id.table}`;
    try {
      const table = await startRetries().newRequest(() => api.table(id, limit.signal));
      return layoutAdvice(table, catalog.get(source)!, name);
    } catch (error) {
      const found = `${source} is ${name}: how it is laid out can't be looked at: ${failureOf(error).message}`;
      return [{ found, fix: `grant the credentials roles/bigquery.dataViewer on ${name}` }];
    }
  });
  return (await Promise.all(advice)).flat();
}

/**
 * Finds at start what would make queries fail: missing credentials, a project that may not be used, or a mapped table that is
 * missing, may not be read, or has another shape than its source. It costs nothing, because it uses dry runs.
 * @param isThorough whether a single unreadable table is an error. Default false: one readable table is enough
 * @returns problems that fail only some queries: such tables, and columns that are missing or of another type, as in tables of a new project
 * @throws SetupError with each problem, for the operator: it names tables
 */
export async function checkWarehouse(
  warehouse: WarehouseToCheck,
  waiting: Waiting,
  { isThorough = false }: { readonly isThorough?: boolean } = {},
): Promise<readonly SetupProblem[]> {
  // First without a table: a failure here would recur for each table.
  const { failure } = await dryRun(warehouse, waiting, 'select 1');
  if (failure) throw unusable([accessProblem(failure, warehouse.place)]);
  const findings = await Promise.all(
    [...warehouse.mapping].map(([source, id]) => checkTable(warehouse, waiting, source, id)),
  );
  const problems = findings.flatMap(finding => finding.problems);
  const found = [...problems, ...findings.flatMap(finding => finding.misshapen)];
  const isUsable = findings.some(finding => finding.isUsable);
  if ((isThorough && problems.length > 0) || (found.length > 0 && !isUsable)) throw unusable(found);
  return found;
}

function unusable(problems: readonly SetupProblem[]): SetupError {
  return new SetupError("BigQuery can't be used as it is set up.", problems);
}

async function checkTable(
  warehouse: WarehouseToCheck,
  waiting: Waiting,
  source: string,
  { project, dataset, table }: TableId,
): Promise<TableFinding> {
  const name = `${project}.${dataset}.${table}`;
  const wrong = (problem: SetupProblem) => ({ problems: [problem], misshapen: [], isUsable: false });
  const { text, failure, answer } = await readNothing(warehouse, waiting, name);
  if (failure) {
    const foundIn = await findRegion(warehouse, waiting, { text, failure });
    return wrong(tableProblem(failure, { source, name, ...(foundIn === undefined ? {} : { foundIn }) }));
  }
  const query = answer?.statistics?.query;
  const read = (query?.referencedTables ?? []).map(id => `${id.projectId}.${id.datasetId}.${id.tableId}`);
  if (read.length > 0 && !read.includes(name)) {
    return wrong({
      found: `${source} is ${name}: it is a view`,
      fix: `name a table for ${source} in BIGQUERY_TABLES: of a view BigQuery names the tables behind it, which are not allowed`,
    });
  }
  const columns = warehouse.catalog.get(source)?.columns ?? [];
  const found = misshapen(query?.schema?.fields ?? [], columns);
  return {
    problems: [],
    misshapen: found.differences.map(difference => ({
      found: `${source} is ${name}: ${difference}`,
      fix: `give the table the columns of ${source}.yaml in SOURCES_DIR, or correct ${source} in BIGQUERY_TABLES; until then, queries that read it fail`,
    })),
    isUsable: found.isUsable,
  };
}

/** Asks for all columns of a table and for no rows. */
async function readNothing(warehouse: WarehouseToCheck, waiting: Waiting, name: string) {
  const all = `select * from \`${name}\``;
  // With a filter that no row passes, because tables may require one.
  const bounded = `${all} where timestamp > timestamp '9999-12-31 00:00:00+00'`;
  const first = await dryRun(warehouse, waiting, bounded);
  // Refused as invalid if the table has no such column, or one of another type.
  if (first.failure?.reason !== 'invalidQuery') return { text: bounded, ...first };
  const second = await dryRun(warehouse, waiting, all);
  // The table exists, and requires a filter over another column: its columns stay unknown.
  if (second.failure?.message.includes('without a filter over column')) return { text: all };
  return { text: all, ...second };
}

/** The region of a table outside the jobs' own region; if none is set, BigQuery finds it. */
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
  { limit, startRetries }: Waiting,
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
    return { answer: await startRetries().newRequest(ask) };
  } catch (error) {
    return { failure: failureOf(error) };
  }
}

/** The failure of the warehouse behind an error; a missed deadline counts as no answer. @throws any other error */
function failureOf(error: unknown): BigQueryFailure {
  if (error instanceof BigQueryFailure) return error;
  if (error instanceof GatewayError && error.code === 'deadline_exceeded') {
    return new BigQueryFailure('noAnswer', error.message);
  }
  throw error;
}

/** Maximum fields that one line names. */
const maxNamed = 5;

/**
 * The source's columns that are missing or of another type: a line for each top-level column, and one for all fields of
 * records. If a server does not list columns, none counts as missing.
 */
function misshapen(
  fields: readonly Field[],
  columns: CatalogTable['columns'],
): { readonly differences: readonly string[]; readonly isUsable: boolean } {
  if (fields.length === 0) return { differences: [], isUsable: true };
  const onTop = columns.flatMap(({ name, type }) => {
    const field = fieldNamed(fields, name);
    const needed = neededType(type);
    if (!field) return [`column ${name} is missing; needed: ${needed}`];
    const found = typeOf(field);
    return found === needed ? [] : [`column ${name} is ${found}; needed: ${needed}`];
  });
  const within = columns.flatMap(({ name, type }) => missingWithin(type, fieldNamed(fields, name), name));
  const more = within.length > maxNamed ? ` and ${within.length - maxNamed} more` : '';
  const inside =
    within.length > 0 ? [`fields are missing: ${within.slice(0, maxNamed).join(', ')}${more}`] : [];
  return { differences: [...onTop, ...inside], isUsable: onTop.length < columns.length };
}

/** Paths of the fields that a record lacks. */
function missingWithin(type: SqlType, field: Field | undefined, path: string): string[] {
  const record = type.kind === 'ARRAY' ? type.element : type;
  if (record.kind !== 'STRUCT' || !field?.fields) return [];
  const { fields } = field;
  return record.fields.flatMap(({ name, type: inner }) => {
    const own = fieldNamed(fields, name);
    return own ? missingWithin(inner, own, `${path}.${name}`) : [`${path}.${name}`];
  });
}

function neededType(type: SqlType): string {
  return type.kind === 'ARRAY' ? `repeated ${type.element.kind}` : type.kind;
}

function fieldNamed(fields: readonly Field[], name: string): Field | undefined {
  return fields.find(field => field.name.toLowerCase() === name.toLowerCase());
}

function typeOf(field: Field): string {
  try {
    const [column] = columnsOf([field]);
    return `${column!.mode === 'REPEATED' ? 'repeated ' : ''}${column!.type}`;
  } catch (error) {
    if (error instanceof GatewayError) return `of no use (${error.message})`;
    throw error;
  }
}
