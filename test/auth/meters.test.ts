import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import '../support/seed-properties.ts';
import { join } from 'node:path';
import type { AuthEvent } from '../../src/auth/auth-events.ts';
import { openRedisTokens } from '../../src/auth/redis-tokens.ts';
import { createFileLedger } from '../../src/auth/usage/file-ledger.ts';
import { createMeters, type Meters } from '../../src/auth/usage/meters.ts';
import { createRateBucket } from '../../src/auth/usage/rate-bucket.ts';
import type { TokenLimits } from '../../src/auth/usage/token-limits.ts';
import type { UsageLedger } from '../../src/auth/usage/usage-ledger.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let clock: StandingClock;
let events: AuthEvent[];
beforeEach(() => {
  clock = createStandingClock('2026-01-31T12:00:00Z');
  events = [];
});

function open(ledger: UsageLedger): Meters {
  const meters = createMeters({ ledger, clock, emit: event => events.push(event) });
  onTestFinished(() => meters.close());
  return meters;
}

/** A ledger that does not answer. */
const broken: UsageLedger = {
  intervalMs: 1_000_000,
  isShared: true,
  exchange: async () => Promise.reject(new Error('gone')),
  lastUses: async () => new Map(),
  close: async () => undefined,
};

describe('contract 8.7: requests', () => {
  test('up to the burst come at once, then one for each part of the second', () => {
    const meter = open(broken).of('a', { requestsPerSecond: 2, burst: 3 });
    expect([1, 1, 1, 1].map(count => meter.admit(count))).toEqual([0, 0, 0, 500]);
    clock.advance(499);
    expect(meter.admit(1)).toBe(1);
    clock.advance(1);
    expect([meter.admit(1), meter.admit(1)]).toEqual([0, 500]);
    clock.advance(60_000);
    expect([meter.admit(4), meter.admit(3), meter.admit(1)]).toEqual([500, 0, 500]);
  });

  test('a clock that is set back refuses nobody', () => {
    const meter = open(broken).of('a', { requestsPerSecond: 2, burst: 3 });
    expect(meter.admit(3)).toBe(0);
    clock.advance(-3_600_000);
    expect(meter.admit(1)).toBe(500);
    clock.advance(500);
    expect(meter.admit(1)).toBe(0);
  });

  test('are within the limits of the second and of the minute', () => {
    const meter = open(broken).of('a', { requestsPerSecond: 10, requestsPerMinute: 12 });
    expect(meter.admit(10)).toBe(0);
    clock.advance(1000);
    expect([meter.admit(2), meter.admit(1)]).toEqual([0, 4000]);
    expect(open(broken).of('b', undefined).admit(1_000_000)).toBe(0);
  });

  test('never exceed the burst and what has come back since, in any span', () => {
    const steps = fc.array(fc.tuple(fc.nat(3000), fc.integer({ min: 1, max: 5 })), { maxLength: 60 });
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 6 }),
        (all, rate, burst) => {
          const bucket = createRateBucket({ intervalMs: 1000 / rate, burst });
          let now = 0;
          const admitted: { at: number; count: number }[] = [];
          for (const [pause, count] of all) {
            now += pause;
            const waitMs = bucket.waitMs(now, count);
            if (waitMs > 0) continue;
            bucket.take(now, count);
            admitted.push({ at: now, count });
          }
          for (const [first, { at: from }] of admitted.entries()) {
            let sum = 0;
            for (const { at, count } of admitted.slice(first)) {
              sum += count;
              expect(sum).toBeLessThanOrEqual(burst + ((at - from) * rate) / 1000 + 1e-6);
            }
          }
        },
      ),
    );
  });

  test('a token that is read again keeps what it has used', () => {
    const meters = open(broken);
    expect(meters.of('a', { requestsPerSecond: 1 }).admit(1)).toBe(0);
    expect(meters.of('a', { requestsPerSecond: 1 }).admit(1)).toBe(1000);
  });

  test('are limited in each gateway while the ledger does not answer, which is said once', async () => {
    const meters = open(broken);
    const meter = meters.of('a', { requestsPerSecond: 1, bytesPerDay: 10 });
    expect([meter.admit(1), meter.admit(1)]).toEqual([0, 1000]);
    meter.addBytes(10);
    for (let n = 0; n < 3; n++) await meters.sync();
    expect((await meter.quota?.())?.code).toBe('quota_exceeded');
    expect(events).toEqual([{ type: 'tokens.usage_failed', message: 'Error: gone' }]);
  });
});

test('subjects of JSON Web Tokens have meters in a bounded number, and what a forgotten one has used is not forgotten', async () => {
  const heard = new Map<string, number>();
  const ledger: UsageLedger = {
    ...broken,
    exchange: async used =>
      used.map(({ tokenId, bytes }) => {
        heard.set(tokenId, (heard.get(tokenId) ?? 0) + bytes);
        return { bytesOfDay: bytes, bytesOfMonth: bytes };
      }),
  };
  const meters = open(ledger);
  const limits = { requestsPerMinute: 1, bytesPerDay: 1000 };
  for (let n = 0; n < 10_001; n++) meters.ofSubject(`jwt-${n}`, limits).addBytes(7);
  expect(meters.ofSubject('jwt-5000', limits)).toBe(meters.ofSubject('jwt-5000', limits));
  await settle(meters);
  expect([heard.size, heard.get('jwt-0'), heard.get('jwt-10000')]).toEqual([10_001, 7, 7]);
  expect(meters.ofSubject('jwt-10000', limits).admit(1)).toBe(0);
  expect(meters.ofSubject('jwt-10000', limits).admit(1)).toBe(60_000);
});

describe('contract 8.7: bytes', () => {
  test('that a ledger hears of after midnight are of the day before', async () => {
    const heard: [day: string, bytes: number][] = [];
    const ledger: UsageLedger = {
      ...broken,
      exchange: async used => {
        return used.map(({ bytes, day }) => {
          if (bytes > 0) heard.push([day, bytes]);
          const bytesOfDay = heard.reduce((sum, [of, each]) => sum + (of === day ? each : 0), 0);
          return { bytesOfDay, bytesOfMonth: bytesOfDay };
        });
      },
    };
    const meters = open(ledger);
    const meter = meters.of('a', { bytesPerDay: 8 });
    expect(await meter.quota?.()).toBeUndefined();
    meter.addBytes(8);
    expect((await meter.quota?.())?.code).toBe('quota_exceeded');
    meter.addBytes(5);
    clock.advance(86_400_000);
    meter.addBytes(3);
    for (let n = 0; n < 3; n++) await settle(meters);
    const [before, after] = ['2026-01-31', '2026-02-01'];
    expect(heard).toEqual([
      [before, 13],
      [after, 3],
    ]);
    expect(await meter.quota?.()).toBeUndefined();
    meter.addBytes(5);
    expect((await meter.quota?.())?.code).toBe('quota_exceeded');
  });

  test('that were read under other limits of the token count on', async () => {
    const meters = open(broken);
    meters.of('a', { bytesPerDay: 1000 }).addBytes(10);
    expect((await meters.of('a', { bytesPerDay: 10 }).quota?.())?.code).toBe('quota_exceeded');
    expect(await meters.of('a', { bytesPerDay: 11 }).quota?.()).toBeUndefined();
  });
});

const ledgers: Record<string, () => Promise<() => UsageLedger>> = {
  file: async () => {
    const file = join(await temporaryDirectory(), 'usage.json');
    return () => createFileLedger(file);
  },
  redis: async () => {
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    const opened: { close(): void }[] = [];
    onTestFinished(() => {
      for (const each of opened) each.close();
    });
    const open = async () => {
      const redis = openRedisTokens(server.url);
      opened.push(redis);
      await redis.ready(5000);
      return redis.ledger;
    };
    const ready = [await open(), await open(), await open(), await open()];
    return () => ready.pop()!; // no test opens more
  },
};

test.each(Object.entries(ledgers))(
  'contract 8.7: bytes that one gateway reports after midnight take none from the new day of others, with a ledger in %s',
  async (_name, prepare) => {
    const ledger = (await prepare())();
    const used = (bytes: number, day: string) => ({ tokenId: 'a', rates: [], bytes, day, usedAtMs: 0 });
    const [before, after] = ['2026-01-31', '2026-02-01'];
    await ledger.exchange([used(10, before)]);
    await ledger.exchange([used(100, after)]);
    await ledger.exchange([used(1, before)]);
    expect(await ledger.exchange([used(0, after)])).toMatchObject([{ bytesOfDay: 101, bytesOfMonth: 101 }]);
  },
);

test('bytes of a clock that was days ahead do not stay, with a ledger in a file', async () => {
  const ledger = (await ledgers.file!())();
  const used = (bytes: number, day: string) => ({ tokenId: 'a', rates: [], bytes, day, usedAtMs: 0 });
  await ledger.exchange([used(100, '2030-01-01')]);
  expect(await ledger.exchange([used(1, '2026-01-31')])).toMatchObject([{ bytesOfDay: 1, bytesOfMonth: 1 }]);
});

/** Asks for the quota of a token once the ledger has answered, which a busy disk may keep from doing in time for a query. */
const known = (meters: Meters, limits: TokenLimits) => async (tokenId: string) => {
  const meter = meters.of(tokenId, limits);
  await meter.quota?.();
  await settle(meters);
  return meter.quota?.();
};

describe.each(Object.entries(ledgers))('contract 8.7: bytes, with a ledger in %s', (_name, prepare) => {
  test('of all gateways add up by day and by month, and survive a restart', async () => {
    const openLedger = await prepare();
    const limits = { bytesPerDay: 100, bytesPerMonth: 150 };
    const [one, other] = [open(openLedger()), open(openLedger())];
    const [here, there] = [one.of('a', limits), other.of('a', limits)];
    here.addBytes(60);
    await one.sync();
    there.addBytes(39);
    await other.sync();
    expect(await there.quota?.()).toBeUndefined();
    there.addBytes(1);
    const refused = await there.quota?.();
    expect([refused?.code, refused?.retryAfterSeconds]).toEqual(['quota_exceeded', 12 * 3600]);
    await other.sync();
    const restarted = open(openLedger());
    expect((await known(restarted, limits)('a'))?.message).toContain('for a day');
    expect(await known(restarted, limits)('b')).toBeUndefined();

    // The last day of January: the month is over with the day.
    clock.advance(12 * 3_600_000);
    expect(await there.quota?.()).toBeUndefined();
    there.addBytes(90);
    await other.sync();
    clock.advance(86_400_000);
    expect(await there.quota?.()).toBeUndefined();
    there.addBytes(60);
    await other.sync();
    const month = await known(open(openLedger()), limits)('a');
    expect([month?.message.includes('for a month'), month?.retryAfterSeconds]).toEqual([true, 27 * 86_400]);
  });

  test('a token’s last use is known to the minute', async () => {
    const ledger = (await prepare())();
    const meters = open(ledger);
    clock.advance(61_000);
    meters.of('a', undefined).admit(1);
    await meters.sync();
    expect(await ledger.lastUses(['a', 'b'])).toEqual(new Map([['a', Date.parse('2026-01-31T12:01:00Z')]]));
  });
});

/** Exchanges all that was used until now: a call may join an exchange that began before. */
async function settle(meters: Meters): Promise<void> {
  await meters.sync();
  await meters.sync();
}

test('contract 8.7: over Redis one burst is for all gateways, and what was taken is taken everywhere', async () => {
  const openLedger = await ledgers.redis!();
  const [one, other] = [open(openLedger()), open(openLedger())];
  const limits = { requestsPerMinute: 10 };
  const [here, there] = [one.of('a', limits), other.of('a', limits)];
  expect(here.admit(10)).toBe(0);
  await settle(one);
  // The first request after a pause asks Redis, and is not kept waiting for the answer.
  expect(there.admit(1)).toBe(0);
  await settle(other);
  const waitMs = there.admit(1);
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(12_000);
  await settle(one);
  expect(here.admit(1)).toBeGreaterThan(0);
});
