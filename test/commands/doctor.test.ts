import { copyFile, cp, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { issueToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import { linesOf, runChecks } from '../../src/commands/checks/check.ts';
import { diskCheck } from '../../src/commands/checks/disk-check.ts';
import { runDoctor } from '../../src/commands/doctor.ts';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const clock = createStandingClock();

/** A folder with the tables and saved queries that a gateway has, and no token. */
async function openClinic(environment: Record<string, string> = {}) {
  const directory = await temporaryDirectory();
  const sqlDirectory = join(directory, 'sql');
  await mkdir(sqlDirectory);
  await copyFile('sql/logs.all.sql', join(sqlDirectory, 'logs.all.sql'));
  const config = readConfig({ DATA_DIR: directory, SQL_DIR: sqlDirectory, ...environment });
  return {
    sqlDirectory,
    config,
    makeDatabase: () =>
      importLogs({
        databasePath: databasePath(config),
        sources: readSources(),
        source: 'cloudflare.logs.prod',
        input: Readable.from([]),
      }),
    issue: (expiresAt?: string) =>
      issueToken(tokenFile(join(directory, 'tokens.json')), { name: 'a', expiresAt, clock }),
    async examine() {
      const lines: string[] = [];
      const isAllFine = await runDoctor(config, { clock, print: line => lines.push(line) });
      return { isAllFine, text: lines.join('\n') };
    },
  };
}

test('a set-up that is fine is said to be, line for line', async () => {
  const clinic = await openClinic();
  await clinic.makeDatabase();
  await clinic.issue('2027-01-01T00:00:00Z');
  const { isAllFine, text } = await clinic.examine();
  const shown = text.replaceAll(/ in \S+tokens.json/g, '').replace(/\d+ MB are free at \S+/, 'room');
  expect(
    shown.split('\n').filter(line => !line.startsWith('advice disk') && !line.includes('ENGINE_MEMORY')),
  ).toEqual([
    'ok     Redis: REDIS_URL is not set: each gateway has a cache of its own',
    'ok     access tokens: 1 accepted, 0 expired, 0 revoked',
    'ok     disk: room',
    'ok     engine: opens',
    'ok     saved queries: 1 valid: logs.all',
    'ok     dry runs: logs.all reads cloudflare.logs.prod',
  ]);
  expect(isAllFine).toBe(true);
});

test('what is found is JSON where scripts want it', async () => {
  const clinic = await openClinic({ ACCESS_TOKEN: 'one' });
  const lines: string[] = [];
  const options = { clock, print: (line: string) => void lines.push(line), json: true };
  await writeFile(join(clinic.sqlDirectory, 'bad.sql'), 'select 1');
  expect(await runDoctor(clinic.config, options)).toBe(false);
  expect(lines).toHaveLength(1);
  const { isFine, checks } = JSON.parse(lines[0]!);
  expect([isFine, checks.map(({ subject }: { subject: string }) => subject)]).toEqual([
    false,
    ['Redis', 'access tokens', 'disk', 'engine', 'saved queries', 'dry runs'],
  ]);
  expect(checks[1]).toMatchObject({ subject: 'access tokens', isFine: true, found: expect.any(String) });
  expect(checks[3]).toMatchObject({ isFine: true, advice: [{ fix: expect.stringContaining('npm start') }] });
  expect(checks[4]).toMatchObject({
    isFine: false,
    problems: [{ found: expect.stringContaining('bad.sql'), fix: expect.any(String) }],
  });
});

test('saved queries whose names collide are found by file, line and name', async () => {
  const clinic = await openClinic({ ACCESS_TOKEN: 'one' });
  const text = await readFile(join(clinic.sqlDirectory, 'logs.all.sql'), 'utf8');
  const copy = text.replace(/^id: .*$/m, 'id: 00000000-0000-0000-0000-000000000001');
  await writeFile(
    join(clinic.sqlDirectory, 'logs-all.sql'),
    copy.replace('name: logs.all', 'name: logs-all'),
  );
  const { isAllFine, text: said } = await clinic.examine();
  expect(isAllFine).toBe(false);
  expect(said).toMatch(
    /WRONG {2}saved queries: logs-all\.sql:\d+: name: has the GraphQL field logsAll, which is taken by logs\.all\.sql already/,
  );
  expect(said).toContain('ok     dry runs: logs.all reads cloudflare.logs.prod');
});

test('a source whose file is wrong is found, and what reads other sources is looked at', async () => {
  const sources = await temporaryDirectory();
  await cp(ownSources, sources, { recursive: true });
  await writeFile(join(sources, 'orders.yaml'), 'name: orders\ncolumns: { n: INTEGER }\n');
  const clinic = await openClinic({ ACCESS_TOKEN: 'one', SOURCES_DIR: sources });
  const { isAllFine, text } = await clinic.examine();
  expect(isAllFine).toBe(false);
  expect(text).toMatch(/WRONG {2}sources: orders\.yaml:2: columns\.n: is /);
  expect(text).toContain('ok     saved queries: 1 valid: logs.all');
});

test('a list of GraphQL documents that can not be read is found, as a start would fail', async () => {
  const file = join(await temporaryDirectory(), 'operations.json');
  const clinic = await openClinic({ GRAPHQL_OPERATIONS_FILE: file });
  expect(await clinic.examine()).toEqual({
    isAllFine: false,
    text: expect.stringMatching(
      /^WRONG {2}GraphQL documents: The list of operations .* can't be read.*\n.*npm run operations/m,
    ),
  });
  await writeFile(file, '{}');
  expect((await clinic.examine()).text).toContain(`ok     GraphQL documents: 0 in ${file}`);
});

test('the token of a first start is one, until another is issued', async () => {
  const clinic = await openClinic();
  await clinic.makeDatabase();
  await writeFile(join(clinic.config.DATA_DIR, 'sample-token'), 'sample_x\n');
  expect((await clinic.examine()).text).toContain('ok     access tokens: the one of the first start');
  await clinic.issue('2026-01-01T00:00:00Z');
  expect((await clinic.examine()).text).toContain('WRONG  access tokens: 0 accepted, 1 expired');
});

test('the private token of a self-hosted Supabase is one', async () => {
  const clinic = await openClinic({ LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' });
  await clinic.makeDatabase();
  const given = /^ok {5}access tokens: 0 accepted, .*, and what the environment gives$/m;
  expect((await clinic.examine()).text).toMatch(given);
  await clinic.issue('2026-01-01T00:00:00Z');
  expect((await clinic.examine()).text).toMatch(given);
});

test('tokens that have all expired are found, with the command that makes one', async () => {
  const clinic = await openClinic();
  await clinic.makeDatabase();
  await clinic.issue('2026-01-01T00:00:00Z');
  const { isAllFine, text } = await clinic.examine();
  expect(text).toMatch(/WRONG {2}access tokens: 0 accepted, 1 expired.*\n +to do: npm run token -- issue/);
  expect(isAllFine).toBe(false);
});

test('before a first start all is fine, the saved queries are checked, and nothing is made', async () => {
  const clinic = await openClinic();
  const { isAllFine, text } = await clinic.examine();
  expect(isAllFine).toBe(true);
  expect(text).toContain('ok     access tokens: the next start makes one');
  expect(text).toMatch(/advice engine: there is no database in \S+ yet.*\n +to do: npm start makes it/);
  expect(text).toContain('ok     dry runs: logs.all reads cloudflare.logs.prod');
  expect(await readdir(clinic.config.DATA_DIR)).toEqual(['sql']);
});

test.each([
  [100, 'WRONG  disk: 100 MB are free at /data\n       to do: make room'],
  [5000, 'advice disk: 5000 MB are free at /data\n       to do: have 8192 MB'],
  [9000, 'ok     disk: 9000 MB are free at /data'],
])('a disk with %d MB free', async (freeMb, expected) => {
  const options = {
    directory: '/data',
    databasePath: '/data/logs.duckdb',
    engineMemoryMb: 2048,
    freeBytes: async () => freeMb * 1024 * 1024,
  };
  const lines: string[] = [];
  const check = diskCheck(options);
  await runChecks([check], (subject, finding) => void lines.push(...linesOf(subject, finding)));
  expect(lines.join('\n')).toContain(expected);
});

test('a disk without room for the second file of the database is found before the first load', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  await writeFile(databasePath, '');
  await truncate(databasePath, 500 * 1024 * 1024);
  const freeBytes = async () => 600 * 1024 * 1024;
  const check = diskCheck({ directory, databasePath, engineMemoryMb: 100, freeBytes });
  const advice = async () => JSON.stringify(await check.run());
  expect(await advice()).toContain(
    'have 756 MB: the first load makes a second file of the database, of 500 MB',
  );
  await writeFile(join(directory, 'logs.2.duckdb'), '');
  expect(await advice()).not.toContain('second file');
});

test('a saved query that is broken is found by file and line', async () => {
  const clinic = await openClinic({ ACCESS_TOKEN: 'one' });
  await clinic.makeDatabase();
  await writeFile(join(clinic.sqlDirectory, 'bad.sql'), 'select 1');
  const { isAllFine, text } = await clinic.examine();
  expect(text).toContain('WRONG  saved queries: bad.sql:1: must start with its YAML header');
  expect(isAllFine).toBe(false);
});

test('a Redis that is not there, or has another password, is found with the reason', async () => {
  const clinic = await openClinic({ REDIS_URL: 'redis://127.0.0.1:1' });
  await clinic.makeDatabase();
  expect((await clinic.examine()).text).toMatch(
    /WRONG {2}Redis: no connection .*ECONNREFUSED.*\n +to do: start the Redis of REDIS_URL/,
  );
  const redis = await startRedisServer({ lock: { password: 'right' } });
  onTestFinished(() => redis.stop());
  const locked = await openClinic({ REDIS_URL: redis.url.replace('right', 'wrong') });
  await locked.makeDatabase();
  expect((await locked.examine()).text).toMatch(/WRONG {2}Redis: no connection .*(?:WRONGPASS|NOAUTH)/);
});

test('a Redis that would refuse writes when it is full is found', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const clinic = await openClinic({ REDIS_URL: redis.url });
  await clinic.makeDatabase();
  await redis.command('CONFIG SET maxmemory 100mb maxmemory-policy noeviction');
  expect((await clinic.examine()).text).toMatch(/WRONG {2}Redis: .*noeviction\n +to do: set maxmemory/);
  await redis.command('CONFIG SET maxmemory-policy allkeys-lru');
  expect((await clinic.examine()).text).toMatch(
    /ok {5}Redis: answers; maxmemory 100.00M, policy allkeys-lru/,
  );
  const holding = await openClinic({ REDIS_URL: redis.url, TOKENS_STORE: 'redis' });
  await holding.makeDatabase();
  expect((await holding.examine()).text).toMatch(
    /WRONG {2}Redis: .*allkeys-lru\n +to do: set .*volatile-lru/,
  );
  await redis.command('CONFIG SET maxmemory-policy volatile-ttl'); // leases have the shortest
  expect((await holding.examine()).text).toMatch(/WRONG {2}Redis: .*volatile-ttl\n +to do: set maxmemory/);
  await redis.command('CONFIG SET maxmemory-policy volatile-lru');
  expect((await holding.examine()).text).toMatch(/ok {5}Redis: answers; .*volatile-lru/);
});

test('a Redis that answers, but refuses what gateways write, is found', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const clinic = await openClinic({ REDIS_URL: redis.url.replace('//', '//gateway:secret@') });
  await clinic.makeDatabase();
  await redis.command('CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru');
  await redis.command('ACL SETUSER gateway on >secret ~sqg:* +@all -@dangerous +info');
  const refused = /WRONG {2}Redis: NOPERM .*channel.*\n +to do: let the user of REDIS_URL do this: (.*)/;
  const { text } = await clinic.examine();
  expect(text).toMatch(refused);
  await redis.command(`ACL SETUSER gateway reset on >secret ${refused.exec(text)![1]}`);
  expect((await clinic.examine()).text).toMatch(/ok {5}Redis: answers/);
  await redis.command('REPLICAOF 127.0.0.1 1');
  expect((await clinic.examine()).text).toMatch(
    /WRONG {2}Redis: REDIS_URL names a replica.*\n +to do: name the master/,
  );
});

test('a node of a Cluster that REDIS_URL names as a single Redis is found', async () => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.stop());
  const clinic = await openClinic({ REDIS_URL: cluster.nodes[0]!.url });
  await clinic.makeDatabase();
  expect((await clinic.examine()).text).toMatch(
    /WRONG {2}Redis: REDIS_URL names one node of a Cluster.*\n +to do: write redis\+cluster/,
  );
});
