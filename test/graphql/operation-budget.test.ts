import { expect, test, vi } from 'vitest';
import { openBudget } from '../../src/graphql/operation-budget.ts';
import { renderResult } from '../../src/graphql/render-result.ts';

const { signal } = new AbortController();

test('contract 11.3: an operation waits for its place once it is large, once, and gives it back at its end', async () => {
  const release = vi.fn();
  const take = vi.fn(async () => release);
  const budget = openBudget(take);
  budget.addRows(100_000);
  await budget.enterIfLarge(signal);
  expect(take).not.toHaveBeenCalled();
  budget.addRows(1_000_000);
  await budget.enterIfLarge(signal);
  await budget.enterIfLarge(signal);
  expect(take).toHaveBeenCalledTimes(1);
  expect(release).not.toHaveBeenCalled();
  budget.close();
  await vi.waitFor(() => expect(release).toHaveBeenCalledTimes(1));
});

test('contract 11.3: an operation that gets no place says so', async () => {
  const budget = openBudget(() => Promise.reject(new Error('too many wait')));
  budget.addFields(100_000, 0);
  await expect(budget.enterIfLarge(signal)).rejects.toThrow('too many wait');
  budget.close();
});

test('contract 11.2: a large result is written in slices, a small one at once', async () => {
  const rows = Array.from({ length: 1000 }, (_, n) => ({ n }));
  const write = async (isSmall: boolean) => {
    let turns = 0;
    const budget = {
      ...openBudget(async () => () => undefined),
      isSmall: () => isSmall,
      // Each slice is over at once, and the next one lasts for one look.
      turns: { isOver: () => ++turns % 2 === 1, next: async () => undefined },
    };
    expect(JSON.parse((await renderResult({ data: { rows } }, budget)).toString())).toEqual({
      data: { rows },
    });
    return turns;
  };
  expect(await write(true)).toBe(0);
  expect(await write(false)).toBeGreaterThan(1000);
});
