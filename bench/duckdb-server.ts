import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { lowerPriority } from '../src/base/lower-priority.ts';
import type { QuerySettings } from './duckdb-process.ts';

export type DuckDbServerSettings = QuerySettings & {
  /** Whether DuckDB's process has the priority of the gateway's engine processes. */
  readonly isLow: boolean;
};

/** A server that runs one statement on DuckDB in a process of its own for each request, and does nothing else: `node:http` and one message each way. */
process.once('message', async ({ isLow, ...query }: DuckDbServerSettings) => {
  const engine = await startEngine(query);
  if (isLow) lowerPriority(engine.pid);
  const server = createServer(async (_, response) => {
    engine.send('run');
    const [rows] = await once(engine, 'message');
    response.writeHead(200, { 'content-length': rows.length }).end(rows);
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    process.send?.(port);
  });
});

// The bench may end by an error, and its servers would stay.
process.once('disconnect', () => process.exit());

async function startEngine(query: QuerySettings): Promise<ChildProcess> {
  const engine = fork(fileURLToPath(new URL('./duckdb-process.ts', import.meta.url)), {
    serialization: 'advanced',
  });
  engine.send(query);
  await once(engine, 'message');
  return engine;
}
