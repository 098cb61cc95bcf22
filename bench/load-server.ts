import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ServerRequest } from './ask-server.ts';
import { cores, onCore } from './on-core.ts';
import { cpuSeconds } from './process-usage.ts';

/** What one block of load has shown. */
export type LoadFigures = {
  readonly requestsPerSecond: number;
  /** Milliseconds within which half of the answers came, as the generator saw it. */
  readonly p50Ms: number;
  /** Milliseconds within which 99 of 100 answers came. */
  readonly p99Ms: number;
  /** Microseconds of the server's processor time for a request. */
  readonly cpuMicros: number;
};

type Counted = Omit<LoadFigures, 'cpuMicros'> & { readonly requests: number; readonly failures: number };

type Generator = {
  readonly name: string;
  run(url: string, request: ServerRequest, seconds: number): Promise<Counted>;
};

const connections = 64;
const run = promisify(execFile);

/**
 * Puts load on a server for some seconds, from a process on the other core.
 * @throws Error where any answer is not a 2xx
 */
export async function loadServer(
  { origin, pid }: { readonly origin: string; readonly pid: number },
  request: ServerRequest,
  seconds: number,
): Promise<LoadFigures> {
  const cpuBefore = await cpuSeconds(pid);
  const { requests, failures, ...figures } = await generator.run(origin + request.path, request, seconds);
  const cpuAfter = await cpuSeconds(pid);
  if (failures > 0) throw new Error(`${failures} of ${requests} requests failed: ${origin}${request.path}`);
  return { ...figures, cpuMicros: ((cpuAfter - cpuBefore) / requests) * 1e6 };
}

/** Debian's `wrk`, which is faster than any server here. */
const wrk: Generator = {
  name: 'wrk',
  async run(url, { headers, payload }, seconds) {
    const directory = await mkdtemp(join(tmpdir(), 'wrk-'));
    try {
      const script = join(directory, 'request.lua');
      await writeFile(script, wrkScript(headers, payload));
      const command = [
        'wrk',
        '-t1',
        `-c${connections}`,
        `-d${seconds}s`,
        '--timeout',
        '10s',
        '-s',
        script,
        url,
      ];
      const [program, ...args] = onCore(cores.others, command);
      const { stdout } = await run(program, args);
      const found = /^FIGURES (.*)$/m.exec(stdout)?.[1];
      if (!found) throw new Error(`wrk printed no figures: ${stdout}`);
      return JSON.parse(found);
    } finally {
      await rm(directory, { recursive: true });
    }
  },
};

/** The request, and the figures as one line of JSON; wrk's own report rounds them. Its times are microseconds. */
function wrkScript(headers: Readonly<Record<string, string>>, payload: string | undefined): string {
  const quote = (text: string) => `"${text.replace(/["\\\n]/g, character => `\\${character}`)}"`;
  const set = Object.entries(headers).map(([name, value]) => `wrk.headers[${quote(name)}] = ${quote(value)}`);
  const post = payload === undefined ? [] : ['wrk.method = "POST"', `wrk.body = ${quote(payload)}`];
  return `${[...set, ...post].join('\n')}
done = function(summary, latency)
  local e = summary.errors
  print(string.format('FIGURES {"requests":%d,"failures":%d,"requestsPerSecond":%f,"p50Ms":%f,"p99Ms":%f}',
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout,
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
`;
}

/** Where wrk is missing: in Node, and so about as slow as what it measures. */
const autocannon: Generator = {
  name: 'autocannon',
  async run(url, { headers, payload }, seconds) {
    const command = [process.execPath, fileURLToPath(import.meta.resolve('autocannon')), '--json'];
    command.push('--connections', String(connections), '--duration', String(seconds));
    for (const [name, value] of Object.entries(headers)) command.push('--headers', `${name}=${value}`);
    if (payload !== undefined) command.push('--method', 'POST', '--body', payload);
    const [program, ...args] = onCore(cores.others, [...command, url]);
    const { requests, latency, non2xx, errors } = JSON.parse((await run(program, args)).stdout);
    return {
      requests: requests.total,
      failures: non2xx + errors,
      requestsPerSecond: requests.average,
      p50Ms: latency.p50,
      p99Ms: latency.p99,
    };
  },
};

const generator = chooseGenerator();

function chooseGenerator(): Generator {
  try {
    execFileSync('which', ['wrk'], { stdio: 'ignore' });
    return wrk;
  } catch {
    return autocannon;
  }
}

/** A sentence about the generator, for the head of a table. */
export const generatorNote =
  generator === wrk
    ? `Load by wrk, ${connections} connections.`
    : `Load by autocannon, ${connections} connections: wrk is missing (Debian: apt install wrk), so the rates are the generator's.`;
