import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AuthEvent } from '../../src/auth/auth-events.ts';
import { issueToken, revokeToken, rotateToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import type { TokenRecords } from '../../src/auth/token-record.ts';
import { hashToken, newTokenText } from '../../src/auth/token-text.ts';
import { createTokens, type Tokens } from '../../src/auth/tokens.ts';
import { createFileLedger } from '../../src/auth/usage/file-ledger.ts';
import { createMeters } from '../../src/auth/usage/meters.ts';
import { GatewayError } from '../../src/base/errors.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';

let clock: StandingClock;
let directory: string;
let file: string;
let events: AuthEvent[];
const opened: Tokens[] = [];

beforeEach(async () => {
  clock = createStandingClock();
  directory = await mkdtemp(join(tmpdir(), 'tokens-'));
  file = join(directory, 'tokens.json');
  events = [];
});
afterEach(async () => {
  for (const tokens of opened.splice(0)) tokens.close();
  await rm(directory, { recursive: true });
});

type OpenOptions = { hashes?: string[]; accessToken?: string; records?: TokenRecords };

async function open(options: OpenOptions = {}): Promise<Tokens> {
  const { hashes = [], accessToken, records = tokenFile(file) } = options;
  const emit = (event: AuthEvent) => void events.push(event);
  const meters = createMeters({ ledger: createFileLedger(`${file}-usage`), clock, emit });
  onTestFinished(() => meters.close());
  const tokens = await createTokens({ records, meters, hashes, accessToken, clock, emit });
  opened.push(tokens);
  return tokens;
}

function refusal(tokens: Tokens, presented: string | undefined): string {
  try {
    tokens.authenticate(presented);
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code: 'unauthorized', status: 401 });
    return String(error);
  }
  throw new Error('the token was accepted');
}

describe('an issued token', () => {
  test('contract 8.3: shows its id, followed by 256 random bits', async () => {
    const token = await issueToken(tokenFile(file), {
      name: 'ci',
      clock,
      randomBytes: size => Buffer.alloc(size, 0xab),
    });
    const text = `sqg_abababab_${Buffer.alloc(32, 0xab).toString('base64url')}`;
    expect(token).toBe(text + crc32(text).toString(16).padStart(8, '0'));
    expect(token).toHaveLength(64);
  });

  test('contract 8.3: has an id of its own, whatever was drawn', async () => {
    const drawn = [1, 1, 1, 1, 2, 2];
    const randomBytes = (size: number) => Buffer.alloc(size, drawn.shift());
    const issue = () => issueToken(tokenFile(file), { name: 'ci', clock, randomBytes });
    expect([await issue(), await issue()].map(token => token.slice(4, 12))).toEqual(['01010101', '02020202']);
    expect(JSON.parse(await readFile(file, 'utf8'))).toHaveLength(2);
  });

  test('contract 8.2: is stored only as a hash, in a file that only its owner may read', async () => {
    const token = await issueToken(tokenFile(file), { name: 'ci', clock });
    const text = await readFile(file, 'utf8');
    expect(text).not.toContain(token.split('_').slice(2).join('_'));
    expect(JSON.parse(text)).toEqual([
      {
        id: token.slice(4, 12),
        name: 'ci',
        hash: hashToken(token).toString('hex'),
        scopes: [],
        createdAt: '2026-01-15T12:00:00.000Z',
      },
    ]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('names its caller', async () => {
    const grants = { endpoints: ['logs.*'], parameters: { project: 'abc' }, maxBytesBilled: 5 };
    const options = { name: 'ci', scopes: ['admin'], without: ['introspect'], clock, ...grants } as const;
    const token = await issueToken(tokenFile(file), options);
    expect((await open()).authenticate(token)).toMatchObject({
      tokenId: token.slice(4, 12),
      scopes: new Set(['sandbox', 'admin', 'warm', 'invalidate', 'metrics']),
      endpoints: /^(?:logs\..*)$/,
      fixedParameters: { project: 'abc' },
      maxBytesBilled: 5,
    });
  });

  test('of a file from before there were such scopes keeps the rights that every token had', async () => {
    const hash = hashToken('old').toString('hex');
    const record = { id: '01234567', name: 'old', hash, createdAt: '2025-01-01T00:00:00Z' };
    await writeFile(file, JSON.stringify([record]));
    expect((await open()).authenticate('old')).toMatchObject({
      tokenId: '01234567',
      scopes: new Set(['sandbox', 'introspect']),
    });
  });

  test('that is rotated keeps its id; the secret so far is accepted until the grace is over', async () => {
    const expiresAt = '2026-01-15T14:00:00Z';
    const old = await issueToken(tokenFile(file), { name: 'ci', scopes: ['explain'], expiresAt, clock });
    const id = old.slice(4, 12);
    const rotated = await rotateToken(tokenFile(file), { id, graceMs: 60_000, clock });
    expect([rotated?.slice(4, 12), rotated?.length]).toEqual([id, 64]);
    const tokens = await open();
    expect(tokens.authenticate(rotated)).toEqual(tokens.authenticate(old));
    const before = tokens.authenticate(old);
    clock.advance(60_000);
    expect(refusal(tokens, old)).toContain('not known');
    expect([tokens.isCurrent(before), tokens.authenticate(rotated).tokenId]).toEqual([false, id]);
    const again = await rotateToken(tokenFile(file), { id, graceMs: 0, clock });
    await tokens.refresh();
    for (const gone of [old, rotated]) expect(refusal(tokens, gone)).toContain('not known');
    await revokeToken(tokenFile(file), { id, clock });
    await tokens.refresh();
    expect(refusal(tokens, again)).toContain('not known');
    expect(await rotateToken(tokenFile(file), { id, graceMs: 0, clock })).toBeUndefined();
  });

  test('with a character wrong is told from an unknown one', async () => {
    const token = await issueToken(tokenFile(file), { name: 'ci', clock });
    const tokens = await open();
    const wrong = `${token.slice(0, 20)}${token[20] === 'A' ? 'B' : 'A'}${token.slice(21)}`;
    expect(refusal(tokens, wrong)).toContain('mistyped');
    expect(refusal(tokens, token.slice(0, -1))).toContain('not known');
  });

  test('contract 8.4: is accepted until it expires, and refused from that moment on', async () => {
    const token = await issueToken(tokenFile(file), { name: 'ci', expiresAt: '2026-01-15T13:00:00Z', clock });
    const tokens = await open();
    clock.advance(3_600_000 - 1);
    expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
    clock.advance(1);
    expect(refusal(tokens, token)).toBe(refusal(tokens, 'unknown'));
  });

  test('contract 8.4: is refused once revoked, without a restart, while others stay valid', async () => {
    const token = await issueToken(tokenFile(file), { name: 'ci', clock });
    const other = await issueToken(tokenFile(file), { name: 'other', clock });
    const tokens = await open();
    expect(await revokeToken(tokenFile(file), { id: token.slice(4, 12), clock })).toBe(true);
    await tokens.refresh();
    expect(refusal(tokens, token)).toBe(refusal(tokens, 'unknown'));
    expect(tokens.authenticate(other).tokenId).toBe(other.slice(4, 12));
    expect(await tokenFile(file).read()).toMatchObject([
      { revokedAt: '2026-01-15T12:00:00.000Z' },
      { name: 'other' },
    ]);
  });

  test('can be issued while the gateway runs', async () => {
    const tokens = await open();
    const token = await issueToken(tokenFile(file), { name: 'late', clock });
    await tokens.refresh();
    expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
    expect(events).toContainEqual({ type: 'tokens.loaded', count: 1 });
  });
});

test('revoking an id that no token has changes nothing', async () => {
  await issueToken(tokenFile(file), { name: 'ci', clock });
  const before = await readFile(file, 'utf8');
  expect(await revokeToken(tokenFile(file), { id: '00000000', clock })).toBe(false);
  expect(await readFile(file, 'utf8')).toBe(before);
});

test('a file broken while the gateway runs keeps the last good tokens, and says so once', async () => {
  const token = await issueToken(tokenFile(file), { name: 'ci', clock });
  const tokens = await open();
  await writeFile(file, '[{"id":"nonsense"}]');
  await tokens.refresh();
  await tokens.refresh();
  expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
  expect(events.filter(({ type }) => type === 'tokens.broken')).toEqual([
    { type: 'tokens.broken', message: expect.stringContaining(file) },
  ]);
});

test('a file broken at start stops the start', async () => {
  await writeFile(file, 'not json');
  await expect(open()).rejects.toThrow(file);
});

test('tokens that are out of reach are no reason to call one unknown, and are taken up when they are back', async () => {
  const token = await issueToken(tokenFile(file), { name: 'ci', clock });
  let isGone = true;
  const version = async () => {
    if (isGone) throw new Error('gone');
    return 'one';
  };
  const records = { ...tokenFile(file), isRemote: true, version };
  const tokens = await open({ records, accessToken: 'plain' });
  await tokens.refresh();
  expect(() => tokens.authenticate(token)).toThrow(expect.objectContaining({ code: 'unavailable' }));
  expect(tokens.authenticate('plain').tokenId).toBe('development');
  isGone = false;
  await tokens.refresh();
  expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
  isGone = true;
  await tokens.refresh();
  expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
  const broken = { type: 'tokens.broken', message: 'gone' };
  expect(events).toEqual([broken, { type: 'tokens.loaded', count: 1 }, broken]);
});

test('accepts the development token, and hashes from the environment in either letter case', async () => {
  const [hash, other] = ['secret', 'other'].map(text => hashToken(text).toString('hex').toUpperCase());
  const tokens = await open({ hashes: [hash!, other!], accessToken: 'any text é' });
  expect(tokens.authenticate('any text é').tokenId).toBe('development');
  const ids = ['secret', 'other'].map(text => tokens.authenticate(text).tokenId);
  expect(ids).toEqual([hash, other].map(each => `environment-${each!.slice(0, 8).toLowerCase()}`));
});

test('distinguishes a missing token from a wrong one', async () => {
  const tokens = await open({ accessToken: 'right' });
  expect(refusal(tokens, undefined)).toBe(refusal(tokens, ''));
  expect(refusal(tokens, 'wrong')).not.toBe(refusal(tokens, undefined));
});

test.each([
  ['another secret behind a known id', (token: string) => newTokenText(token.slice(4, 12))],
  ['the visible prefix alone', (token: string) => token.slice(0, 12)],
  ['the stored hash', (token: string) => hashToken(token).toString('hex')],
  ['white space around it', (token: string) => ` ${token}`],
  ['more than 4 KiB', (token: string) => token + 'x'.repeat(5000)],
])('refuses %s', async (_, spoil) => {
  const token = await issueToken(tokenFile(file), { name: 'ci', clock });
  expect(refusal(await open(), spoil(token))).toContain('not known');
});
