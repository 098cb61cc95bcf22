import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AuthEvent } from '../../src/auth/auth-events.ts';
import type { Caller } from '../../src/auth/caller.ts';
import { acceptJwts, createJwtVerifier, type JwtOptions, looksLikeJwt } from '../../src/auth/jwt.ts';
import { createJwtKeys } from '../../src/auth/jwt-keys.ts';
import { createMeters } from '../../src/auth/usage/meters.ts';
import type { UsageLedger } from '../../src/auth/usage/usage-ledger.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';

const issuer = 'https://issuer.example';
const audience = 'saved-queries';
const secret = 'a secret of more than 32 characters, as it must be';

const keyPairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
};

type Algorithm = keyof typeof keyPairs;

let clock: StandingClock;
let events: AuthEvent[];
beforeEach(() => {
  clock = createStandingClock('2026-01-15T12:00:00Z');
  events = [];
});

const now = () => Math.floor(clock.now() / 1000);
const encode = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString('base64url');

const claims = (more: object = {}) => ({
  iss: issuer,
  aud: audience,
  sub: 'ada@example.com',
  exp: now() + 3600,
  ...more,
});

/** Makes a JWT by hand: another library than the one that checks it. */
function jwt(
  payload: object,
  header: { alg: string; kid?: string },
  signature: (text: string) => Buffer,
): string {
  const text = `${encode({ typ: 'JWT', ...header })}.${encode(payload)}`;
  return `${text}.${encode(signature(text))}`;
}

const hmac = (key: string | Buffer) => (text: string) => createHmac('sha256', key).update(text).digest();
const byKey = (alg: Algorithm, key: KeyObject) => (text: string) =>
  alg === 'EdDSA'
    ? sign(null, Buffer.from(text), key)
    : sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });

const signed = (payload: object, alg: Algorithm = 'RS256', kid: string = alg, pair = keyPairs[alg]) =>
  jwt(payload, { alg, kid }, byKey(alg, pair.privateKey));
const shared = (payload: object, key: string | Buffer = secret) => jwt(payload, { alg: 'HS256' }, hmac(key));

const jwkOf = (alg: Algorithm, kid: string = alg, pair = keyPairs[alg]) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  kid,
  alg,
  use: 'sig',
});

/** An issuer that publishes its keys; `answer` says how it does. */
async function openIssuer() {
  const published = {
    keys: (Object.keys(keyPairs) as Algorithm[]).map(alg => jwkOf(alg)) as object[],
    answer: 'keys' as 'keys' | 'failure' | 'nonsense' | 'redirect' | 'huge' | 'nothing',
    requests: 0,
  };
  const server = createServer((_request, response) => {
    published.requests++;
    if (published.answer === 'failure') response.writeHead(503);
    if (published.answer === 'nothing') return;
    if (published.answer === 'huge') {
      const part = Buffer.alloc(64 * 1024, ' ');
      const write = () => {
        while (!response.destroyed && response.write(part));
        if (!response.destroyed) response.once('drain', write);
      };
      return write();
    }
    if (published.answer === 'redirect') response.writeHead(302, { location: 'https://elsewhere.example' });
    response.end(published.answer === 'nonsense' ? 'x' : JSON.stringify({ keys: published.keys }));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return Object.assign(published, { url: `http://127.0.0.1:${port}/jwks.json` });
}

async function open(more: Partial<JwtOptions> = {}, { timeoutMs }: { timeoutMs?: number } = {}) {
  const published = await openIssuer();
  const emit = (event: AuthEvent) => void events.push(event);
  const keys = createJwtKeys({ url: published.url, clock, emit, ...(timeoutMs && { timeoutMs }) });
  const denied = new Set<string>();
  const meters = createMeters({ ledger: noLedger, clock, emit: event => void events.push(event) });
  onTestFinished(() => meters.close());
  const options = {
    issuer,
    audience,
    secret,
    keys,
    leewaySeconds: 30,
    maxAgeSeconds: undefined,
    parameterClaims: new Map(),
    limits: undefined,
    meters,
    isDenied: (ids: readonly string[]) => ids.some(id => denied.has(id)),
    clock,
  };
  const verifier = createJwtVerifier({ ...options, ...more });
  return { published, denied, ...verifier };
}

/** For limits that one gateway holds on its own. */
const noLedger: UsageLedger = {
  intervalMs: 1_000_000,
  isShared: false,
  exchange: async used => used.map(() => ({ bytesOfDay: 0, bytesOfMonth: 0 })),
  lastUses: async () => new Map(),
  close: async () => undefined,
};

async function refusal(verify: (token: string) => Promise<Caller>, token: string): Promise<string> {
  const outcome = await verify(token).catch((error: unknown) => error);
  expect(outcome).toMatchObject({ code: 'unauthorized', status: 401 });
  return String(outcome);
}

test('contract 8.10: RS256, ES256, EdDSA and HS256 are accepted, and claims give scopes, saved queries and fixed parameters', async () => {
  const { verify } = await open();
  const payload = claims({
    aud: ['other', audience],
    scope: 'openid sandbox admin no-such',
    sqg_endpoints: ['logs.*'],
    sqg_parameters: { project: 'abc' },
    sqg_max_bytes_billed: 1000,
  });
  const tokens = [signed(payload), signed(payload, 'ES256'), signed(payload, 'EdDSA'), shared(payload)];
  const callers = await Promise.all(tokens.map(verify));
  for (const caller of callers) {
    expect(caller).toEqual({
      tokenId: expect.stringMatching(/^jwt-[0-9a-f]{12}$/),
      scopes: new Set(['sandbox', 'admin', 'warm', 'invalidate', 'metrics']),
      endpoints: /^(?:logs\..*)$/,
      fixedParameters: { project: 'abc' },
      maxBytesBilled: 1000,
    });
  }
  const plain = await verify(signed(claims()));
  expect([plain.scopes, plain.tokenId]).toEqual([new Set(), callers[0]?.tokenId]);
  expect((await verify(signed(claims({ sub: 'bob' })))).tokenId).not.toBe(plain.tokenId);
});

describe('contract 8.10: is refused', () => {
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const publicText = keyPairs.RS256.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const none = (alg: string) => () => jwt(claims(), { alg }, () => Buffer.alloc(0));
  const cases: [what: string, token: () => string, reason: string][] = [
    ['alg none', none('none'), 'its algorithm is not allowed'],
    ['alg None', none('None'), 'its algorithm is not allowed'],
    ['no signature', () => signed(claims()).replace(/[^.]*$/, ''), 'its signature or its form is wrong'],
    [
      'another signature',
      () => signed(claims()).replace(/[^.]*$/, encode(randomBytes(256))),
      'its signature or its form is wrong',
    ],
    [
      'a payload that was changed',
      () => signed(claims()).replace(/\.[^.]*\./, `.${encode(claims({ scope: 'admin' }))}.`),
      'its signature or its form is wrong',
    ],
    [
      'a public key as the secret',
      () => jwt(claims(), { alg: 'HS256', kid: 'RS256' }, hmac(publicText)),
      'its signature or its form is wrong',
    ],
    [
      'the modulus of a public key as the secret',
      () => jwt(claims(), { alg: 'HS256', kid: 'RS256' }, hmac(String(jwkOf('RS256').n))),
      'its signature or its form is wrong',
    ],
    ['a key of another algorithm', () => signed(claims(), 'RS256', 'ES256'), 'its key is not among'],
    ['another key of the same name', () => signed(claims(), 'RS256', 'RS256', other), 'signature'],
    ['a key that nobody knows', () => signed(claims(), 'RS256', 'unknown', other), 'its key is not among'],
    ['another secret', () => shared(claims(), `${secret}!`), 'its signature or its form is wrong'],
    ['HS512', () => jwt(claims(), { alg: 'HS512' }, hmac(secret)), 'its algorithm is not allowed'],
    ['PS256', () => jwt(claims(), { alg: 'PS256', kid: 'RS256' }, hmac(secret)), 'its algorithm is not'],
    [
      'a key of its own',
      () =>
        jwt(
          claims(),
          { alg: 'RS256', ...{ jwk: jwkOf('RS256', 'own', other) } },
          byKey('RS256', other.privateKey),
        ),
      'its signature or its form is wrong',
    ],
    ['expired', () => signed(claims({ exp: now() - 31 })), 'it has expired'],
    ['without an end', () => signed(claims({ exp: undefined })), '"exp"'],
    ['not valid yet', () => signed(claims({ nbf: now() + 31 })), '"nbf"'],
    ['of another issuer', () => signed(claims({ iss: `${issuer}/` })), '"iss"'],
    ['without issuer', () => signed(claims({ iss: undefined })), '"iss"'],
    ['for another audience', () => signed(claims({ aud: 'others' })), '"aud"'],
    ['without audience', () => signed(claims({ aud: undefined })), '"aud"'],
    ['without subject', () => signed(claims({ sub: undefined })), '"sub"'],
    ['fixing what is no text', () => signed(claims({ sqg_parameters: { project: 7 } })), '"sqg_parameters"'],
    ['fixing nothing readable', () => signed(claims({ sqg_parameters: 'abc' })), '"sqg_parameters"'],
    ['covering what is no name', () => signed(claims({ sqg_endpoints: ['.*(', 'x'] })), '"sqg_endpoints"'],
    ['covering nothing', () => signed(claims({ sqg_endpoints: [] })), '"sqg_endpoints"'],
    ['with limits that nobody knows', () => signed(claims({ sqg_limits: { perHour: 1 } })), '"sqg_limits"'],
    ['with a limit that is no number', () => signed(claims({ sqg_limits: { burst: '1' } })), '"sqg_limits"'],
    ['with a burst of nothing', () => signed(claims({ sqg_limits: { burst: 1 } })), '"sqg_limits"'],
    ['with scopes in a list', () => signed(claims({ scope: ['admin'] })), '"scope"'],
  ];
  test.each(cases)('%s', async (_what, token, reason) => {
    const { verify } = await open();
    const message = await refusal(verify, token());
    expect(message).toContain(reason);
    expect(message).not.toContain('ada@example.com');
  });

  test('what the settings give no key for', async () => {
    const { verify } = await open({ secret: undefined });
    for (const key of [secret, '', publicText]) {
      expect(await refusal(verify, shared(claims(), key))).toContain('its algorithm is not allowed');
    }
    const bySecret = await open({ keys: undefined });
    expect(await refusal(bySecret.verify, signed(claims()))).toContain('its algorithm is not allowed');
    expect((await bySecret.verify(shared(claims()))).tokenId).toMatch(/^jwt-/);
  });

  test('a token without the claim that is to fix a parameter, or with two values for it', async () => {
    const { verify } = await open({ parameterClaims: new Map([['project', 'ref']]) });
    for (const more of [{}, { ref: '' }, { ref: 7 }, { ref: null }, { sqg_parameters: { project: 'abc' } }]) {
      expect(await refusal(verify, signed(claims(more)))).toContain('"ref"');
    }
    const both = claims({ ref: 'abc', sqg_parameters: { project: 'xyz', interval: 'daily' } });
    expect(await refusal(verify, signed(both))).toContain('differ');
    const agreed = claims({ ref: 'abc', sqg_parameters: { project: 'abc', interval: 'daily' } });
    expect((await verify(signed(agreed))).fixedParameters).toEqual({ project: 'abc', interval: 'daily' });
  });
});

test('what was presented and accepted is known, beside the issued tokens', async () => {
  const verifier = await open();
  const issued = {
    authenticate: vi.fn(),
    isAccepted: (text: string) => text === 'issued',
    isCurrent: vi.fn(),
  };
  const { isAccepted } = acceptJwts(issued, verifier);
  const token = signed(claims());
  expect(['issued', token, 'made up'].map(isAccepted)).toEqual([true, false, false]);
  await verifier.verify(token);
  await refusal(verifier.verify, `${token}x`);
  expect([token, `${token}x`].map(isAccepted)).toEqual([true, false]);
});

test('clocks may differ by the leeway, and no answer is repeated after the end of the token', async () => {
  const { verify, isCurrent } = await open();
  const token = signed(claims({ exp: now() + 60, nbf: now() + 30 }));
  const caller = await verify(token);
  expect([await verify(token), isCurrent(caller)]).toEqual([caller, true]);
  clock.advance(90_000 - 1);
  expect([await verify(token), isCurrent(caller)]).toEqual([caller, true]);
  clock.advance(1);
  expect(isCurrent(caller)).toBe(false);
  expect(await refusal(verify, token)).toContain('it has expired');
});

describe('contract 8.10: a subject', () => {
  test('has the limits of its token, else those of the settings, over all of its tokens', async () => {
    const { verify } = await open({ limits: { requestsPerMinute: 3 } });
    const [one, other] = [await verify(signed(claims({ n: 1 }))), await verify(signed(claims({ n: 2 })))];
    expect([one, other, one, other].map(caller => caller.meter?.admit(1))).toEqual([0, 0, 0, 20_000]);
    const bob = await verify(signed(claims({ sub: 'bob', sqg_limits: { requestsPerSecond: 1, burst: 2 } })));
    expect([1, 1, 1].map(count => bob.meter?.admit(count))).toEqual([0, 0, 1000]);
    const { verify: unlimited } = await open();
    expect((await unlimited(signed(claims()))).meter).toBeUndefined();
  });

  test('that is revoked is refused with all of its tokens, those that were checked before too, until it is allowed', async () => {
    const { verify, isCurrent, denied } = await open();
    const token = signed(claims());
    const caller = await verify(token);
    const bob = await verify(signed(claims({ sub: 'bob' })));
    denied.add(caller.tokenId);
    expect([isCurrent(caller), isCurrent(bob)]).toEqual([false, true]);
    for (const each of [token, signed(claims({ n: 2 }))])
      expect(await refusal(verify, each)).toContain('it was revoked');
    denied.clear();
    expect(isCurrent(await verify(token))).toBe(true);
  });

  test('has one token less when that is revoked', async () => {
    const { verify, isCurrent, denied } = await open();
    const [one, other] = [signed(claims({ jti: 'one' })), signed(claims({ jti: 'other' }))];
    const caller = await verify(one);
    denied.add('jti:one');
    expect(isCurrent(caller)).toBe(false);
    expect(await refusal(verify, one)).toContain('it was revoked');
    expect(isCurrent(await verify(other))).toBe(true);
  });
});

test('a token is accepted for the seconds after its issue that the settings say', async () => {
  const { verify, isCurrent } = await open({ maxAgeSeconds: 60 });
  const token = signed(claims({ iat: now() }));
  const caller = await verify(token);
  clock.advance(90_000 - 1);
  expect([isCurrent(caller), isCurrent(await verify(token))]).toEqual([true, true]);
  clock.advance(1);
  expect(isCurrent(caller)).toBe(false);
  clock.advance(1000);
  expect(await refusal(verify, token)).toContain('it has expired');
  expect(await refusal(verify, signed(claims({ iat: undefined })))).toContain('"iat"');
  expect(await refusal(verify, signed(claims({ iat: now() + 31 })))).toContain('"iat"');
});

describe('the keys of the issuer', () => {
  const next = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const long = { exp: 2_000_000_000 };

  test('are read once, again for a key that is new, and not for each token that names no key', async () => {
    const { verify, published } = await open();
    await Promise.all(['a', 'b', 'c'].map(sub => verify(signed(claims({ sub })))));
    expect(published.requests).toBe(1);
    published.keys.push(jwkOf('RS256', 'next', next));
    expect(await refusal(verify, signed(claims(), 'RS256', 'next', next))).toContain('its key is not');
    expect(published.requests).toBe(1);
    clock.advance(30_000);
    await verify(signed(claims(), 'RS256', 'next', next));
    expect(published.requests).toBe(2);
    for (let n = 0; n < 5; n++) await refusal(verify, signed(claims({ n }), 'RS256', `${n}`, next));
    expect(published.requests).toBe(2);
  });

  test('contract 8.10: that have no id are tried one after the other', async () => {
    const { verify, published } = await open();
    published.keys = [jwkOf('RS256', 'next', next), jwkOf('RS256')].map(({ kid: _, ...key }) => key);
    const unnamed = ({ privateKey }: { privateKey: KeyObject }, payload = claims(long)) =>
      jwt(payload, { alg: 'RS256' }, byKey('RS256', privateKey));
    for (const pair of [next, keyPairs.RS256]) expect((await verify(unnamed(pair))).tokenId).toMatch(/^jwt-/);
    const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
    expect(await refusal(verify, unnamed(foreign))).toContain('its signature');
    expect(await refusal(verify, unnamed(keyPairs.RS256, claims({ iss: 'x' })))).toContain('"iss"');
  });

  test('that are withdrawn are refused within ten minutes, in what is remembered too', async () => {
    const { verify, isCurrent, published } = await open();
    const token = signed(claims(long));
    const caller = await verify(token);
    published.keys = [jwkOf('RS256', 'next', next)];
    clock.advance(10 * 60_000 - 1);
    expect([await verify(token), isCurrent(caller)]).toEqual([caller, true]);
    clock.advance(1);
    expect(isCurrent(caller)).toBe(false);
    expect(await refusal(verify, token)).toContain('its key is not');
  });

  test.each(['failure', 'nonsense', 'redirect'] as const)(
    'that can not be read (%s) are no reason to refuse a token for good; those read before go on',
    async answer => {
      const { verify, published } = await open();
      published.answer = answer;
      await expect(verify(signed(claims(long)))).rejects.toMatchObject({ code: 'unavailable' });
      expect(events).toEqual([{ type: 'tokens.keys_failed', message: expect.any(String) }]);
      published.answer = 'keys';
      clock.advance(30_000);
      await verify(signed(claims(long)));
      published.answer = answer;
      clock.advance(10 * 60_000);
      expect((await verify(signed(claims(long)))).tokenId).toMatch(/^jwt-/);
    },
  );
});

test('keys without an end are read no further than keys may be long', async () => {
  const { verify, published } = await open();
  published.answer = 'huge';
  await expect(verify(signed(claims()))).rejects.toMatchObject({ code: 'unavailable' });
  const message = expect.stringContaining('more than 262144 bytes');
  expect(events).toEqual([{ type: 'tokens.keys_failed', message }]);
});

test('an issuer that says nothing is waited for once, by all tokens, and not for long', async () => {
  const { verify, published } = await open({}, { timeoutMs: 1000 });
  published.answer = 'nothing';
  const asked = Array.from({ length: 50 }, (_, n) =>
    verify(signed(claims({ n }))).catch((error: unknown) => error),
  );
  for (const error of await Promise.all(asked)) expect(error).toMatchObject({ code: 'unavailable' });
  expect(published.requests).toBe(1);
});

test('a forged key that the issuer is asked for lets no other token wait (contract 11.1)', async () => {
  const { verify, published } = await open({}, { timeoutMs: 50_000 });
  await verify(signed(claims()));
  clock.advance(30_000);
  published.answer = 'nothing';
  const forged = verify(signed(claims(), 'RS256', 'forged')).catch((error: unknown) => error);
  await expect.poll(() => published.requests).toBe(2);
  const isFirst = (await Promise.race([forged, verify(signed(claims({ sub: 'other' })))])) as Caller;
  expect(isFirst.tokenId).toMatch(/^jwt-/);
});

test('a text that has not the form of a JWT is none', () => {
  expect(looksLikeJwt(shared(claims()))).toBe(true);
  for (const text of ['', 'ey.a', 'sqg_01234567_x', 'ey a.b.c', `eyJ.${'x'.repeat(5000)}.x`]) {
    expect(looksLikeJwt(text)).toBe(false);
  }
});
