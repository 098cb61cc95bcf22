import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FleetGateway, startGatewayProcess } from '../support/fleet.ts';
import type { AttackScope } from './attack.ts';
import { attackToken } from './attacks.ts';

/** A folder with the sample data that gateways are attacked with. */
export type SampleFolder = {
  /** Starts a gateway as `npm start` does, with default settings and a second token, which is the attacker's. */
  start(environment?: Readonly<Record<string, string>>): Promise<AbusedGateway>;
  /** What other processes need to read the same data. */
  readonly environment: Readonly<Record<string, string>>;
  remove(): Promise<void>;
};

export type AbusedGateway = FleetGateway & {
  /** Tokens that have a scope, by its name. */
  readonly tokens: Readonly<Record<AttackScope, string>>;
  /** Closes the connections that are idle; the next request opens one. */
  disconnect(): void;
  stop(): Promise<void>;
};

async function issueToken(directory: string, scope: AttackScope): Promise<string> {
  const args = ['src/cli.ts', 'token', 'issue', '--name', scope, '--scope', scope];
  const env = { ...process.env, DATA_DIR: directory };
  const { stdout } = await promisify(execFile)('node', args, { env });
  const token = /\bsqg_\S+/.exec(stdout)?.[0];
  if (!token) throw new Error(`No token was issued: ${stdout}`);
  return token;
}

/** Makes a folder of 20,000 sample rows. */
export async function openSampleFolder(): Promise<SampleFolder> {
  const directory = await mkdtemp(join(tmpdir(), 'abuse-'));
  const sample = {
    DATA_DIR: directory,
    SAMPLE_ROWS: '20000',
    TOKEN_HASHES: createHash('sha256').update(attackToken).digest('hex'),
  };
  const tokens = {
    write: await issueToken(directory, 'write'),
    explain: await issueToken(directory, 'explain'),
  } satisfies AbusedGateway['tokens'];
  const start = async (environment: Readonly<Record<string, string>> = {}) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
    const gateway = await startGatewayProcess({ ...sample, ...environment }, agent);
    const stop = async () => {
      agent.destroy();
      await gateway.kill();
    };
    return { ...gateway, tokens, disconnect: () => agent.destroy(), stop };
  };
  const first = await start();
  await first.stop();
  return { start, environment: sample, remove: () => rm(directory, { recursive: true, force: true }) };
}
