import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { endWithProcess } from '../support/end-with-process.ts';
import { freePort } from '../support/free-port.ts';
import { emulatorBinary } from './emulator-binary.ts';

export type Emulator = {
  /** For `BIGQUERY_API_ENDPOINT`. */
  readonly url: string;
  /**
   * Sends one request of BigQuery's REST.
   * @param path below `/bigquery/v2`
   * @returns the parsed body
   * @throws Error with status and body unless it is answered 200
   */
  post(path: string, body: object): Promise<unknown>;
  /** Kills it and waits until it is gone. */
  stop(): Promise<void>;
};

/**
 * Starts goccy/bigquery-emulator on free ports of loopback with nothing in it, kept in memory, and waits until it answers.
 * @param project the one that it knows
 */
export async function startEmulator(project: string): Promise<Emulator> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const args = [`--project=${project}`, '--host=127.0.0.1', `--port=${port}`, `--grpc-port=${grpcPort}`];
  const child = spawn(emulatorBinary, args, { env: {}, stdio: ['ignore', 'ignore', 'pipe'] });
  endWithProcess(child);
  const ended = once(child, 'exit');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', part => {
    log += part;
  });
  const failed = ended.then(() => {
    throw new Error(`${emulatorBinary} ended: ${log}`);
  });
  failed.catch(() => undefined);
  const url = `http://127.0.0.1:${port}`;
  await Promise.race([answers(`${url}/bigquery/v2/projects/${project}/datasets`), failed]);

  return {
    url,
    async post(path, body) {
      const headers = { 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}/bigquery/v2${path}`, sent);
      const text = await response.text();
      if (response.status !== 200)
        throw new Error(`The emulator answers ${response.status} to ${path}: ${text}`);
      return JSON.parse(text);
    },
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function answers(url: string): Promise<void> {
  const deadlineMs = Date.now() + 60_000;
  while (Date.now() < deadlineMs) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error('The emulator does not answer after 60 s');
}
