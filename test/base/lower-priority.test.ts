import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { createRowFormatter } from '../../src/formats/row-formatter.ts';
import { createRedactor } from '../../src/redaction/redactor.ts';

const never = { caller: 'a', signal: new AbortController().signal };
const body = Buffer.from(`[${Array(20_000).fill('{"text":"a@b.com"}')}]`);
const columns = [{ name: 'text', type: 'STRING', mode: 'NULLABLE' } as const];

test.runIf(process.platform === 'linux')(
  'contract 11.1: redaction and other formats have the priority of queries, on threads of their own',
  async () => {
    const before = lowThreads();
    const redactor = createRedactor();
    await redactor.redact(body, {}, never);
    expect(lowThreads()).toBe(before + 1);
    const formatter = createRowFormatter();
    await formatter.format('csv', { columns, body }, { ...never, isKept: false });
    expect(lowThreads()).toBe(before + 2);
    await Promise.all([redactor.close(), formatter.close()]);
    expect(lowThreads()).toBe(before);
  },
);

/** Threads of this process that have the lower priority. */
function lowThreads(): number {
  const isLow = (thread: string) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    // proc_pid_stat(5): the 19th field; the second is a name in parentheses.
    return (
      Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]) ===
      constants.priority.PRIORITY_BELOW_NORMAL
    );
  };
  return readdirSync('/proc/self/task').filter(isLow).length;
}
