import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { nginxConfig } from './nginx-config.ts';
import { varnishConfig } from './varnish-config.ts';

/** A caching proxy before a gateway. */
export type CachingProxy = {
  /** Says in the header `X-Proxy` what it did: `MISS`, `HIT`, `STALE`, or a word of its own. */
  readonly origin: string;
  readonly pid: number;
  /** Kills it and waits until it is gone. */
  stop(): Promise<void>;
};

type Ports = { readonly port: number; readonly gatewayPort: number };

type Program = {
  readonly command: string;
  /** Prints the version, or fails. */
  readonly versionFlag: string;
  readonly config: (ports: Ports & { readonly directory: string }) => string;
  readonly args: (files: {
    readonly port: number;
    readonly file: string;
    readonly directory: string;
  }) => readonly string[];
};

/** The proxies that the suite knows; both are packages of Debian. */
export const proxyPrograms = {
  nginx: {
    command: 'nginx',
    versionFlag: '-v',
    config: nginxConfig,
    args: ({ file, directory }) => ['-p', directory, '-c', file],
  },
  varnish: {
    command: 'varnishd',
    versionFlag: '-V',
    config: varnishConfig,
    args: ({ port, file, directory }) => [
      ...['-F', '-j', 'none', '-n', join(directory, 'work'), '-a', `127.0.0.1:${port}`],
      ...['-f', file, '-s', 'malloc,16m'],
    ],
  },
} satisfies Record<string, Program>;

/** What to type where the proxies are not there. */
const remedy = 'sudo apt-get update && sudo apt-get install -y nginx-light varnish';

/**
 * Starts a proxy on a free port of loopback, and waits until it listens.
 * @throws Error with the one line to type where its program is not installed
 */
export async function startProxy(
  name: keyof typeof proxyPrograms,
  gatewayPort: number,
): Promise<CachingProxy> {
  const { command, versionFlag, config, args }: Program = proxyPrograms[name];
  await promisify(execFile)(command, [versionFlag]).catch(() => {
    throw new Error(`This suite needs ${command}. Type: ${remedy}`);
  });
  const directory = await mkdtemp(join(tmpdir(), `${name}-`));
  const port = await freePort();
  const file = join(directory, 'config');
  await writeFile(file, config({ port, gatewayPort, directory }));
  const child = spawn(command, args({ port, file, directory }), { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', part => {
    log += part;
  });
  const failed = ended.then(() => {
    throw new Error(`${command} ended: ${log}`);
  });
  failed.catch(() => undefined);
  await Promise.race([listens(port), failed]);
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

async function listens(port: number): Promise<void> {
  const deadlineMs = Date.now() + 30_000;
  while (Date.now() < deadlineMs) {
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  throw new Error(`Nobody listens on port ${port} after 30 s`);
}
