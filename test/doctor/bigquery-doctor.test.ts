import { execFile } from 'node:child_process';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { runDoctor } from '../../src/doctor.ts';
import { readSources, type SourceField, type SourceFields } from '../../src/duckdb/sources.ts';
import { bigqueryEnvironment, sourceTables } from '../bigquery/bigquery-environment.ts';
import { openGoogle } from '../bigquery/google-stand-in.ts';
import { openWarehouse } from '../bigquery/scripted-warehouse.ts';
import { type Asked, type Deed, type Interference, refusal } from '../bigquery/warehouse-wire.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Has the doctor look at a gateway over BigQuery. */
async function examine(environment: Record<string, string>) {
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
function schemaOf(fields: SourceFields): TableSchema[] {
  return Object.entries(fields).map(([name, field]) => toField(name, field));
}

function toField(name: string, field: SourceField): TableSchema {
  if (!Array.isArray(field)) return { name, type: field === 'INT64' ? 'INTEGER' : String(field) };
  const [element] = field;
  if (typeof element === 'string') return { name, type: element, mode: 'REPEATED' };
  return { name, type: 'RECORD', mode: 'REPEATED', fields: schemaOf(element) };
}

const [edgeSource, edgeTable] = sourceTables[0]!;
const sources = readSources();

function textOf({ body }: Asked): string {
  return body?.configuration?.query.query ?? '';
}

/** The answer to a dry run over one table, with this schema. */
function dryRunOf(table: string, fields: readonly TableSchema[], location = 'EU'): Deed {
  const [projectId, datasetId, tableId] = table.split('.');
  const referencedTables = [{ projectId, datasetId, tableId }];
  const query = { statementType: 'SELECT', referencedTables, schema: { fields } };
  return { json: { jobReference: { jobId: 'j', location }, statistics: { query } } };
}

/** What BigQuery says of tables that are as they should be. */
const asTheyShouldBe: Interference = asked => {
  const at = sourceTables.findIndex(([, table]) => textOf(asked).startsWith(`select * from \`${table}\``));
  return at < 0 ? undefined : dryRunOf(sourceTables[at]![1], schemaOf(sources[at]!.columns));
};

const fine: Deed = {
  json: { statistics: { totalBytesProcessed: '77', query: { statementType: 'SELECT' } } },
};

/** Has the doctor look at a gateway over a server that does as the rule says, and is fine where it says nothing. */
async function examineOver(rule: Interference, environment: Record<string, string> = {}) {
  const warehouse = await openWarehouse({ dryRun: [fine] });
  onTestFinished(warehouse.close);
  warehouse.interfere(asked => rule(asked) ?? asTheyShouldBe(asked));
  return examine({ ...bigqueryEnvironment(warehouse.url), ...environment });
}

/** Says something of the first table alone. */
const ofEdge =
  (deed: Deed): Interference =>
  asked =>
    textOf(asked).startsWith(`select * from \`${edgeTable}\``) ? deed : undefined;

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
      /^ok {5}dry runs: logs\.all reads 77 bytes of cloudflare\.logs\.prod, .*; usage\.api-counts reads 77 bytes of cloudflare\.logs\.prod$/,
    ),
  ]);
  expect(isAllFine).toBe(true);
});

const edgeColumns = schemaOf(sources[0]!.columns);
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
      'a table that lacks a column',
      ofEdge(
        dryRunOf(
          edgeTable,
          edgeColumns.filter(({ name }) => name !== 'event_message'),
        ),
      ),
      `${edgeSource} is ${edgeTable}: column event_message is missing; needed: STRING`,
      `give the table the columns of schema/sources.json, or correct ${edgeSource} in BIGQUERY_TABLES`,
    ],
    [
      'a table with a column of another type',
      ofEdge(dryRunOf(edgeTable, retyped)),
      `${edgeSource} is ${edgeTable}: column timestamp is STRING; needed: TIMESTAMP`,
      `give the table the columns of schema/sources.json, or correct ${edgeSource} in BIGQUERY_TABLES`,
    ],
    [
      'a view',
      ofEdge(dryRunOf('acme-prod.logs.behind', edgeColumns)),
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

describe('credentials', () => {
  const authorities = getCACertificates();

  async function examineAtGoogle(spoil: (google: Awaited<ReturnType<typeof openGoogle>>) => void) {
    const google = await openGoogle({ dryRun: [fine] });
    onTestFinished(async () => {
      await google.close();
      vi.unstubAllEnvs();
      setDefaultCACertificates(authorities);
    });
    google.interfere(asTheyShouldBe);
    spoil(google);
    for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
    setDefaultCACertificates([google.cert]);
    return examine(bigqueryEnvironment(''));
  }

  test('that are good are not mentioned', async () => {
    const { lines, isAllFine } = await examineAtGoogle(() => undefined);
    expect([lines[0], isAllFine]).toEqual(['ok     engine: opens', true]);
  });

  test('that give no token are found, with the ways to give others', async () => {
    const { lines } = await examineAtGoogle(google => google.refuseCredentials());
    expect(lines[0]).toMatch(/^WRONG {2}engine: BigQuery has no credentials: .*invalid_grant/);
    expect(lines[1]).toMatch(
      /to do: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS/,
    );
  });

  test('that are not there are found, with the ways to give some', async () => {
    const { lines } = await examineAtGoogle(google => {
      google.environment.GOOGLE_APPLICATION_CREDENTIALS = '/nowhere/key.json';
    });
    expect(lines[0]).toMatch(/^WRONG {2}engine: BigQuery has no credentials: .*\/nowhere\/key\.json/);
    expect(lines[1]).toMatch(/to do: run `gcloud auth application-default login`/);
  });

  test('whose tokens BigQuery refuses are found, and the clock comes under suspicion', async () => {
    const { lines } = await examineAtGoogle(google => google.refuseTokens('t1', 't2'));
    expect(lines[0]).toMatch(
      /^WRONG {2}engine: BigQuery does not accept the credentials: Request had invalid/,
    );
    expect(lines[1]).toMatch(/see that the clock of this machine is right/);
  });
});

describe('as processes, on their way to Google itself', () => {
  async function runAtGoogle(program: readonly string[], tokensRefused: readonly string[] = []) {
    const google = await openGoogle({ dryRun: [fine] });
    onTestFinished(google.close);
    google.interfere(asTheyShouldBe);
    google.refuseTokens(...tokensRefused);
    const env = {
      ...process.env,
      ...bigqueryEnvironment(''),
      ...google.environment,
      DATA_DIR: await temporaryDirectory(),
      ACCESS_TOKEN: 'one',
      PORT: '0',
    };
    return promisify(execFile)('node', program, { env }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    );
  }

  test('the doctor exits with 0 where all is fine', async () => {
    const { code, stdout, stderr } = await runAtGoogle(['src/cli.ts', 'doctor']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ok {5}dry runs: logs\.all reads 77 bytes/m);
  });

  test('the doctor exits with 1 where something is wrong', async () => {
    const { code, stdout, stderr } = await runAtGoogle(['src/cli.ts', 'doctor'], ['t1', 't2']);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(/^WRONG {2}engine: BigQuery does not accept the credentials/m);
  });

  test('a gateway does not start there, and says why without a stack', async () => {
    const { code, stderr } = await runAtGoogle(['src/gateway.ts'], ['t1', 't2']);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The gateway could not start\.\nBigQuery can't be used as it is set up\.\nBigQuery does not accept .*\n +to do: run `gcloud /,
    );
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
