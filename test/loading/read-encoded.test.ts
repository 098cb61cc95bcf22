import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { maxEventsBytes, readEncoded } from '../../src/loading/events/read-encoded.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function read(bytes: Buffer, encoding: Parameters<typeof readEncoded>[1]): Promise<Buffer> {
  const file = join(await temporaryDirectory(), 'body');
  await writeFile(file, bytes);
  return readEncoded(file, encoding);
}

const spaces = (bytes: number) => Buffer.alloc(bytes, ' ');
const zstd = (bytes: number, windowLog: number) =>
  zstdCompressSync(spaces(bytes), { params: { [constants.ZSTD_c_windowLog]: windowLog } });

test('contract 11.3: a frame of zstd has a window of 8 MB at most (RFC 9659)', async () => {
  expect(await read(zstd(9_000_000, 23), 'zstd')).toHaveLength(9_000_000);
  await expect(read(zstd(9_000_000, 24), 'zstd')).rejects.toThrow(
    'is not zstd: Frame requires too much memory',
  );
});

test.each([
  ['gzip', gzipSync(spaces(maxEventsBytes + 1))],
  ['deflate', deflateSync(spaces(maxEventsBytes + 1))],
  ['zstd', zstd(maxEventsBytes + 1, 23)],
] as const)('contract 11.3: a bomb of %s is refused when its limit is reached', async (encoding, bomb) => {
  expect(bomb.length).toBeLessThan(100_000);
  await expect(read(bomb, encoding)).rejects.toMatchObject({ code: 'body_too_large' });
});
