import type { Limit } from '../engine/start-limit.ts';
import { GatewayError } from '../errors.ts';
import type { Catalog, CatalogTable } from '../googlesql/types.ts';
import type { Field } from './bigquery-answers.ts';
import type { BigQueryApi } from './bigquery-api.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import { dryRunBody } from './job-bodies.ts';
import { columnsOf } from './render-rows.ts';
import type { Retries } from './retries.ts';
import type { TableMapping } from './table-mapping.ts';

export type WarehouseToCheck = {
  readonly api: BigQueryApi;
  readonly mapping: TableMapping;
  readonly catalog: Catalog;
};

/**
 * Says at the start what would keep every query from being answered: no credentials, or a table of the mapping that is not
 * there, may not be read, or has another shape than its source. Costs nothing: it asks by dry runs.
 * @throws Error with a line for each problem, for the operator: it names tables
 */
export async function checkWarehouse(
  { api, mapping, catalog }: WarehouseToCheck,
  { limit, retries }: { readonly limit: Limit; readonly retries: Retries },
): Promise<void> {
  await api.checkCredentials(limit.signal);
  const problems = await Promise.all(
    [...mapping].map(async ([source, { project, dataset, table }]) => {
      const name = `${project}.${dataset}.${table}`;
      // A bound that nothing reaches: tables may want one.
      const text = `select * from \`${name}\` where timestamp > timestamp '9999-12-31 00:00:00+00'`;
      const found = await retries
        .renew(() => api.insert(dryRunBody({ text, parameters: [] }), limit.signal))
        .then(({ statistics }) => misshapen(statistics?.query?.schema?.fields ?? [], catalog.get(source)))
        .catch(problemOf);
      return found.map(problem => `${source} is ${name}: ${problem}`);
    }),
  );
  const lines = problems.flat();
  if (lines.length > 0)
    throw new Error(`The warehouse can't be used with BIGQUERY_TABLES.\n${lines.join('\n')}`);
}

function problemOf(error: unknown): string[] {
  if (error instanceof BigQueryFailure || error instanceof GatewayError) return [error.message];
  throw error;
}

/** Columns of another type than the source's. What a table lacks shows when the saved queries are checked. */
function misshapen(fields: readonly Field[], source: CatalogTable | undefined): string[] {
  return (source?.columns ?? []).flatMap(({ name, type }) => {
    const field = fields.find(candidate => candidate.name.toLowerCase() === name.toLowerCase());
    if (!field) return [];
    const [column] = columnsOf([field]);
    const found = `${column!.mode === 'REPEATED' ? 'repeated ' : ''}${column!.type}`;
    const needed = type.kind === 'ARRAY' ? `repeated ${type.element.kind}` : type.kind;
    return found === needed ? [] : [`column ${name} is ${found}; needed: ${needed}`];
  });
}
