import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuthEvent } from '../../src/auth/auth-events.ts';
import { hashToken } from '../../src/auth/hash-token.ts';
import { issueToken, readTokens, revokeToken } from '../../src/auth/token-file.ts';
import { createTokens, type Tokens } from '../../src/auth/tokens.ts';
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

async function open(options: { hashes?: string[]; accessToken?: string } = {}): Promise<Tokens> {
  const { hashes = [], accessToken } = options;
  const tokens = await createTokens({ file, hashes, accessToken, clock, emit: event => events.push(event) });
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
  test('contract 8.3: has its id in sight and 256 random bits behind it', async () => {
    const token = await issueToken({
      file,
      name: 'ci',
      clock,
      randomBytes: size => Buffer.alloc(size, 0xab),
    });
    expect(token).toBe(`sqg_abababab_${Buffer.alloc(32, 0xab).toString('base64url')}`);
  });

  test('contract 8.2: is kept as a hash only, in a file that its owner alone may read', async () => {
    const token = await issueToken({ file, name: 'ci', clock });
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
    const token = await issueToken({ file, name: 'ci', scopes: ['admin'], clock });
    expect((await open()).authenticate(token)).toEqual({
      tokenId: token.slice(4, 12),
      scopes: new Set(['admin']),
    });
  });

  test('contract 8.4: is accepted until it expires, and refused from that moment on', async () => {
    const token = await issueToken({ file, name: 'ci', expiresAt: '2026-01-15T13:00:00Z', clock });
    const tokens = await open();
    clock.advance(3_600_000 - 1);
    expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
    clock.advance(1);
    expect(refusal(tokens, token)).toBe(refusal(tokens, 'unknown'));
  });

  test('contract 8.4: is refused once revoked, without a restart, while others go on', async () => {
    const token = await issueToken({ file, name: 'ci', clock });
    const other = await issueToken({ file, name: 'other', clock });
    const tokens = await open();
    expect(await revokeToken({ file, id: token.slice(4, 12), clock })).toBe(true);
    await tokens.refresh();
    expect(refusal(tokens, token)).toBe(refusal(tokens, 'unknown'));
    expect(tokens.authenticate(other).tokenId).toBe(other.slice(4, 12));
    expect(await readTokens(file)).toMatchObject([
      { revokedAt: '2026-01-15T12:00:00.000Z' },
      { name: 'other' },
    ]);
  });

  test('can be issued while the gateway runs', async () => {
    const tokens = await open();
    const token = await issueToken({ file, name: 'late', clock });
    await tokens.refresh();
    expect(tokens.authenticate(token).tokenId).toBe(token.slice(4, 12));
    expect(events).toContainEqual({ type: 'tokens.loaded', count: 1 });
  });
});

test('revoking an id that no token has changes nothing', async () => {
  await issueToken({ file, name: 'ci', clock });
  const before = await readFile(file, 'utf8');
  expect(await revokeToken({ file, id: '00000000', clock })).toBe(false);
  expect(await readFile(file, 'utf8')).toBe(before);
});

test('a file broken while the gateway runs keeps the last good tokens, and says so once', async () => {
  const token = await issueToken({ file, name: 'ci', clock });
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

test('accepts the development token, and hashes from the environment in either letter case', async () => {
  const [hash, other] = ['secret', 'other'].map(text => hashToken(text).toString('hex').toUpperCase());
  const tokens = await open({ hashes: [hash!, other!], accessToken: 'any text é' });
  expect(tokens.authenticate('any text é').tokenId).toBe('development');
  const ids = ['secret', 'other'].map(text => tokens.authenticate(text).tokenId);
  expect(ids).toEqual([hash, other].map(each => `environment-${each!.slice(0, 8).toLowerCase()}`));
});

test('tells a missing token from a wrong one', async () => {
  const tokens = await open({ accessToken: 'right' });
  expect(refusal(tokens, undefined)).toBe(refusal(tokens, ''));
  expect(refusal(tokens, 'wrong')).not.toBe(refusal(tokens, undefined));
});

test.each([
  [
    'another secret behind a known id',
    (token: string) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
  ],
  ['the visible prefix alone', (token: string) => token.slice(0, 12)],
  ['the stored hash', (token: string) => hashToken(token).toString('hex')],
  ['white space around it', (token: string) => ` ${token}`],
  ['more than 4 KiB', (token: string) => token + 'x'.repeat(5000)],
])('refuses %s', async (_, spoil) => {
  const token = await issueToken({ file, name: 'ci', clock });
  expect(refusal(await open(), spoil(token))).toContain('not known');
});
