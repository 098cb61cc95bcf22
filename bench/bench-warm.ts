import { access, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { systemClock } from '../src/base/clock.ts';
import { type RunStatement, runBatch, statementOf } from '../src/batch/run-queries.ts';
import { createDuckDbEngine, type DuckDbEngine } from '../src/duckdb/duckdb-engine.ts';
import { createEndpointRegistry } from '../src/endpoints/registry.ts';
import { bindParameters } from '../src/pipeline/bind-parameters.ts';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { benchData, benchRows, currentFile } from './bench-data.ts';
import { readMb } from './process-usage.ts';

/** What is hot is a part of them. */
const manyProjects = 10_000;
const blocks = 3;
const emit = () => undefined;
const options = { signal: new AbortController().signal };

/** What warming N projects of `usage.api-counts` costs in one batch, beside one run of the single query on the same data. */
export async function benchWarm(): Promise<void> {
  const directory = await benchData();
  await measure({
    title: 'six projects in the data, the single query for the busiest (40 % of the rows)',
    databasePath: join(directory, 'logs.duckdb'),
    counts: [1, 10, 100, 1000],
    projectName: n => sampleProjects[n] ?? manyName(n),
    single: 0,
  });
  await measure({
    title: `${manyProjects} projects in the data, all alike`,
    databasePath: await writeManyProjects(directory),
    counts: [1, 10, 100, 1000, 10_000],
    projectName: manyName,
    single: 7,
  });
}

type Measured = {
  readonly title: string;
  readonly databasePath: string;
  readonly counts: readonly number[];
  readonly projectName: (n: number) => string;
  /** The project of the single query. */
  readonly single: number;
};

async function measure({
  title,
  databasePath,
  counts,
  projectName,
  single: singleAt,
}: Measured): Promise<void> {
  const endpoints = await createEndpointRegistry({
    directory: 'sql',
    check: async () => undefined,
    emit,
    watch: false,
  });
  const definition = endpoints.find('usage.api-counts')!;
  endpoints.close();
  const queryOf = (project: string) => ({
    definition,
    parameters: bindParameters(definition, { project, interval: 'daily' }),
    callerSql: undefined,
  });
  const single: Work = run => run(statementOf(queryOf(projectName(singleAt))), options);
  const singleMb = await mbRead(databasePath, single);

  console.log(
    `\n${benchRows.toLocaleString('en')} edge rows of seven days, interval daily, ${title}; medians of ${blocks}\n`,
  );
  console.log(
    '| projects | engine runs | batch (ms) | one single query (ms) | batch / one single | all single, at that (ms) | batch reads (MB) | one single query reads (MB) |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  const engine = await createDuckDbEngine({ databasePath, clock: systemClock, emit });
  const { run, runs } = countedRuns(engine);
  await single(run);
  runs();
  for (const count of counts) {
    const queries = Array.from({ length: count }, (_, n) => queryOf(projectName(n)));
    const batch: Work = runStatement => runBatch(runStatement, queries, options);
    const [batches, singles]: [number[], number[]] = [[], []];
    for (let block = 0; block < blocks; block++) {
      singles.push(await timed(() => single(run)));
      batches.push(await timed(() => batch(run)));
    }
    const [batchMs, singleMs] = [median(batches), median(singles)];
    const figures = [
      runs() / blocks - 1,
      batchMs.toFixed(0),
      singleMs.toFixed(0),
      (batchMs / singleMs).toFixed(1),
      (singleMs * count).toFixed(0),
      (await mbRead(databasePath, batch)).toFixed(1),
      singleMb.toFixed(1),
    ];
    console.log(`| ${[count, ...figures].join(' | ')} |`);
  }
  await engine.close();
}

type Work = (run: RunStatement) => Promise<unknown>;

/** Runs statements on an engine; `runs` returns how many since the last call. */
function countedRuns(engine: DuckDbEngine): { run: RunStatement; runs(): number } {
  let count = 0;
  return {
    run(statement) {
      count++;
      return engine.run(statement, { ...options, timeoutMs: 600_000 });
    },
    runs() {
      const counted = count;
      count = 0;
      return counted;
    },
  };
}

/** What an engine that has just been started, and has nothing in its memory yet, reads from the file for some work. */
async function mbRead(databasePath: string, work: Work): Promise<number> {
  const engine = await createDuckDbEngine({
    databasePath,
    clock: systemClock,
    emit,
    maxConcurrentQueries: 1,
  });
  const pid = engine.pids[0]!;
  const beforeMb = await readMb(pid);
  await work(countedRuns(engine).run);
  const mb = (await readMb(pid)) - beforeMb;
  await engine.close();
  return mb;
}

/** Twenty letters and digits, as references of projects are. */
const manyName = (n: number) => `${n.toString(36).padStart(4, '0')}abcdefghijklmnop`;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/** The benches' edge rows with what this query reads, each given to one of many projects. */
async function writeManyProjects(directory: string): Promise<string> {
  // In a folder of its own: `current.json` says which file is current of all that are beside it.
  const databasePath = join(directory, 'many-projects', 'logs.duckdb');
  if (
    await access(databasePath).then(
      () => true,
      () => false,
    )
  )
    return databasePath;
  await mkdir(dirname(databasePath), { recursive: true });
  const instance = await DuckDBInstance.create(databasePath);
  const connection = await instance.connect();
  const own = '"cloudflare.logs.prod"';
  await connection.run(`ATTACH '${currentFile(directory)}' AS all_logs (READ_ONLY)`);
  await connection.run(`CREATE TABLE ${own} AS FROM all_logs.${own} LIMIT 0`);
  await connection.run(`
    INSERT INTO ${own} BY NAME
    SELECT id, timestamp, name AS project,
      {_p: true, request: {_p: true, path: path, url: replace(url, old, name)}} AS metadata
    FROM (
      SELECT id, timestamp, project AS old, metadata.request.path AS path, metadata.request.url AS url,
        [${Array.from({ length: manyProjects }, (_, n) => `'${manyName(n)}'`).join(', ')}][1 + (hash(id) % ${manyProjects})::BIGINT] AS name
      FROM all_logs.${own}
    )`);
  await connection.run('CHECKPOINT');
  connection.closeSync();
  instance.closeSync();
  return databasePath;
}
