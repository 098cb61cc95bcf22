import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type FleetGateway, startGatewayProcess } from '../support/fleet.ts';
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
  /** A token with the scope `write`. */
  readonly writerToken: string;
  /** Closes the connections that are idle; the next request opens one. */
  disconnect(): void;
  stop(): Promise<void>;
};

async function issueWriterToken(directory: string): Promise<string> {
  const args = ['src/cli.ts', 'token', 'issue', '--name', 'writer', '--scope', 'write'];
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
  const writerToken = await issueWriterToken(directory);
  const start = async (environment: Readonly<Record<string, string>> = {}) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
    const gateway = await startGatewayProcess({ ...sample, ...environment }, agent);
    const stop = async () => {
      agent.destroy();
      await gateway.kill();
    };
    return { ...gateway, writerToken, disconnect: () => agent.destroy(), stop };
  };
  const first = await start();
  await first.stop();
  return { start, environment: sample, remove: () => rm(directory, { recursive: true, force: true }) };
}
