import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchQueries } from '../../src/batch/batch-queries.ts';
import type { RunStatement } from '../../src/batch/run-queries.ts';
import { runBatch, statementOf } from '../../src/batch/run-queries.ts';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { bindParameters } from '../../src/pipeline/bind-parameters.ts';
import { openExecutingWarehouse } from '../bigquery/executing-warehouse.ts';
import { edgeRow } from '../support/edge-row.ts';
import { createStandingClock } from '../support/standing-clock.ts';

const now = Date.parse('2026-01-15T12:34:56.789Z');
/** References that contain, begin, end and overlap each other. */
const references = [
  'abcdabcdabcd',
  'bcdabcda',
  'abcdabcd',
  'cdabcdxx',
  'ABcdabcd',
  'ab_dab-d',
  'zzzzzzzzzzzz',
  'zzzzzzzz',
];
const readSql = (file: string) => readFile(new URL(`../../sql/${file}`, import.meta.url), 'utf8');
const definition = parseDefinition(
  'usage.api-counts.sql',
  await readSql('usage.api-counts.sql'),
  await readSql('usage.api-counts.batch.sql'),
);

let directory: string;
let warehouse: Awaited<ReturnType<typeof openExecutingWarehouse>>;
let engines: Readonly<Record<'DuckDB' | 'BigQuery', Engine>>;
let runs: number;
const runOn =
  (name: keyof typeof engines): RunStatement =>
  (statement, options) => {
    runs++;
    return engines[name].run(statement, { ...options, timeoutMs: 20_000 });
  };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'batch-'));
  const databasePath = join(directory, 'logs.duckdb');
  await importLogs({
    databasePath,
    sources: readSources(),
    source: 'cloudflare.logs.prod',
    input: Readable.from(manyRows().map(row => `${JSON.stringify(row)}\n`)),
  });
  const emit = () => undefined;
  const embedded = await createDuckDbEngine({ databasePath, clock: createStandingClock(now), emit });
  warehouse = await openExecutingWarehouse({
    engine: embedded,
    sourceOf: new Map([['acme.logs.edge', 'cloudflare.logs.prod']]),
    pageRows: 100,
  });
  const adapter = await createBigQueryEngine({
    project: 'payer',
    endpoint: warehouse.url,
    mapping: readTableMapping(['cloudflare.logs.prod=acme.logs.edge']),
    sources: readSources(),
    emit,
    random: () => 0.5,
  });
  engines = { DuckDB: embedded, BigQuery: adapter };
});
afterAll(async () => {
  await engines.BigQuery.close();
  warehouse.close();
  await engines.DuckDB.close();
  await rm(directory, { recursive: true });
});

/** Requests of eight days, whose URLs put references next to, into and across each other. */
function manyRows(): object[] {
  const joints = ['', '.', '/', '?ref=', '-', 'A', '_'];
  const paths = ['/rest/v1/t', '/storage/v1/o', '/auth/v1/rest', '/realtime/v1', '/other', undefined];
  const hosts = references.flatMap((one, at) =>
    joints.map((joint, n) => `https://${one}${joint}${references[(at + n) % references.length]}.example`),
  );
  const urls = [
    ...hosts,
    ...hosts.map(url => url.toUpperCase()),
    '',
    'näh\n zzzzzzzz',
    'a.b',
    'axb',
    undefined,
  ];
  return Array.from({ length: 600 }, (_, n) => {
    const timestamp = new Date(now - (n % 3 === 0 ? n * 1_150_000 : n * 7_000)).toISOString();
    const path = paths[n % paths.length];
    const url = urls[(n * 7) % urls.length];
    return {
      ...edgeRow({ id: `id-${n}`, timestamp, project: 'any' }),
      metadata: [{ request: [{ path, url }] }],
    };
  });
}

const query = (project: string, interval: string) => ({
  definition,
  parameters: bindParameters(definition, { project, interval }),
  callerSql: undefined,
});
const options = { signal: new AbortController().signal };

async function expectEqualToSingles(run: RunStatement, projects: readonly string[], interval: string) {
  const queries = projects.map(project => query(project, interval));
  const batched = batchQueries(run, setImmediate);
  const answers = await Promise.all(queries.map(each => batched(each, options)));
  let rows = 0;
  for (const [at, answer] of answers.entries()) {
    const single = await run(statementOf(queries[at]!), options);
    rows += single.rowCount;
    expect({ project: projects[at], rows: answer.rowsJson.toString() }).toEqual({
      project: projects[at],
      rows: single.rowsJson.toString(),
    });
    expect(answer.columns).toEqual(single.columns);
    expect(answer.rowCount).toBe(single.rowCount);
  }
  return rows;
}

const piece = fc.constantFrom(
  ...references,
  'a',
  '.',
  'zz',
  '\\.',
  '[a-z]',
  'https?',
  'none of them',
  '$',
  '^h',
  'ä',
  '{',
  '"',
  "'",
  ',',
);
const pattern = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...references, 'nobodyhere', 'NobodyHere') },
  { weight: 2, arbitrary: fc.array(piece, { minLength: 1, maxLength: 3 }).map(parts => parts.join('')) },
  { weight: 1, arbitrary: fc.array(piece, { minLength: 2, maxLength: 3 }).map(parts => parts.join('|')) },
  { weight: 1, arbitrary: piece.map(part => `(?i)${part}`) },
  { weight: 1, arbitrary: piece.map(part => `(?s)(${part}).*$`) },
  fc.constantFrom('^$', '', '.*', '\\bzzzzzzzz\\b', '(?P<name>abcd)', '\\Qa.b', 'z{8}', '(?m)^ z'),
);
const isValid = (project: string) => {
  try {
    query(project, 'daily');
    return true;
  } catch {
    return false;
  }
};

test.each([
  { name: 'DuckDB', numRuns: 16, leastRows: 240 },
  { name: 'BigQuery', numRuns: 6, leastRows: 80 },
] as const)(
  'contract 7.3: a batch on $name gives each project the rows of its single run, to the byte',
  async options => {
    const { name, numRuns, leastRows } = options;
    let rows = 0;
    runs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(pattern.filter(isValid), { minLength: 2, maxLength: 12 }),
        fc.constantFrom('minutely', 'hourly', 'daily', '15min', '30min', '3hr', '1day', '3day'),
        async (projects, interval) => {
          rows += await expectEqualToSingles(runOn(name), projects, interval);
        },
      ),
      { numRuns },
    );
    expect(rows).toBeGreaterThan(leastRows);
  },
  180_000,
);

test.each(['DuckDB', 'BigQuery'] as const)(
  'contract 7.2: all projects of a batch are one run on %s, also where one contains another',
  async name => {
    runs = 0;
    const answers = await runBatch(
      runOn(name),
      references.map(project => query(project, 'daily')),
      options,
    );
    expect(runs).toBe(1);
    expect(answers.map(answer => 'rowCount' in answer && answer.rowCount > 0)).toEqual(
      references.map(() => true),
    );
  },
);
