import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { Redis } from 'ioredis';
import { sampleProjects } from '../src/sample/vocabulary.ts';
import { startRedisServer } from '../test/support/redis-server.ts';
import { askServer, restRequest } from './ask-server.ts';
import { benchData, benchRows } from './bench-data.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { timeBlocks } from './time-blocks.ts';

type Codec = {
  readonly name: string;
  compress(body: Buffer): Buffer;
  decompress(bytes: Buffer): Buffer;
};

const codecs: readonly Codec[] = [
  { name: 'none', compress: body => body, decompress: bytes => bytes },
  gzip(1),
  gzip(6),
  zstd(1),
  zstd(3),
  brotli(4),
];

/** Saved queries and callers' SQL whose bodies are spread from a few hundred bytes to 200 KB. */
const bodies: readonly { endpoint: string; parameters: Record<string, string> }[] = [
  { endpoint: 'usage.api-counts', parameters: { interval: 'hourly', project: '.' } },
  logs(2, 'id, timestamp, event_message'),
  { endpoint: 'usage.api-counts', parameters: { interval: 'daily', project: '.' } },
  logs(1, 'id, timestamp, event_message, metadata'),
  { endpoint: 'usage.api-counts', parameters: { interval: 'minutely', project: '.' } },
  logs(25, 'id, timestamp, event_message, metadata'),
  logs(100, 'id, timestamp, event_message, metadata'),
];

/**
 * What compressing real bodies costs and saves: the time on the one thread that answers requests, and a read from Redis
 * up to the plain body, where fewer bytes travel but must be unpacked.
 */
export async function benchCompression(): Promise<void> {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  try {
    console.log('\n| body (bytes) | codec | bytes | % | compress (µs) | decompress (µs) | from Redis (µs) |');
    console.log('|---|---|---|---|---|---|---|');
    for (const body of await realBodies()) {
      for (const [name, row] of Object.entries(await timeCodecs(body, redis))) {
        console.log(`| ${body.length} | ${name} | ${row.join(' | ')} |`);
      }
    }
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

async function realBodies(): Promise<Buffer[]> {
  const gateway = await startGatewayProcess({ DATA_DIR: await benchData(), SAMPLE_ROWS: String(benchRows) });
  try {
    const answers = bodies.map(({ endpoint, parameters }) =>
      askServer(gateway, restRequest(gateway, endpoint, parameters)),
    );
    return (await Promise.all(answers)).map(({ body }) => body);
  } finally {
    await gateway.stop();
  }
}

/** The cells of each codec for one body. */
async function timeCodecs(body: Buffer, redis: Redis): Promise<Record<string, (string | number)[]>> {
  // A run is long enough for the clock.
  const repeats = Math.max(1, Math.round(100_000 / body.length));
  const packed = new Map(codecs.map(codec => [codec.name, codec.compress(body)]));
  for (const [name, bytes] of packed) await redis.set(name, bytes);
  const sides: Record<string, () => Promise<unknown>> = {};
  for (const { name, compress, decompress } of codecs) {
    const bytes = packed.get(name)!;
    sides[`compress ${name}`] = repeat(repeats, () => compress(body));
    sides[`decompress ${name}`] = repeat(repeats, () => decompress(bytes));
    sides[`read ${name}`] = repeat(repeats, async () => decompress((await redis.getBuffer(name))!));
  }
  const ms = await timeBlocks(sides);
  const micros = (side: string) => ((ms[side]! / repeats) * 1000).toFixed(1);
  return Object.fromEntries(
    [...packed].map(([name, { length }]) => [
      name,
      [
        length,
        Math.round((100 * length) / body.length),
        micros(`compress ${name}`),
        micros(`decompress ${name}`),
        micros(`read ${name}`),
      ],
    ]),
  );
}

/** A run of several calls, one after another. */
function repeat(times: number, call: () => unknown): () => Promise<void> {
  return async () => {
    for (let n = 0; n < times; n++) {
      const result = call();
      if (result instanceof Promise) await result;
    }
  };
}

function logs(rows: number, columns: string) {
  const sql = `select ${columns} from edge_logs order by timestamp desc limit ${rows}`;
  return { endpoint: 'logs.all', parameters: { project: sampleProjects[0], sql } };
}

function gzip(level: number): Codec {
  return {
    name: `gzip ${level}`,
    compress: body => gzipSync(body, { level }),
    decompress: bytes => gunzipSync(bytes),
  };
}

function zstd(level: number): Codec {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return {
    name: `zstd ${level}`,
    compress: body => zstdCompressSync(body, { params }),
    decompress: bytes => zstdDecompressSync(bytes),
  };
}

function brotli(quality: number): Codec {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
  return {
    name: `brotli ${quality}`,
    compress: body => brotliCompressSync(body, { params }),
    decompress: bytes => brotliDecompressSync(bytes),
  };
}
