import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { endWithProcess } from '../support/end-with-process.ts';

/** Starts `gigabyte-warehouse.ts` as a process. */
export async function startGigabyteWarehouse() {
  const child = spawn('node', ['test/bigquery/gigabyte-warehouse.ts'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  endWithProcess(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => String((await lines.next()).value);
  return {
    url: await nextLine(),
    /** How often each kind of request came to the warehouse. */
    async counts(): Promise<Record<string, number>> {
      child.stdin.write('\n');
      return JSON.parse(await nextLine());
    },
    async stop(): Promise<void> {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}
