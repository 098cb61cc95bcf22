import { askServer, restRequest, type ServerRequest } from './ask-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { residentMb } from './process-usage.ts';

const entries = 10_000;
const bodyBytes = 8000;
/** Requests on their way at the same time. */
const concurrency = 8;

/** What the gateway's process weighs when its memory tier holds ten thousand answers of 8 KB. */
export async function benchMemory(): Promise<void> {
  const environment = {
    DATA_DIR: await benchData(),
    SAMPLE_ROWS: String(benchRows),
    CACHE_MEMORY_MB: '256',
  };
  const gateway = await startGatewayProcess(environment);
  try {
    const emptyMb = await residentMb(gateway.pid);
    await askAll(gateway);
    const filledMb = await residentMb(gateway.pid);
    const hits = await askAll(gateway);
    const readMb = await residentMb(gateway.pid);
    console.log('\n| memory tier | resident (MB) | goal |\n|---|---|---|');
    console.log(`| empty | ${emptyMb.toFixed(0)} | |`);
    console.log(`| ${entries.toLocaleString('en')} answers of 8 KB | ${filledMb.toFixed(0)} | 250 |`);
    console.log(`| each read again (${hits.toLocaleString('en')} hits) | ${readMb.toFixed(0)} | 250 |`);
  } finally {
    await gateway.stop();
  }
}

/** Asks for each entry once; counts the hits. */
async function askAll(gateway: GatewayProcess): Promise<number> {
  let hits = 0;
  let next = 0;
  async function askNext(): Promise<void> {
    while (next < entries) {
      const { rawHeaders } = await askServer(gateway, entryRequest(gateway, next++));
      if (rawHeaders.includes('HIT')) hits++;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, askNext));
  return hits;
}

/** An answer of 8 KB that the engine makes without a scan; the caller's SQL is part of the key. */
function entryRequest(gateway: GatewayProcess, n: number): ServerRequest {
  const sql = `select repeat('x', ${bodyBytes}) as text, ${n} as n from unnest([1])`;
  return restRequest(gateway, 'usage.api-counts', { interval: 'hourly', project: '.', sql });
}
