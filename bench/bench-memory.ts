import { askServer, restRequest, type ServerRequest } from './ask-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { residentMb } from './process-usage.ts';

const entries = 10_000;
const bodyBytes = 8000;
/** Rows of one answer, which make as many bytes. */
const rows = 66;
/** Requests on their way at the same time. */
const concurrency = 8;

/** What the gateway's process weighs when its cache, as large as it is by default, holds ten thousand answers of 8 KB. */
export async function benchMemory(): Promise<void> {
  const gateway = await startGatewayProcess({
    DATA_DIR: await benchData(),
    SAMPLE_ROWS: String(benchRows),
  });
  try {
    const emptyMb = await residentMb(gateway.pid);
    await askAll(gateway);
    const filledMb = await residentMb(gateway.pid);
    const queries = await countQueries(gateway);
    const hits = await askAll(gateway);
    const readMb = await residentMb(gateway.pid);
    const moreQueries = (await countQueries(gateway)) - queries;
    if (hits !== entries || moreQueries !== 0) {
      throw new Error(`Read again, ${hits} of ${entries} answers were hits, and ${moreQueries} queries ran`);
    }
    console.log('\n| cache | resident (MB) | goal |\n|---|---|---|');
    console.log(`| empty | ${emptyMb.toFixed(0)} | |`);
    console.log(`| ${entries.toLocaleString('en')} answers of 8 KB | ${filledMb.toFixed(0)} | 250 |`);
    console.log(`| each read again (${hits.toLocaleString('en')} hits) | ${readMb.toFixed(0)} | 250 |`);
  } finally {
    await gateway.stop();
  }
}

/**
 * Asks for each entry once; counts the hits.
 * @throws Error where two answers are the same, or one is short
 */
async function askAll(gateway: GatewayProcess): Promise<number> {
  const tags = new Set<string | undefined>();
  let hits = 0;
  let next = 0;
  async function askNext(): Promise<void> {
    while (next < entries) {
      const { rawHeaders, body } = await askServer(gateway, entryRequest(gateway, next++));
      if (body.length < bodyBytes) throw new Error(`An answer has ${body.length} bytes`);
      tags.add(rawHeaders[rawHeaders.indexOf('etag') + 1]);
      if (rawHeaders.includes('HIT')) hits++;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, askNext));
  if (tags.size !== entries) throw new Error(`Only ${tags.size} answers differ`);
  return hits;
}

/** Queries that the gateway's engine has run. */
async function countQueries(gateway: GatewayProcess): Promise<number> {
  const { body } = await askServer(gateway, { path: '/metrics', headers: { 'x-api-key': gateway.token } });
  const counts = body.toString().matchAll(/^engine_queries_total\{.*\} (\d+)$/gm);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * An answer of 8 KB that the engine makes without a scan: times and counts as of a saved query, of which no two answers have
 * the same. The caller's SQL is part of the key.
 */
function entryRequest(gateway: GatewayProcess, n: number): ServerRequest {
  const count = (name: string, factor: number) =>
    `mod((hour + ${n} * ${rows}) * ${factor}, 99991) as ${name}`;
  const sql = `select datetime_add(datetime '2026-01-01', interval hour hour) as timestamp,
    ${count('total_auth_requests', 48_271)}, ${count('total_rest_requests', 69_621)}, ${count('total_storage_requests', 16_807)}
    from unnest(generate_array(1, ${rows})) as hour`;
  return restRequest(gateway, 'usage.api-counts', { interval: 'hourly', project: '.', sql });
}
