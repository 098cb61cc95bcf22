import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { chooseEncoding, encodeBody } from '../../src/http-messages/content-negotiation.ts';

describe('the content encoding of a body', () => {
  test.each([
    ['GZIP', 'gzip'],
    ['gzip;Q=0.5, br;q=0.4', 'gzip'],
    ['gzip ; q=0.5 , br; q=0.8', 'br'],
    ['br;q=0.5, gzip;q=0.5', 'br'],
    ['gzip, *;q=0', 'gzip'],
    ['zstd;q=0, *', 'br'],
    ['*;q=0.5, gzip', 'gzip'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity;q=0.6, gzip;q=0.5', undefined],
    ['identity', undefined],
    ['*;q=0', undefined],
    ['gzip;q=none, br;q=-1', undefined],
    ['', undefined],
    // Of a long list the first 1,000 characters count.
    [`gzip, ${'x, '.repeat(400)}`, 'gzip'],
    [`${'x, '.repeat(400)}gzip`, undefined],
    ['x'.repeat(1200), undefined],
  ])('for Accept-encoding %j is %s (RFC 9110, section 12.5.3)', (accept, encoding) => {
    // Once read, and once remembered.
    for (let time = 0; time < 2; time++) expect(chooseEncoding(accept, 1024)).toBe(encoding);
    expect(chooseEncoding(accept, 1023)).toBeUndefined();
  });

  test('is chosen for each of many different headers', () => {
    for (let at = 0; at < 2000; at++) {
      expect(chooseEncoding(`gzip;q=0.${at % 10}, x-${at}`, 5000)).toBe(at % 10 === 0 ? undefined : 'gzip');
    }
  });
});

const kept = { isKept: true, caller: 'a' };

describe.each([
  ['zstd', zstdDecompressSync],
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const)('%s', (encoding, decode) => {
  const bodyOf = (bytes: number) =>
    Buffer.from(
      randomBytes(bytes / 4)
        .toString('hex')
        .repeat(2),
    );

  test.each([2048, 200_000])('gives a body of %d bytes back as it was', async bytes => {
    const body = bodyOf(bytes);
    const encoded = await encodeBody(body, encoding, kept);
    expect(encoded.length).toBeLessThan(body.length);
    expect(decode(encoded)).toEqual(body);
  });

  test.each([2048, 200_000])('is made once of a body of %d bytes', async bytes => {
    const body = bodyOf(bytes);
    const both = await Promise.all([encodeBody(body, encoding, kept), encodeBody(body, encoding, kept)]);
    expect(both[0]).toBe(both[1]);
    expect(await encodeBody(body, encoding, kept)).toBe(both[0]);
  });

  test.each([2048, 200_000])(
    'contract 11.3: of a body of %d bytes is kept without other memory',
    async bytes => {
      const encoded = await encodeBody(bodyOf(bytes), encoding, kept);
      expect(encoded.buffer.byteLength).toBe(encoded.length);
    },
  );

  test('is made anew of a body that is not kept', async () => {
    const body = bodyOf(2048);
    const once = await encodeBody(body, encoding, { isKept: false, caller: 'a' });
    expect(await encodeBody(body, encoding, kept)).not.toBe(once);
  });

  test('is made in the thread pool of a long body, inline of a short one', async () => {
    const isMadeInline = async (bytes: number) => {
      let isMade = false;
      const making = encodeBody(bodyOf(bytes), encoding, kept).then(() => {
        isMade = true;
      });
      // Microtasks alone run here: what the thread pool has made arrives after them.
      for (let turns = 0; turns < 100; turns++) await Promise.resolve();
      const wasMade = isMade;
      await making;
      return wasMade;
    };
    expect([await isMadeInline(2048), await isMadeInline(200_000)]).toEqual([true, false]);
  });
});

test('contract 11.3: encoded bodies that are kept have a limit of their own, whatever their plain ones take', async () => {
  const [first, ...others] = Array.from({ length: 6 }, () => randomBytes(8_000_000));
  const encoded = await encodeBody(first!, 'zstd', kept);
  expect(await encodeBody(first!, 'zstd', kept)).toBe(encoded);
  for (const body of others) await encodeBody(body, 'zstd', kept);
  expect(await encodeBody(first!, 'zstd', kept)).not.toBe(encoded);
});

test('contract 11.1: a caller waits for no number of bodies of another', async () => {
  const body = randomBytes(1_000_000);
  let done = 0;
  const others = Array.from({ length: 30 }, () =>
    encodeBody(body, 'br', { isKept: false, caller: 'a' }).then(() => done++),
  );
  await encodeBody(body, 'br', { isKept: false, caller: 'b' });
  expect(done).toBeLessThan(15);
  await Promise.all(others);
});
