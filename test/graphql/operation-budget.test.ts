import { type GraphQLResolveInfo, Kind, parse } from 'graphql';
import { expect, test, vi } from 'vitest';
import { boundedList, openBudget } from '../../src/graphql/operation-budget.ts';
import { readRows } from '../../src/graphql/read-rows.ts';
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

/** Turns of which each slice is over at once, and the next one lasts for one look. */
function openTurns() {
  let looks = 0;
  return { isOver: () => ++looks % 2 === 1, next: async () => undefined, looks: () => looks };
}

test('contract 11.2: a long list is read in slices, and no further once its operation is over its budget', async () => {
  const turns = openTurns();
  const budget = { ...openBudget(async () => () => undefined), turns };
  const items = Array.from({ length: 10_000 }, (_, n) => n);
  const read: number[] = [];
  const readAll = async () => {
    for await (const item of await boundedList(budget, items, infoOf('{ rows { n } }'), {
      signal,
      bytes: 100_000,
      convert: n => n,
    })) {
      read.push(item);
      // Another field of the operation.
      if (item === 100) expect(() => budget.addFields(250_000, 0)).toThrow('more than 250000 fields');
    }
  };
  await expect(readAll()).rejects.toThrow('more than 250000 fields');
  expect(read).toEqual(items.slice(0, 101));
  expect(turns.looks()).toBeGreaterThan(100);
});

/** What the executor says of the first field of a document, as far as its list looks at it. */
function infoOf(text: string): GraphQLResolveInfo {
  const [operation] = parse(text).definitions;
  const [field] = operation?.kind === Kind.OPERATION_DEFINITION ? operation.selectionSet.selections : [];
  return { fieldNodes: [field], fragments: {} } as unknown as GraphQLResolveInfo; // the rest is the executor's
}

test('contract 11.2: the rows of a long body are parsed in slices, those of a short one at once', async () => {
  const looksFor = async (count: number) => {
    const turns = openTurns();
    const rows = Array.from({ length: count }, (_, n) => ({ n, text: 'x'.repeat(100) }));
    expect(await readRows(Buffer.from(JSON.stringify({ result: rows })), turns)).toEqual(rows);
    return turns.looks();
  };
  expect(await looksFor(100)).toBe(0);
  expect(await looksFor(1000)).toBeGreaterThan(1000);
});

test('contract 11.2: a large result is written in slices, a small one at once', async () => {
  const rows = Array.from({ length: 1000 }, (_, n) => ({ n }));
  const write = async (isSmall: boolean) => {
    const turns = openTurns();
    const budget = { ...openBudget(async () => () => undefined), isSmall: () => isSmall, turns };
    expect(JSON.parse((await renderResult({ data: { rows } }, budget)).toString())).toEqual({
      data: { rows },
    });
    return turns.looks();
  };
  expect(await write(true)).toBe(0);
  expect(await write(false)).toBeGreaterThan(1000);
});
