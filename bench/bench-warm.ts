import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { statementOf } from '../src/batch/endpoint-query.ts';
import { type RunStatement, runBatch } from '../src/batch/run-batch.ts';
import { systemClock } from '../src/clock.ts';
import { createDuckDbEngine } from '../src/duckdb/duckdb-engine.ts';
import { createEndpointRegistry } from '../src/endpoints/registry.ts';
import { bindParameters } from '../src/pipeline/bind-parameters.ts';
import { benchData, benchRows } from './bench-data.ts';

/** Projects in the data, all alike: what is hot is a part of it. */
const projects = 10_000;
const counts = [1, 10, 100, 1000, 10_000];
const minBlocks = 3;

/** What warming N projects of `usage.api-counts` costs in one batch, beside one run of the single query on the same data. */
export async function benchWarm(): Promise<void> {
  const databasePath = await manyProjects(await benchData());
  const emit = () => undefined;
  const engine = await createDuckDbEngine({ databasePath, clock: systemClock, emit });
  const endpoints = await createEndpointRegistry({
    directory: 'sql',
    check: async () => undefined,
    emit,
    watch: false,
  });
  const definition = endpoints.find('usage.api-counts')!;
  const { signal } = new AbortController();
  const terms = { signal };
  let runs = 0;
  const run: RunStatement = statement => {
    runs++;
    return engine.run(statement, { signal, timeoutMs: 600_000 });
  };
  const queryOf = (project: string) => ({
    definition,
    parameters: bindParameters(definition, { project, interval: 'daily' }),
    callerSql: undefined,
  });
  const singleMs = () => timed(() => run(statementOf(queryOf(projectName(7))), terms));
  console.log(
    `\n${benchRows.toLocaleString('en')} edge rows of seven days, ${projects} projects, interval daily; medians\n`,
  );
  console.log(
    '| projects | engine runs | batch (ms) | one single query (ms) | batch / one single | all single, at that (ms) |',
  );
  console.log('|---|---|---|---|---|---|');
  await singleMs();
  for (const count of counts) {
    const queries = Array.from({ length: count }, (_, n) => queryOf(projectName(n)));
    const times: { batch: number; single: number }[] = [];
    let batchRuns = 0;
    for (let block = 0; block < minBlocks; block++) {
      const single = await singleMs();
      runs = 0;
      const batch = await timed(() => runBatch(run, queries, terms));
      batchRuns = runs;
      times.push({ batch, single });
    }
    const batch = median(times.map(time => time.batch));
    const single = median(times.map(time => time.single));
    const cells = [
      count,
      batchRuns,
      batch.toFixed(0),
      single.toFixed(0),
      (batch / single).toFixed(1),
      (single * count).toFixed(0),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  endpoints.close();
  await engine.close();
}

/** Twenty letters and digits, as references of projects are. */
const projectName = (n: number) => `${n.toString(36).padStart(4, '0')}abcdefghijklmnop`;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** The benches' edge rows with what this query reads, each given to one of many projects. */
async function manyProjects(directory: string): Promise<string> {
  const databasePath = join(directory, 'many-projects.duckdb');
  if (
    await access(databasePath).then(
      () => true,
      () => false,
    )
  )
    return databasePath;
  const instance = await DuckDBInstance.create(databasePath);
  const connection = await instance.connect();
  const own = '"cloudflare.logs.prod"';
  await connection.run(`ATTACH '${join(directory, 'logs.duckdb')}' AS all_logs (READ_ONLY)`);
  await connection.run(`CREATE TABLE ${own} AS FROM all_logs.${own} LIMIT 0`);
  await connection.run(`
    INSERT INTO ${own} BY NAME
    SELECT id, timestamp, name AS project,
      {_p: true, request: {_p: true, path: path, url: replace(url, old, name)}} AS metadata
    FROM (
      SELECT id, timestamp, project AS old, metadata.request.path AS path, metadata.request.url AS url,
        [${Array.from({ length: projects }, (_, n) => `'${projectName(n)}'`).join(', ')}][1 + (hash(id) % ${projects})::BIGINT] AS name
      FROM all_logs.${own}
    )`);
  await connection.run('CHECKPOINT');
  connection.closeSync();
  instance.closeSync();
  return databasePath;
}
