import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { type VectorSource, vectorBatches, vectorSources } from '../examples/supabase/vector-events.ts';
import { openForWriting } from '../src/duckdb/database.ts';
import { importLogs } from '../src/duckdb/import-logs.ts';
import { readSources } from '../src/endpoints/sources.ts';
import { quoteName } from '../src/googlesql/tree/quote-text.ts';
import { sortRows } from '../src/loading/sort-rows.ts';
import { studioQuestions } from '../test/supabase/studio-questions.ts';
import { askServer, type ServerRequest } from './ask-server.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { cpuSeconds, residentMb } from './process-usage.ts';

/** Events of all sources, over thirty days: `STUDIO_EVENTS`, default ten million. */
const total = Number(process.env.STUDIO_EVENTS ?? 10_000_000);
/** Projects whose rows come in turn: `STUDIO_PROJECTS`, default the one of a self-hosted Supabase. */
const projects = Number(process.env.STUDIO_PROJECTS ?? 1);
/** Whether the rows are sorted as a gateway sorts them behind their arrival. */
const isSorted = process.env.STUDIO_SORTED === '1';
const days = 30;
const dayMs = 86_400_000;
const lastDay = Date.parse('2026-01-30T00:00:00Z');

/** What Studio's pages and reports choose from. */
const windows: Record<string, number> = { '1 hour': 1 / 24, '1 day': 1, '7 days': 7 };
const asks = Number(process.env.STUDIO_ASKS ?? 2);
/** Milliseconds that a question may take at the 95th percentile; those beyond it are named. */
const goalMs = 200;

/**
 * The SQL that Studio sends, over rows as Vector sends them: milliseconds from the request to the whole answer, which no cache has, and the
 * engine's processor time, which a busy machine does not change.
 */
export async function benchStudio(): Promise<void> {
  const directory = await studioData();
  const gateway = await startGatewayProcess({ DATA_DIR: directory, COMPAT: 'logflare', SAMPLE_ROWS: '0' });
  try {
    console.log(
      `\n| ${total.toLocaleString('en')} events, window | questions | p50 (ms) | p95 (ms) | max (ms) | processor p50 (ms) | p95 (ms) | slowest |`,
    );
    console.log('|---|---|---|---|---|---|---|---|');
    const slow: string[] = [];
    for (const [name, length] of Object.entries(windows))
      console.log(await timeWindow(gateway, name, length, slow));
    console.log(`\nOver ${goalMs} ms:\n${slow.map(line => `- ${line}\n`).join('')}`);
    console.log(`\nThe gateway's own process holds ${(await residentMb(gateway.pid)).toFixed(0)} MB.`);
  } finally {
    await gateway.stop();
  }
}

async function timeWindow(
  gateway: GatewayProcess,
  name: string,
  length: number,
  slow: string[],
): Promise<string> {
  const endMs = lastDay + dayMs;
  const bounds = {
    iso_timestamp_start: new Date(endMs - length * dayMs).toISOString(),
    iso_timestamp_end: new Date(endMs).toISOString(),
  };
  const times: { ms: number; processorMs: number; question: string }[] = [];
  for (let n = 0; n < asks; n++) {
    for (const { name: question, sql } of studioQuestions) {
      const query = new URLSearchParams({ project: 'default', ...bounds, sql });
      const request: ServerRequest = {
        path: `/api/endpoints/query/logs.all?${query}`,
        headers: { 'x-api-key': gateway.token },
      };
      const usedSeconds = await engineSeconds(gateway);
      const startedMs = performance.now();
      const { body } = await askServer(gateway, request);
      if (!body.subarray(0, 11).equals(Buffer.from('{"result":['))) throw new Error(`${question}: ${body}`);
      const ms = performance.now() - startedMs;
      const processorMs = ((await engineSeconds(gateway)) - usedSeconds) * 1000;
      times.push({ ms, processorMs, question });
    }
  }
  for (const { question, ms, processorMs } of times) {
    if (ms > goalMs)
      slow.push(`${name}, ${question}: ${ms.toFixed(0)} ms, processor ${processorMs.toFixed(0)} ms`);
  }
  const at = (key: 'ms' | 'processorMs', share: number) => {
    const sorted = times.toSorted((one, other) => one[key] - other[key]);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  };
  const cells = [
    ...[0.5, 0.95, 1].map(share => at('ms', share).ms.toFixed(0)),
    ...[0.5, 0.95].map(share => at('processorMs', share).processorMs.toFixed(0)),
  ];
  return `| ${[name, studioQuestions.length, ...cells, at('processorMs', 1).question].join(' | ')} |`;
}

/** Of the gateway's children, which are the engine. */
async function engineSeconds({ pid }: GatewayProcess): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ');
  const seconds = await Promise.all(children.filter(Boolean).map(child => cpuSeconds(Number(child))));
  return seconds.reduce((sum, own) => sum + own, 0);
}

/** Makes the rows where they are not there yet; they are kept in the system's folder for temporary files. */
async function studioData(): Promise<string> {
  const directory = join(
    tmpdir(),
    `saved-query-gateway-studio-${total}${projects > 1 ? `-${projects}` : ''}${isSorted ? '-sorted' : ''}`,
  );
  if (existsSync(directory)) return directory;
  await mkdir(dirname(directory), { recursive: true });
  const unfinished = await mkdtemp(`${directory}-`);
  try {
    const databasePath = join(unfinished, 'logs.duckdb');
    await importPart(databasePath);
    await repeatPart(databasePath);
    if (isSorted) await sortAll(databasePath);
    await rename(unfinished, directory);
  } catch (error) {
    await rm(unfinished, { recursive: true });
    throw error;
  }
  return directory;
}

/** Events are converted for a tenth of a day only, at an hour of as many as the day has on average. */
const partMs = dayMs / 10;
const partBeginsMs = 2 * partMs;

async function importPart(databasePath: string): Promise<void> {
  const startMs = lastDay - (days - 1) * dayMs + partBeginsMs;
  const perSecond = total / days / 86_400;
  for (const source of vectorSources) {
    const { rejected } = await importLogs({
      databasePath,
      sources: readSources(),
      source,
      input: Readable.from(linesOf(source, { startMs, endMs: startMs + partMs, perSecond })),
    });
    if (rejected > 0) throw new Error(`${rejected} events of ${source} are no rows`);
  }
}

function* linesOf(wanted: VectorSource, options: Parameters<typeof vectorBatches>[0]): Generator<string> {
  let at = 0;
  for (const { source, events } of vectorBatches(options)) {
    if (source !== wanted) continue;
    for (const event of events) {
      // The one that is asked for is one of them.
      const project = at++ % projects === 0 ? 'default' : `project-${at % projects}`;
      yield `${JSON.stringify(event).replaceAll('"default"', JSON.stringify(project))}\n`;
    }
  }
}

async function sortAll(databasePath: string): Promise<void> {
  const { connection, close } = await openForWriting(databasePath, readSources());
  try {
    const { moved } = await sortRows(connection, {
      sources: readSources(),
      nowMs: lastDay + 2 * dayMs,
      endMs: Infinity,
    });
    console.log(`${moved} rows were moved.`);
  } finally {
    close();
  }
}

/** All days are copies of that part, with ids of their own, in the order in which they would have come. */
async function repeatPart(databasePath: string): Promise<void> {
  const { connection, close } = await openForWriting(databasePath, readSources());
  try {
    for (const source of vectorSources) {
      const table = quoteName(source);
      await connection.run(
        `CREATE TEMP TABLE part AS FROM ${table} ORDER BY "timestamp"; DELETE FROM ${table}`,
      );
      for (let atMs = -partBeginsMs; atMs < days * dayMs - partBeginsMs; atMs += partMs) {
        const copied = `* REPLACE ("timestamp" + INTERVAL (${atMs}) MILLISECOND AS "timestamp", uuid()::VARCHAR AS id)`;
        await connection.run(`INSERT INTO ${table} SELECT ${copied} FROM part`);
      }
      await connection.run('DROP TABLE part');
    }
  } finally {
    close();
  }
}
