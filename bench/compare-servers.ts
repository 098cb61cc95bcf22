import type { ServerRequest } from './ask-server.ts';
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
 */
export async function compareServers(
  hit: string,
  request: ServerRequest,
  gateway: MeasuredServer,
  others: readonly Comparison[],
): Promise<void> {
  const servers = [gateway, ...others.map(({ server }) => server)];
  const figures = new Map<MeasuredServer, LoadFigures[]>(servers.map(server => [server, []]));
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) {
      const block = await loadServer(server, request, blockSeconds);
      if (round > 0) figures.get(server)?.push(block);
    }
  }
  const ours = figures.get(gateway) ?? [];
  console.log(`| ${hit} | gateway | ${rateAndTime(ours)} | | | |`);
  for (const { name, server, goal } of others) {
    const theirs = figures.get(server) ?? [];
    const byRate = ours.map((block, at) => block.requestsPerSecond / (theirs[at]?.requestsPerSecond ?? 0));
    const byTime = ours.map((block, at) => (theirs[at]?.cpuMicros ?? 0) / block.cpuMicros);
    console.log(
      `| | ${name} | ${rateAndTime(theirs)} | ${median(byRate).toFixed(2)} | ${median(byTime).toFixed(2)} | ${goal} |`,
    );
  }
}

function rateAndTime(blocks: readonly LoadFigures[]): string {
  const rate = median(blocks.map(({ requestsPerSecond }) => requestsPerSecond));
  const micros = median(blocks.map(({ cpuMicros }) => cpuMicros));
  return `${Math.round(rate).toLocaleString('en')} | ${micros.toFixed(1)}`;
}
