import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readSources } from '../../src/endpoints/sources.ts';
import { bigqueryEnvironment, sourceTables } from '../bigquery/bigquery-environment.ts';
import { tableAt, tableResource } from '../bigquery/bigquery-resources.ts';
import { dryRun } from '../bigquery/scripted-warehouse.ts';
import { type Deed, type Interference, refusal } from '../bigquery/warehouse-http.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { examine, examineOver, schemaOf, textOf } from './examine-bigquery.ts';

const [edgeSource, edgeTable] = sourceTables[0]!;
/** Says something of the first table alone. */
const ofEdge =
  (deed: Deed): Interference =>
  asked =>
    textOf(asked).startsWith(`select * from \`${edgeTable}\``) ? deed : undefined;

// Pauses between retries: four of them take 15 s.
vi.mock('node:timers/promises', async importOriginal => {
  const timers = await importOriginal<typeof import('node:timers/promises')>();
  const setTimeout: typeof timers.setTimeout = (ms = 0, ...rest) => timers.setTimeout(ms / 100, ...rest);
  return { ...timers, setTimeout };
});

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

test('a warehouse that is fine is said to be, and what the saved queries would read', async () => {
  const { isAllFine, lines } = await examineOver(() => undefined);
  expect(lines).toEqual([
    'ok     engine: opens',
    'ok     saved queries: 2 valid: logs.all, usage.api-counts',
    expect.stringMatching(
      /^ok {5}dry runs: logs\.all reads 77 bytes of cloudflare\.logs\.prod; usage\.api-counts reads 77 bytes of cloudflare\.logs\.prod$/,
    ),
    'advice dry runs: logs.all reads whole tables where a request leaves out iso_timestamp_start and iso_timestamp_end; only BIGQUERY_MAX_BYTES_BILLED bounds what that costs',
    '       to do: give logs.all a window or maxBytesBilled in its header, or tokens a limit of bytes: docs/saved-queries.md',
  ]);
  expect(isAllFine).toBe(true);
});

test.each([
  'window: { start: iso_timestamp_start, end: iso_timestamp_end, default: 1h, max: 24h }',
  'maxBytesBilled: 1000',
])('bounds are no advice where the header has: %s', async setting => {
  const SQL_DIR = await temporaryDirectory();
  const text = await readFile('sql/logs.all.sql', 'utf8');
  await writeFile(join(SQL_DIR, 'logs.all.sql'), text.replace('maxRows:', `${setting}\nmaxRows:`));
  const { lines } = await examineOver(() => undefined, { SQL_DIR });
  expect(lines).toEqual([
    'ok     engine: opens',
    'ok     saved queries: 1 valid: logs.all',
    'ok     dry runs: logs.all reads 77 bytes of cloudflare.logs.prod',
  ]);
});

const edgeColumns = schemaOf(readSources()[0]!.columns);
const retyped = edgeColumns.map(column =>
  column.name === 'timestamp' ? { ...column, type: 'STRING' } : column,
);

describe('what is wrong is found, with what to do', () => {
  test.each<[string, Interference, string, string]>([
    [
      'a project whose jobs the credentials may not run',
      () =>
        refusal(
          403,
          'accessDenied',
          'Access Denied: Project payer: User does not have bigquery.jobs.create permission',
        ),
      'BigQuery lets the credentials run no query: Access Denied: Project payer: User does not have bigquery.jobs.create permission',
      'grant them roles/bigquery.jobUser on the project payer, or correct BIGQUERY_PROJECT',
    ],
    [
      'a project without the API',
      () =>
        refusal(
          403,
          'accessNotConfigured',
          'BigQuery API has not been used in project payer before or it is disabled',
        ),
      'BigQuery is not enabled: BigQuery API has not been used in project payer before or it is disabled',
      'run `gcloud services enable bigquery.googleapis.com --project payer`',
    ],
    [
      'a server that fails',
      () => refusal(503, 'backendError', 'Try again'),
      'BigQuery does not answer as it should: Try again',
      'see that this machine reaches BigQuery, with HTTPS_PROXY where it needs a proxy; where BIGQUERY_API_ENDPOINT is set, see that it is right',
    ],
    [
      'a server that is not BigQuery',
      () => ({ status: 404, text: '<html>nothing here</html>' }),
      'BigQuery does not answer as it should: HTTP 404: <html>nothing here</html>',
      'see that this machine reaches BigQuery, with HTTPS_PROXY where it needs a proxy; where BIGQUERY_API_ENDPOINT is set, see that it is right',
    ],
    [
      'a table that the credentials may not read',
      ofEdge(refusal(403, 'accessDenied', 'Access Denied: Table acme-prod:logs.t0')),
      `${edgeSource} is ${edgeTable}: Access Denied: Table acme-prod:logs.t0`,
      `grant the credentials roles/bigquery.dataViewer on ${edgeTable}`,
    ],
    [
      'a table that is not there',
      ofEdge(refusal(404, 'notFound', 'Not found: Table acme-prod:logs.t0 was not found in location EU')),
      `${edgeSource} is ${edgeTable}: Not found: Table acme-prod:logs.t0 was not found in location EU`,
      `create the table, or correct ${edgeSource} in BIGQUERY_TABLES`,
    ],
    [
      'a view',
      ofEdge(dryRun({ tables: ['acme-prod.logs.behind'], fields: edgeColumns })),
      `${edgeSource} is ${edgeTable}: it is a view`,
      `name a table for ${edgeSource} in BIGQUERY_TABLES: of a view BigQuery names the tables behind it, which are not allowed`,
    ],
  ])('%s', async (_, rule, found, fix) => {
    const { isAllFine, lines } = await examineOver(rule);
    expect(lines).toEqual([
      `WRONG  engine: ${found}`,
      `       to do: ${fix}`,
      'WRONG  saved queries: not looked at: the engine did not open',
      '       to do: see to the engine first',
      'WRONG  dry runs: not looked at: the saved queries were not read',
      '       to do: see to what is wrong before it',
    ]);
    expect(isAllFine).toBe(false);
  });

  test('a region in which the tables do not lie, and which one they do', async () => {
    const rule: Interference = asked => {
      if (textOf(asked) === 'select 1' || asked.body.jobReference.location === undefined) return undefined;
      return refusal(404, 'notFound', 'Not found: Dataset acme-prod:logs was not found in location US');
    };
    const { lines } = await examineOver(rule, { BIGQUERY_LOCATION: 'US' });
    expect(lines.slice(0, 2)).toEqual([
      `WRONG  engine: ${edgeSource} is ${edgeTable}: Not found: Dataset acme-prod:logs was not found in location US; it lies in EU`,
      '       to do: set BIGQUERY_LOCATION=EU, or unset it',
    ]);
  });

  test('every table that is wrong, each on a line of its own', async () => {
    const { lines } = await examineOver(asked =>
      textOf(asked).startsWith('select *') ? refusal(404, 'notFound', 'Not found: Table') : undefined,
    );
    const wrong = lines.filter(line => line.startsWith('WRONG  engine'));
    expect(wrong).toEqual(
      sourceTables.map(([source, table]) => `WRONG  engine: ${source} is ${table}: Not found: Table`),
    );
  });

  test('a server that can not be reached', async () => {
    const { lines } = await examine(bigqueryEnvironment('http://127.0.0.1:1'));
    expect(lines[0]).toMatch(/^WRONG {2}engine: BigQuery does not answer as it should: .*ECONNREFUSED/);
    expect(lines[1]).toMatch(/^ +to do: see that this machine reaches BigQuery/);
  });
});

describe('a table that lacks what its source has fails only what reads it', () => {
  const without = (name: string) => edgeColumns.filter(column => column.name !== name);
  const metadata = edgeColumns.find(({ name }) => name === 'metadata')!;
  const request = { name: 'request', type: 'RECORD', mode: 'REPEATED', fields: [] };
  const emptied = edgeColumns.map(column =>
    column === metadata ? { ...metadata, fields: [request] } : column,
  );
  /** A table that a bound of `timestamp` does not fit. */
  const unbounded =
    (message: string, deed: Deed): Interference =>
    asked =>
      textOf(asked).includes(`\`${edgeTable}\` where timestamp`)
        ? refusal(400, 'invalidQuery', `${message} at [1:43]`)
        : ofEdge(deed)(asked);

  test.each<[string, Interference, RegExp]>([
    [
      'a column',
      ofEdge(dryRun({ tables: [edgeTable], fields: without('event_message') })),
      /: column event_message is missing; needed: STRING$/,
    ],
    [
      'a column of its type',
      unbounded(
        'No matching signature for operator > for argument types: STRING, TIMESTAMP',
        dryRun({ tables: [edgeTable], fields: retyped }),
      ),
      /: column timestamp is STRING; needed: TIMESTAMP$/,
    ],
    [
      'the column that tells the time',
      unbounded(
        'Unrecognized name: timestamp',
        dryRun({ tables: [edgeTable], fields: without('timestamp') }),
      ),
      /: column timestamp is missing; needed: TIMESTAMP$/,
    ],
    [
      'fields of a record',
      ofEdge(dryRun({ tables: [edgeTable], fields: emptied })),
      /: fields are missing: (?:metadata\.[\w.]+, ){4}metadata\.request\.\w+ and \d+ more$/,
    ],
  ])('%s', async (_, rule, found) => {
    const { isAllFine, lines } = await examineOver(rule);
    expect(lines.slice(0, 4)).toEqual([
      'ok     engine: opens',
      expect.stringMatching(`^advice engine: ${edgeSource} is ${edgeTable}`),
      `       to do: give the table the columns of ${edgeSource}.yaml in SOURCES_DIR, or correct ${edgeSource} in BIGQUERY_TABLES; until then, queries that read it fail`,
      'ok     saved queries: 2 valid: logs.all, usage.api-counts',
    ]);
    expect(lines[1]).toMatch(found);
    expect(isAllFine).toBe(true);
  });

  test('a table that requires a filter over another column is one, though its columns can not be looked at', async () => {
    const message = `Cannot query over table '${edgeTable}' without a filter over column(s) 'day' that can be used for partition elimination`;
    const { isAllFine, lines } = await examineOver(ofEdge(refusal(400, 'invalidQuery', message)));
    expect(lines.slice(0, 2)).toEqual([
      'ok     engine: opens',
      'ok     saved queries: 2 valid: logs.all, usage.api-counts',
    ]);
    expect(isAllFine).toBe(true);
  });

  test('where no table has a column of its source, nothing starts', async () => {
    const { isAllFine, lines } = await examineOver(asked =>
      textOf(asked).startsWith('select *')
        ? dryRun({
            tables: sourceTables.map(([, table]) => table),
            fields: [{ name: 'other', type: 'STRING' }],
          })
        : undefined,
    );
    expect(lines[0]).toBe(
      `WRONG  engine: ${edgeSource} is ${edgeTable}: column timestamp is missing; needed: TIMESTAMP`,
    );
    expect(isAllFine).toBe(false);
  });
});

describe('how a table is laid out is looked at, with what to do', () => {
  const day = { type: 'DAY', field: 'timestamp' };
  const clustering = { fields: ['host', 'project'] };
  const copied = (and: string) =>
    `copy it into a table that is, \`create table … partition by timestamp_trunc(timestamp, day)${and} as select * from \`${edgeTable}\`\`, and put that into BIGQUERY_TABLES: else every query scans all of it`;
  const required = `\`alter table \`${edgeTable}\` set options (require_partition_filter = true)\`: a query without any bound is then refused`;
  const clustered =
    '`bq update --clustering_fields=project acme-prod:logs.t0`: a query for one project then reads less of each day';

  test.each<[string, object, [found: string, fix: string][]]>([
    [
      'no partitions, no clusters',
      {},
      [['it is not partitioned, not by day on timestamp', copied(' cluster by project')]],
    ],
    [
      'partitions by the time of ingestion',
      { timePartitioning: { type: 'DAY' }, clustering },
      [['it is partitioned by day on the time of ingestion, not by day on timestamp', copied('')]],
    ],
    [
      'partitions of a month',
      { timePartitioning: { type: 'MONTH', field: 'timestamp' }, clustering },
      [['it is partitioned by month on timestamp, not by day on timestamp', copied('')]],
    ],
    [
      'partitions by a number',
      { rangePartitioning: { field: 'n', range: { start: '0', end: '9', interval: '1' } }, clustering },
      [['it is partitioned by a range of integers, not by day on timestamp', copied('')]],
    ],
    [
      'a filter that is not required, and other clusters',
      { timePartitioning: day, clustering: { fields: ['id'] } },
      [
        ['it does not require a partition filter', required],
        ['it is not clustered by project', clustered],
      ],
    ],
    [
      'partitions of an hour, and the filter required as older tables have it',
      { timePartitioning: { ...day, type: 'HOUR', requirePartitionFilter: true }, clustering },
      [],
    ],
  ])('%s', async (_, layout, advice) => {
    const { isAllFine, lines } = await examineOver(({ what, path }) =>
      what === 'table' && tableAt(path) === edgeTable
        ? { json: tableResource(edgeTable, layout) }
        : undefined,
    );
    const expected = advice.flatMap(([found, fix]) => [
      `advice engine: ${edgeSource} is ${edgeTable}: ${found}`,
      `       to do: ${fix}`,
    ]);
    expect(lines.slice(1, -4)).toEqual(expected);
    expect(isAllFine).toBe(true);
  });

  test('clusters are no advice where the source has no column project', async () => {
    const layout = { timePartitioning: day, requirePartitionFilter: true };
    const { lines } = await examineOver(({ what, path }) =>
      what === 'table' ? { json: tableResource(tableAt(path), layout) } : undefined,
    );
    const withProject = readSources().filter(({ columns }) => 'project' in columns);
    const found = lines.filter(line => line.startsWith('advice engine'));
    expect(found).toHaveLength(withProject.length);
    expect(withProject.length).toBeLessThan(sourceTables.length);
  });

  test('credentials that may not look are said to, and nothing else stops', async () => {
    const { isAllFine, lines } = await examineOver(({ what }) =>
      what === 'table' ? refusal(403, 'accessDenied', 'Access Denied: Table') : undefined,
    );
    expect(lines.slice(0, 3)).toEqual([
      'ok     engine: opens',
      `advice engine: ${edgeSource} is ${edgeTable}: how it is laid out can't be looked at: Access Denied: Table`,
      `       to do: grant the credentials roles/bigquery.dataViewer on ${edgeTable}`,
    ]);
    expect(isAllFine).toBe(true);
  });

  test('each table is asked for once, in the project where it lies', async () => {
    const asked: string[] = [];
    const rule: Interference = ({ what, path, params }) => {
      if (what === 'table') asked.push(`${tableAt(path)} ${params}`);
      return undefined;
    };
    await examineOver(rule);
    expect(asked.toSorted()).toEqual(sourceTables.map(([, table]) => `${table} view=BASIC`).toSorted());
  });
});
