import { execFileSync } from 'node:child_process';
import { closeSync, open, openSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { complete, openScripted } from '../scripted-warehouse.ts';

/** Threads of libuv's pool. */
const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);

/** Keeps every thread of the pool busy, as many large answers do: each opens a pipe that nobody writes to. */
async function occupyThreadPool(): Promise<void> {
  const directory = await temporaryDirectory();
  const pipes = Array.from({ length: threads }, (_, n) => join(directory, `pipe-${n}`));
  execFileSync('mkfifo', pipes);
  let waiting = 0;
  for (const pipe of pipes) {
    waiting += 1;
    open(pipe, 'r', (_, descriptor) => {
      waiting -= 1;
      closeSync(descriptor);
    });
  }
  onTestFinished(async () => {
    // A writer lets the reader in.
    const writers = pipes.map(pipe => openSync(pipe, 'r+'));
    await vi.waitFor(() => expect(waiting).toBe(0));
    for (const writer of writers) closeSync(writer);
  });
}

const resultOf = (value: string) =>
  complete([value], { schema: { fields: [{ name: 'n', type: 'STRING', mode: 'NULLABLE' }] } }).json;

test('contract 11.1: small packed answers wait for no thread of the pool, which large ones keep busy', async () => {
  const { run, close, asked } = await openScripted({ results: [complete(['1'])] });
  onTestFinished(close);
  await occupyThreadPool();
  expect((await run({}, { timeoutMs: 15_000 })).rowsJson.toString()).toBe('[{"n":1}]');
  expect(asked.map(({ what }) => what)).toEqual(['dryRun', 'insert', 'results', 'job']);
});

/** A warehouse whose rows come in these bytes. */
async function openPacked(packed: Buffer) {
  const stream = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    for (let at = 0; at < packed.length; at += 1000) response.write(packed.subarray(at, at + 1000));
    response.end();
  };
  const { run, close } = await openScripted({ results: [{ stream }] }, { maxRetries: 0 });
  onTestFinished(close);
  return run;
}

test.each([
  ['packs into little', 'x'.repeat(3_000_000)],
  ['is packed into much', Array.from({ length: 20_000 }, (_, n) => (n * n * 7919).toString(36)).join('')],
])(
  'an answer that %s is read whole, however it arrives, and is an error without its end',
  async (_, value) => {
    const packed = gzipSync(JSON.stringify(resultOf(value)));
    const run = await openPacked(packed);
    expect(JSON.parse((await run()).rowsJson.toString())).toEqual([{ n: value }]);
    // Only length and checksum are missing.
    const runCut = await openPacked(packed.subarray(0, -8));
    await expect(runCut()).rejects.toMatchObject({ code: 'unavailable' });
  },
);
