import { randomBytes } from 'node:crypto';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { chooseCoding, codeBody, codedNow } from '../../src/http-messages/content-coding.ts';

describe('the coding of a body', () => {
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
  ])('for Accept-Encoding %j is %s (RFC 9110, section 12.5.3)', (accept, coding) => {
    // Once read, and once remembered.
    for (let time = 0; time < 2; time++) expect(chooseCoding(accept, 1024)).toBe(coding);
    expect(chooseCoding(accept, 1023)).toBeUndefined();
  });

  test('is chosen anew for each of many different headers', () => {
    for (let at = 0; at < 2000; at++) {
      expect(chooseCoding(`gzip;q=0.${at % 10}, x-${at}`, 5000)).toBe(at % 10 === 0 ? undefined : 'gzip');
    }
  });
});

describe.each([
  ['zstd', zstdDecompressSync],
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const)('%s', (coding, decode) => {
  const bodyOf = (bytes: number) =>
    Buffer.from(
      randomBytes(bytes / 4)
        .toString('hex')
        .repeat(2),
    );

  test.each([2048, 200_000])('gives a body of %d bytes back as it was', async bytes => {
    const body = bodyOf(bytes);
    const coded = await codeBody(body, coding);
    expect(coded.length).toBeLessThan(body.length);
    expect(decode(coded)).toEqual(body);
  });

  test('is made once; of a long body not while others wait', async () => {
    const [short, long] = [bodyOf(2048), bodyOf(200_000)];
    expect(codedNow(short, coding)).toBe(codedNow(short, coding));
    expect(codedNow(long, coding)).toBeUndefined();
    const coded = await codeBody(long, coding);
    expect(codedNow(long, coding)).toBe(coded);
    expect(await codeBody(long, coding)).toBe(coded);
  });
});
