import { GatewayError } from '../../src/base/errors.ts';
import { sourceCatalog } from '../../src/bigquery/source-catalog.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { declarationsOf } from '../../src/engine/parameter-types.ts';
import { bindStatement } from '../../src/googlesql/binder/bind-statement.ts';
import { resultColumns } from '../../src/googlesql/binder/result-columns.ts';
import { sourceTables } from './bigquery-environment.ts';
import { dryRunJob } from './bigquery-resources.ts';
import { type Asked, type Deed, refusal } from './warehouse-http.ts';
import { readParameters, toField } from './warehouse-rows.ts';

const catalog = sourceCatalog(readSources());

/** Sources by their tables; the last one is that of tests with a single table. */
const sourceOf = new Map<string, string>([
  ...sourceTables.map(([source, table]) => [table, source] as const),
  ['acme-prod.logs.edge', 'cloudflare.logs.prod'],
]);

/** Bytes that a text over any table would read. */
const bytes = 77;

/** Answers a dry run of any text over the tables of the tests as BigQuery would: its schema, its tables, what is wrong with it. */
export function boundDryRun({ body }: Asked): Deed {
  const { jobReference, configuration } = body;
  const { query: text, queryParameters = [] } = configuration.query;
  const sql = [...sourceOf].reduce((sofar, [table, source]) => sofar.replaceAll(table, source), text);
  const tables = [...sourceOf.keys()].filter(table => text.includes(`\`${table}\``));
  try {
    const { query } = bindStatement({ sql, catalog, ...declarationsOf(readParameters(queryParameters)) });
    const fields = resultColumns(query.columns).map(toField);
    const { location } = jobReference;
    return { json: dryRunJob({ location, tables, fields, configuration, bytes: tables.length && bytes }) };
  } catch (error) {
    if (error instanceof GatewayError) return refusal(400, 'invalidQuery', error.message);
    throw error;
  }
}
