import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGatewayProcess } from './gateway-process.ts';

/** How long `npm start` takes to a printed address, beside a Node that only starts: first and later starts. */
export async function benchStart(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'saved-query-gateway-start-'));
  try {
    console.log('\n| start | npm start (ms) | npm exec of an empty Node script (ms) |\n|---|---|---|');
    for (const name of ['first', 'second', 'third', 'fourth']) {
      const baselineMs = await timeEmptyScript();
      const gateway = await startGatewayProcess({ DATA_DIR: directory }, ['npm', 'start']);
      console.log(`| ${name} | ${gateway.readyMs.toFixed(0)} | ${baselineMs.toFixed(0)} |`);
      await gateway.stop();
    }
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function timeEmptyScript(): Promise<number> {
  const { execFile } = await import('node:child_process');
  const startedMs = performance.now();
  await new Promise<void>((resolve, reject) => {
    execFile('npm', ['exec', '--', 'node', '-e', '0'], error => (error ? reject(error) : resolve()));
  });
  return performance.now() - startedMs;
}
