import { beforeAll, expect, test } from 'vitest';
import { openDrivenWarehouse } from '../bigquery/open-driven-warehouse.ts';
import { runPython } from './python-client.ts';

/** What Google's Python client made of the answers, by the step of `drive_bigquery.py`. */
let outcomes: Record<string, unknown>;

beforeAll(async () => {
  const warehouse = await openDrivenWarehouse();
  try {
    outcomes = (await runPython(['test/clients/drive_bigquery.py', warehouse.url, 'europe-west3'])) as Record<
      string,
      unknown
    >; // one object, by its last line
  } finally {
    await warehouse.close();
  }
});

const edge = {
  job_id: null,
  location: 'europe-west3',
  state: 'DONE',
  bytes: 1000,
  cache_hit: false,
  statement_type: 'SELECT',
  tables: ['acme.logs.edge'],
  schema: [
    ['id', 'STRING', 'NULLABLE'],
    ['timestamp', 'TIMESTAMP', 'NULLABLE'],
  ],
};
const refused = (name: string, code: number, reason: string) => ({ class: name, code, reason });

test.each<[string, unknown]>([
  ['dry_run_by_insert', edge],
  ['dry_run_by_query', { job_id: null, location: 'europe-west3', bytes: 1000 }],
  ['dry_run_of_bad_sql', refused('BadRequest', 400, 'invalidQuery')],
  ['dry_run_from_the_cache', { ...edge, bytes: 0, cache_hit: true, tables: [] }],
  ['values', {
    whole: '9007199254740993', part: 1.5, yes: true, text: 'ä"', bytes: '00ff', exact: 'Decimal 1.5', day: '2026-01-15',
    hour: '10:00:00.500000', local: '2026-01-15 10:00:00', instant: '2026-01-15 10:00:00.000001+00:00', nothing: null,
    list: [1, 2], records: [{ a: 'x', b: [1] }],
  }],
  ['parameters', ['d']],
  ['query_of_bad_sql', refused('BadRequest', 400, 'invalidQuery')],
  ['query_of_no_table', refused('NotFound', 404, 'notFound')],
  ['query_that_costs_too_much', refused('BadRequest', 400, 'bytesBilledLimitExceeded')],
  ['inserted_bad_sql', ['DONE', 'invalidQuery', 'BadRequest', 'invalidQuery']],
  ['inserted_twice', refused('Conflict', 409, 'duplicate')],
  ['receipt', [4, 1000, 10_000, 5, 'DONE']],
  ['waited_for', [true]],
  ['waited_for_too_briefly', true],
  ['pages', [true, [7, 7, 7, 4], 25]],
  // Its own table of reasons says 200 for this one.
  ['cancelled', refused('GoogleAPICallError', 200, 'stopped')],
  ['got_with_its_location', 'europe-west3'],
  ['got_without_its_location', refused('NotFound', 404, 'notFound')],
])("Google's Python client understands the tests' BigQuery: %s", (step, outcome) => {
  expect(outcomes[step]).toEqual(outcome);
}); // biome-ignore format: a table

test('no step is left unlooked at', () => {
  expect(Object.keys(outcomes)).toHaveLength(18);
});
