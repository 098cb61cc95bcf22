import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';
import { ask, keyOf, lifetimes, type OpenCache, openCache, rowsOf, settle } from './open-cache.ts';

/** What may be done to the gateways; keys and gateways by number. */
type Step =
  | { readonly do: 'wait'; readonly seconds: number }
  | { readonly do: 'ask'; readonly gateway: number; readonly key: number }
  | { readonly do: 'break' | 'mend' }
  | { readonly do: 'invalidate'; readonly gateway: number; readonly key: number }
  | { readonly do: 'invalidateAll'; readonly gateway: number };

const gateway = fc.nat(1);
const key = fc.nat(2);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        seconds: fc.constantFrom(1, 59, 60, 899, 900, 3599, 5000),
      }),
    },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('ask' as const), gateway, key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('break' as const, 'mend' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('invalidate' as const), gateway, key }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('invalidateAll' as const), gateway }) },
  ),
  { minLength: 1, maxLength: 40 },
);

/** The simplest cache that keeps the promises: one value a key, with the time it was made. */
type Model = {
  readonly values: Map<number, { readonly madeAtMs: number; readonly n: number }>;
  queryWorks: boolean;
};

/**
 * What may be answered, by the age of the only value there is. Where a refresh failed a moment ago, an answer may come without
 * another try; all else is fixed.
 */
function allowedAnswers(model: Model, of: number, nowMs: number, nextN: number): string[] {
  const value = model.values.get(of);
  const ageMs = value ? nowMs - value.madeAtMs : Number.POSITIVE_INFINITY;
  const old = `{"result":[{"n":${value?.n}}]}`;
  const fresh = `miss {"result":[{"n":${nextN}}]}`;
  if (ageMs < lifetimes.freshMs) return [`hit ${old}`];
  if (ageMs < lifetimes.freshMs + lifetimes.staleMs) return [`stale ${old}`];
  const isUsable = ageMs < lifetimes.freshMs + lifetimes.staleIfErrorMs;
  if (!model.queryWorks) return [isUsable ? `stale-if-error ${old}` : 'engine_failed'];
  return isUsable ? [fresh, `stale-if-error ${old}`] : [fresh];
}

async function run(plan: readonly Step[]): Promise<void> {
  const clock = createStandingClock();
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateways = [openCache({ clock, store }), openCache({ clock, store, memoryBytes: 0 })];
  const model: Model = { values: new Map(), queryWorks: true };
  let n = 0;
  for (const step of plan) {
    if (step.do === 'wait') clock.advance(step.seconds * 1000);
    if (step.do === 'break' || step.do === 'mend') model.queryWorks = step.do === 'mend';
    if (step.do === 'ask') await askOnce(gateways[step.gateway]!, step.key, clock);
    if (step.do === 'invalidate') {
      await gateways[step.gateway]!.cache.invalidateEntry('model', keyOf(String(step.key)));
      model.values.delete(step.key);
    }
    if (step.do === 'invalidateAll') {
      await gateways[step.gateway]!.cache.invalidateGroup('model', 'group');
      model.values.clear();
    }
    await settle();
  }

  async function askOnce(one: OpenCache, of: number, { now }: StandingClock): Promise<void> {
    const allowed = allowedAnswers(model, of, now(), n + 1);
    const run = async () => {
      if (!model.queryWorks) throw new GatewayError('engine_failed', 'broken');
      n++;
      model.values.set(of, { madeAtMs: now(), n });
      return rowsOf(n);
    };
    const answer = await ask(one, {
      endpoint: 'model',
      key: keyOf(String(of)),
      lifetimes,
      waitMs: 30_000,
      load: { run },
      refreshLoad: { run },
    }).catch((error: GatewayError) => error.code);
    expect(allowed).toContain(answer);
  }
}

test('two gateways over one store answer as one map of values would, whatever is done in whatever order', async () => {
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 200 });
});
