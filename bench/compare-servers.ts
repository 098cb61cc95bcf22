import { isDeepStrictEqual } from 'node:util';
import { askServer, type ServerRequest, type WireAnswer } from './ask-server.ts';
import { generatorNote, type LoadFigures, loadServer } from './load-server.ts';
import { median } from './time-blocks.ts';

export type MeasuredServer = { readonly origin: string; readonly pid: number };

/** The gateway as it is started, and with its log off. */
export type Gateways = { readonly logging: MeasuredServer; readonly silent: MeasuredServer };

/** A server that the gateway is compared with. */
export type Comparison = {
  readonly name: string;
  readonly server: MeasuredServer;
  /** How many requests the gateway answers in the processor time of one request to this server: at least. Absent: it is no goal. */
  readonly goals?: { readonly logging: number; readonly silent: number };
};

/** Rounds of blocks; the first, in which the servers' code gets compiled, does not count. */
const rounds = 8;
const blockSeconds = 2;

/** Prints the head of the table to which `compareServers` adds rows. */
export function printComparisonHead(): void {
  console.log(`\n${generatorNote}\n
| hit | server | processor time of one (µs) | default log | goal | log off | goal | requests/s | MB/s | p50 (ms) | p99 (ms) |
|---|---|---|---|---|---|---|---|---|---|---|`);
}

/**
 * Puts the same load on the gateway and on other servers, in alternating blocks, and prints a row for each. The ratios are of
 * processor time, which is right whoever waits: how many requests the gateway answers in the time of one request to the other.
 * @throws Error where a server does not answer with the gateway's rows
 */
export async function compareServers(
  hit: string,
  request: ServerRequest,
  gateways: Gateways,
  others: readonly Comparison[],
): Promise<void> {
  const answer = await askServer(gateways.logging, request);
  const rows = rowsOf(answer);
  const describe = (blocks: readonly LoadFigures[], ratios?: readonly string[]) =>
    describeBlocks(blocks, answer.body.length, ratios);
  const servers = [gateways.silent, ...others.map(({ server }) => server)];
  for (const server of servers) {
    if (!isDeepStrictEqual(rowsOf(await askServer(server, request)), rows))
      throw new Error(`Other rows: ${hit}`);
  }
  const figures = await loadInTurn([gateways.logging, ...servers], request);
  const blocksOf = (server: MeasuredServer) => figures.get(server) ?? [];
  const size = `${answer.body.length.toLocaleString('en')} bytes`;
  console.log(`| ${hit}, ${size} | gateway, default log | ${describe(blocksOf(gateways.logging))}`);
  console.log(`| | gateway, log off | ${describe(blocksOf(gateways.silent))}`);
  for (const { name, server, goals } of others) {
    const ratios = [
      ratioOf(blocksOf(gateways.logging), blocksOf(server)).toFixed(2),
      String(goals?.logging ?? ''),
      ratioOf(blocksOf(gateways.silent), blocksOf(server)).toFixed(2),
      String(goals?.silent ?? ''),
    ];
    console.log(`| | ${name} | ${describe(blocksOf(server), ratios)}`);
  }
}

/** What a 304 costs beside the rows that it spares, each by the same gateway. */
export async function compareUnmodified(
  hit: string,
  { logging, silent }: Gateways,
  whole: ServerRequest,
  unmodified: ServerRequest,
): Promise<void> {
  for (const [name, server] of [
    ['gateway, default log', logging],
    ['gateway, log off', silent],
  ] as const) {
    const blocks = { whole: [] as LoadFigures[], unmodified: [] as LoadFigures[] };
    for (let round = 0; round < rounds; round++) {
      const pair = {
        whole: await loadServer(server, whole, blockSeconds),
        unmodified: await loadServer(server, unmodified, blockSeconds),
      };
      if (round === 0) continue;
      blocks.whole.push(pair.whole);
      blocks.unmodified.push(pair.unmodified);
    }
    const ratio = ratioOf(blocks.unmodified, blocks.whole).toFixed(2);
    const ratios = name.endsWith('off') ? ['', '', ratio, '1'] : [ratio, '1', '', ''];
    console.log(`| ${hit} | ${name} | ${describeBlocks(blocks.unmodified, 0, ratios)}`);
    console.log(`| | the same, 200 | ${describeBlocks(blocks.whole, 0)}`);
  }
}

/** How many requests one server answers in the processor time of one request to another: the median over the blocks, side by side. */
export function ratioOf(one: readonly LoadFigures[], other: readonly LoadFigures[]): number {
  return median(one.map((block, at) => (other[at]?.cpuMicros ?? 0) / block.cpuMicros));
}

/** Puts the same load on servers in alternating blocks, after one that does not count. */
export async function loadInTurn(
  servers: readonly MeasuredServer[],
  request: ServerRequest,
): Promise<Map<MeasuredServer, LoadFigures[]>> {
  const figures = new Map<MeasuredServer, LoadFigures[]>(servers.map(server => [server, []]));
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) {
      const block = await loadServer(server, request, blockSeconds);
      if (round > 0) figures.get(server)?.push(block);
    }
  }
  return figures;
}

/** @param bytes of the body of one answer */
function describeBlocks(
  blocks: readonly LoadFigures[],
  bytes: number,
  ratios: readonly string[] = ['', '', '', ''],
): string {
  const middle = (read: (block: LoadFigures) => number) => median(blocks.map(read));
  const cells = [
    middle(({ cpuMicros }) => cpuMicros).toFixed(1),
    ...ratios,
    Math.round(middle(({ requestsPerSecond }) => requestsPerSecond)).toLocaleString('en'),
    Math.round((middle(({ requestsPerSecond }) => requestsPerSecond) * bytes) / 2 ** 20).toLocaleString('en'),
    middle(({ p50Ms }) => p50Ms).toFixed(2),
    middle(({ p99Ms }) => p99Ms).toFixed(2),
  ];
  return `${cells.join(' | ')} |`;
}

function rowsOf({ body }: WireAnswer): unknown {
  const { result, data } = JSON.parse(body.toString());
  return result ?? data;
}
