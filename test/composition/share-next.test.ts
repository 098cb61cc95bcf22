import { expect, test } from 'vitest';
import { shareNext } from '../../src/composition/share-next.ts';

test('who asks during a run shares the next one, which begins after the call', async () => {
  const runs: PromiseWithResolvers<number>[] = [];
  const ask = shareNext(() => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  const [first, ...others] = Array.from({ length: 50 }, ask);
  expect(runs).toHaveLength(1);
  runs[0]!.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => runs.length).toBe(2);
  const later = ask();
  runs[1]!.resolve(2);
  expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  await expect.poll(() => runs.length).toBe(3);
  runs[2]!.resolve(3);
  expect(await later).toBe(3);
});

test('after a run the next one waits for the pause to end, and is shared by all who ask until then', async () => {
  const pauses: PromiseWithResolvers<void>[] = [];
  let runs = 0;
  const ask = shareNext(
    async () => ++runs,
    () => {
      pauses.push(Promise.withResolvers());
      return pauses.at(-1)!.promise;
    },
  );
  expect(await ask()).toBe(1);
  const others = Array.from({ length: 50 }, ask);
  await new Promise(resolve => setImmediate(resolve));
  expect(runs).toBe(1);
  pauses[0]!.resolve();
  expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  pauses[1]!.resolve();
  await new Promise(resolve => setImmediate(resolve));
  expect(await ask()).toBe(3);
});

test('a run that fails fails for those who share it, and the next one runs', async () => {
  let fails = true;
  const ask = shareNext(async () => {
    if (fails) throw new Error('no');
    return 'yes';
  });
  const [first, second] = [ask(), ask()];
  await expect(first).rejects.toThrow('no');
  await expect(second).rejects.toThrow('no');
  fails = false;
  expect(await ask()).toBe('yes');
});
