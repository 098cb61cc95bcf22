import { copyFile, open, readdir, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { damagedPlace, isDamagedAt } from '../../src/duckdb/data-folder/damaged-block.ts';
import { repairBlock } from '../../src/duckdb/data-folder/repair-replicas.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readCurrent, replicasOf, spareOf } from '../../src/duckdb/replicas.ts';
import { openGateway } from '../support/open-gateway.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const events = 3000;

/** A gateway whose two files of the database both have these events, and which has read none of them. */
async function openWithEvents() {
  const gateway = await openGateway({
    environment: { COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' },
  });
  onTestFinished(() => gateway.close());
  const path = databasePath({ DATA_DIR: gateway.directory });
  const sendEvents = async (from: number, to: number) => {
    const batch = Array.from({ length: to - from }, (_, n) => ({
      id: `e${from + n}`,
      event_message: `event ${from + n}`,
    }));
    const answer = await gateway.send('/api/logs?source_name=postgres.logs', {
      method: 'POST',
      body: JSON.stringify(batch),
    });
    expect(answer.status).toBe(200);
  };
  await sendEvents(0, events);
  const isStored = async () =>
    (await readdir(join(gateway.directory, 'rows'))).every(name => !name.endsWith('.rows'));
  await expect.poll(isStored).toBe(true);
  // The turn that removed the rows' file may still write.
  const isAtRest = () =>
    Promise.all(replicasOf(path).map(messagesAt)).then(
      () => true,
      () => false,
    );
  await expect.poll(isAtRest).toBe(true);
  const sql = encodeURIComponent('select count(distinct event_message) as n from postgres_logs');
  return {
    ...gateway,
    path,
    sendEvents,
    ask: () => gateway.get(`/api/endpoints/query/logs.all?project=default&iso_timestamp_end=&sql=${sql}`),
  };
}

/** Flips a byte in the block that holds the messages. @returns where the block begins */
async function damage(path: string): Promise<number> {
  const [block = 0, offset = 0, blockBytes = 0] = await messagesAt(path);
  const place = 3 * 4096 + block * blockBytes;
  const at = place + 8 + offset + 100;
  const file = await open(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at);
  await file.write(Buffer.from([buffer[0]! ^ 0x40]), 0, 1, at);
  await file.close();
  return place;
}

/** The block and the place in it where the messages lie, and the bytes of a block. */
async function messagesAt(path: string): Promise<number[]> {
  const found = await askFile(
    path,
    `SELECT block_id, block_offset, (SELECT block_size FROM pragma_database_size() LIMIT 1) FROM pragma_storage_info('"postgres.logs"')
      WHERE column_name = 'event_message' AND segment_type = 'VARCHAR' AND persistent`,
  );
  return found[0]!.map(Number);
}

test('a file that is damaged inside is named and set aside while the gateway serves, and no event is lost', async () => {
  const gateway = await openWithEvents();
  const damaged = readCurrent(gateway.path).path;
  await damage(damaged);
  const first = await gateway.ask();
  expect([first.status, first.body.error.code]).toEqual([503, 'unavailable']);
  expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0);
  const { file, keptAs } = await gateway.event('database.damaged');
  expect([file, keptAs]).toEqual([damaged, expect.stringContaining(`${damaged}.damaged-`)]);
  await expect
    .poll(async () => (await gateway.ask()).body)
    .toEqual({
      result: [{ n: events }],
    });
  await gateway.sendEvents(events, events + 5);
  await expect
    .poll(async () => (await gateway.ask()).body)
    .toEqual({
      result: [{ n: events + 5 }],
    });
});

test('of two files the damaged one is set aside, and neither where both are', async () => {
  const gateway = await openWithEvents();
  const current = readCurrent(gateway.path).path;
  const spare = spareOf(gateway.path, readCurrent(gateway.path));
  await copyFile(current, spare);
  const place = await damage(spare);
  expect(await Promise.all([current, spare].map(path => isDamagedAt(path, place)))).toEqual([false, true]);
  expect(await damage(current)).toBe(place);
  expect(await repairBlock(gateway.path, place, 7)).toEqual([]);
  await damage(current); // it is whole again
  expect(await repairBlock(gateway.path, place, 8)).toEqual([{ file: spare, keptAs: `${spare}.damaged-8` }]);
  expect(readCurrent(gateway.path).path).toBe(current);
});

test('the last block of a file that ends too early is damaged, and not where the other file has fewer blocks', async () => {
  const directory = await temporaryDirectory();
  const [path, longer, shorter] = ['whole', 'longer', 'shorter'].map(name => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const { connection, close } = await openForWriting(path, []);
  await connection.run('CREATE TABLE numbers AS SELECT hash(n) AS h FROM range(20000) t(n); CHECKPOINT');
  close();
  await copyFile(path, longer);
  await copyFile(path, shorter);
  const { size } = await stat(path);
  await truncate(longer, size - 1);
  // The counts of both headers, one block less; that of a file without blocks stays.
  const file = await open(shorter, 'r+');
  for (const at of [4096 + 32, 8192 + 32]) {
    const { buffer } = await file.read(Buffer.alloc(8), 0, 8, at);
    const blocks = buffer.readBigUInt64LE();
    buffer.writeBigUInt64LE(blocks === 0n ? blocks : blocks - 1n);
    await file.write(buffer, 0, 8, at);
  }
  await file.close();
  const text = `IO Error: Could not read enough bytes from file "longer": attempted to read 1 bytes from location ${size - 1}`;
  const place = damagedPlace(new Error(text));
  expect(place).toBe(size - 1);
  const files = [longer, path, shorter, join(directory, 'none')];
  expect(await Promise.all(files.map(each => isDamagedAt(each, place!)))).toEqual([
    true,
    false,
    false,
    false,
  ]);
  // Headers have checksums of their own.
  expect(await Promise.all([path, shorter].map(each => isDamagedAt(each, 4096)))).toEqual([false, true]);
});

test('errors about anything else are about no block', () => {
  expect(damagedPlace(new Error('IO Error: Could not read'))).toBeUndefined();
});
