import { isDeepStrictEqual } from 'node:util';
import { askServer, type ServerRequest } from './ask-server.ts';
import { type LoadFigures, loadServer } from './load-server.ts';
import { median } from './time-blocks.ts';

type MeasuredServer = { readonly origin: string; readonly pid: number };

/** A server that the gateway is compared with. */
export type Comparison = {
  readonly name: string;
  readonly server: MeasuredServer;
  /** The gateway's figure in parts of this server's: at least. */
  readonly goal: number;
};

/** Rounds of blocks; the first, in which the servers' code gets compiled, does not count. */
const rounds = 6;
const blockSeconds = 2;

/** Prints the head of the table to which `compareServers` adds rows. */
export function printComparisonHead(): void {
  console.log(
    '\n| hit | server | requests/s | processor time of one (µs) | gateway / server, by rate | by time | goal |',
  );
  console.log('|---|---|---|---|---|---|---|');
}

/**
 * Puts the same load on the gateway and on other servers, in alternating blocks, and prints a row for each. "By time" is
 * how many requests the gateway answers in the processor time of one request to the other: the generator's own pace,
 * which may be the slower one, is not in it.
 * @throws Error where a server does not answer with the gateway's rows
 */
export async function compareServers(
  hit: string,
  request: ServerRequest,
  gateway: MeasuredServer,
  others: readonly Comparison[],
): Promise<void> {
  const rows = await readRows(gateway, request);
  for (const { name, server } of others) {
    if (!isDeepStrictEqual(await readRows(server, request), rows))
      throw new Error(`Other rows: ${name}, ${hit}`);
  }
  const figures = await loadInTurn([gateway, ...others.map(({ server }) => server)], request);
  const ours = figures.get(gateway) ?? [];
  console.log(`| ${hit} | gateway | ${rateAndTime(ours)} | | | |`);
  for (const { name, server, goal } of others) {
    const theirs = figures.get(server) ?? [];
    const byRate = ours.map((block, at) => block.requestsPerSecond / (theirs[at]?.requestsPerSecond ?? 0));
    const byTime = ours.map((block, at) => (theirs[at]?.cpuMicros ?? 0) / block.cpuMicros);
    const ratios = [byRate, byTime].map(values => median(values).toFixed(2)).join(' | ');
    console.log(`| | ${name} | ${rateAndTime(theirs)} | ${ratios} | ${goal} |`);
  }
}

async function loadInTurn(
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

function rateAndTime(blocks: readonly LoadFigures[]): string {
  const rate = median(blocks.map(({ requestsPerSecond }) => requestsPerSecond));
  const micros = median(blocks.map(({ cpuMicros }) => cpuMicros));
  return `${Math.round(rate).toLocaleString('en')} | ${micros.toFixed(1)}`;
}

async function readRows(server: MeasuredServer, request: ServerRequest): Promise<unknown> {
  const { result, data } = JSON.parse((await askServer(server, request)).body.toString());
  return result ?? data;
}
