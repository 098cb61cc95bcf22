import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

export type AbusedGateway = FleetGateway & { stop(): Promise<void> };

/** Makes a folder of 20,000 sample rows. */
export async function openSampleFolder(): Promise<SampleFolder> {
  const directory = await mkdtemp(join(tmpdir(), 'abuse-'));
  const sample = {
    DATA_DIR: directory,
    SAMPLE_ROWS: '20000',
    TOKEN_HASHES: createHash('sha256').update(attackToken).digest('hex'),
  };
  const start = async (environment: Readonly<Record<string, string>> = {}) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1000 });
    const gateway = await startGatewayProcess({ ...sample, ...environment }, agent);
    const stop = async () => {
      agent.destroy();
      await gateway.kill();
    };
    return { ...gateway, stop };
  };
  const first = await start();
  await first.stop();
  return { start, environment: sample, remove: () => rm(directory, { recursive: true, force: true }) };
}
