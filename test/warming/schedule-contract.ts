import { expect, test } from 'vitest';
import type { KeyPage, WarmKey, WarmSchedule } from '../../src/warming/schedule.ts';

type Opened = {
  readonly schedule: WarmSchedule;
  /** Lets the schedule's clock go on. */
  readonly advance: (ms: number) => Promise<void>;
};

/** What every schedule does; times are long, for the clock of one of them goes on by itself between two calls. */
export function scheduleContract(
  open: (options: { maxKeys: number; halfLifeMs?: number }) => Promise<Opened>,
): void {
  const period = 60_000;
  const leaseMs = 600_000;
  const key = (digest: string, group: string, more: Partial<WarmKey> = {}): WarmKey => ({
    digest,
    group,
    endpoint: 'things.all',
    payload: `{"q": "${digest} of x"}`,
    periodMs: period,
    lifetimeMs: 3_600_000,
    ...more,
  });
  const settled = { dueInMs: period, failures: 0, dropped: [], counts: {} };

  test('contract 6.2: a group is due a period after its first read, whole, and to one claimant', async () => {
    const { schedule, advance } = await open({ maxKeys: 100 });
    await schedule.recordReads([key('a', 'g'), key('b', 'g')]);
    expect(await schedule.claim('t1', leaseMs)).toBeUndefined();
    await advance(period);
    await schedule.recordReads([key('c', 'g')]);
    const claim = await schedule.claim('t1', leaseMs);
    expect(claim?.group).toBe('g');
    expect(claim?.lateMs).toBeGreaterThanOrEqual(0);
    expect([...(claim?.keys ?? [])].sort((x, y) => (x.digest < y.digest ? -1 : 1))).toEqual(
      ['a', 'b', 'c'].map(digest => ({ digest, payload: `{"q": "${digest} of x"}` })),
    );
    expect(await schedule.claim('t2', leaseMs)).toBeUndefined();
  });

  test('a claim gives the keys of a large group in parts, each key once, but those that nobody has read lately', async () => {
    const { schedule, advance } = await open({ maxKeys: 10_000 });
    const name = (n: number) => `key-${n}`;
    const all = Array.from({ length: 3500 }, (_, n) =>
      key(name(n), 'g', { lifetimeMs: n < 2000 ? 30_000 : 3_600_000 }),
    );
    await schedule.recordReads([...all, key('other', 'g2')]);
    await advance(period);
    const claims = [await schedule.claim('t1', leaseMs), await schedule.claim('t2', leaseMs)];
    const found: string[] = [];
    for (const claim of claims) {
      let page: KeyPage | undefined = claim;
      while (page) {
        found.push(...page.keys.map(({ digest }) => digest));
        page =
          claim && page.next !== undefined ? await schedule.keysAfter(claim.group, page.next) : undefined;
      }
    }
    const live = Array.from({ length: 1500 }, (_, n) => name(n + 2000));
    expect(found.sort()).toEqual([...live, 'other'].sort());
    expect((await schedule.state()).keys).toBe(1501);
    const shown = (await schedule.state()).groups.map(({ group, keys }) => [group, keys]);
    expect(Object.fromEntries(shown)).toEqual({ g: 1500, g2: 1 });
  });

  test('contract 6.2: a claim that is not extended goes to others, and its first holder can end it no more', async () => {
    const { schedule, advance } = await open({ maxKeys: 100 });
    await schedule.recordReads([key('a', 'g')]);
    await advance(period);
    await schedule.claim('t1', leaseMs);
    expect(await schedule.extend('g', 't1', 2 * leaseMs)).toBe(true);
    await advance(leaseMs);
    expect(await schedule.claim('t2', leaseMs)).toBeUndefined();
    await advance(leaseMs);
    expect((await schedule.claim('t2', leaseMs))?.group).toBe('g');
    expect(await schedule.extend('g', 't1', leaseMs)).toBe(false);
    expect(await schedule.settle('g', 't1', settled)).toBe(false);
    expect(await schedule.settle('g', 't2', { ...settled, dueInMs: 3_600_000 })).toBe(true);
    expect(await schedule.claim('t3', leaseMs)).toBeUndefined();
  });

  test('what is settled is due again when it said, without what was dropped, with its failures', async () => {
    const { schedule, advance } = await open({ maxKeys: 100 });
    await schedule.recordReads([key('a', 'g'), key('b', 'g')]);
    await advance(period);
    await schedule.claim('t', leaseMs);
    await schedule.settle('g', 't', {
      dueInMs: 40_000,
      failures: 2,
      dropped: ['a'],
      counts: { runs: 1, bytes: 2.5 },
    });
    await advance(40_000);
    const claim = await schedule.claim('t', leaseMs);
    expect(claim?.keys.map(({ digest }) => digest)).toEqual(['b']);
    expect(claim?.failures).toBe(2);
    await schedule.settle('g', 't', { ...settled, counts: { runs: 1 } });
    const { totals, groups, keys } = await schedule.state();
    expect(totals).toEqual({ runs: 2, bytes: 2.5 });
    expect(keys).toBe(1);
    expect(groups).toMatchObject([
      { endpoint: 'things.all', group: 'g', keys: 1, isClaimed: false, failures: 0 },
    ]);
  });

  test('a key that nobody reads for its lifetime falls out, and its group with the last of them', async () => {
    const { schedule, advance } = await open({ maxKeys: 100 });
    await schedule.recordReads([key('a', 'g', { lifetimeMs: 20_000 }), key('b', 'g')]);
    await schedule.recordReads([key('c', 'h', { lifetimeMs: 20_000 })]);
    await advance(period);
    expect((await schedule.claim('t', leaseMs))?.keys.map(({ digest }) => digest)).toEqual(['b']);
    expect(await schedule.claim('t', leaseMs)).toBeUndefined();
    expect((await schedule.state()).keys).toBe(1);
  });

  test('where there are too many keys, those go that are read least', async () => {
    const { schedule, advance } = await open({ maxKeys: 2, halfLifeMs: 1_000_000_000 });
    await schedule.recordReads([key('often', 'g')]);
    await schedule.recordReads([key('often', 'g')]);
    await schedule.recordReads([key('often', 'g')]);
    await schedule.recordReads([key('twice', 'g')]);
    await schedule.recordReads([key('twice', 'g')]);
    await schedule.recordReads([key('once', 'g')]);
    await advance(period);
    const claim = await schedule.claim('t', leaseMs);
    expect(claim?.keys.map(({ digest }) => digest).sort()).toEqual(['often', 'twice']);
  });

  test('a group goes with the last of its keys, also with one that made room for others', async () => {
    const { schedule, advance } = await open({ maxKeys: 1, halfLifeMs: 1_000_000_000 });
    const later = { periodMs: 3_600_000 };
    await schedule.recordReads([key('a', 'g')]);
    await advance(1000);
    await schedule.recordReads([key('b', 'h', later)]);
    await advance(period);
    // It comes back as a new one, due a period on.
    await schedule.recordReads([key('a', 'g', later)]);
    expect(await schedule.claim('t', leaseMs)).toBeUndefined();
    expect((await schedule.state()).groups).toMatchObject([{ group: 'g', keys: 1 }]);
  });

  test('a late read outweighs many old ones', async () => {
    const { schedule, advance } = await open({ maxKeys: 1, halfLifeMs: 10_000 });
    for (let n = 0; n < 10; n++) await schedule.recordReads([key('old', 'g')]);
    await advance(100_000);
    await schedule.recordReads([key('new', 'g')]);
    expect((await schedule.claim('t', leaseMs))?.keys.map(({ digest }) => digest)).toEqual(['new']);
  });
}
