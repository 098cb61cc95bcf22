import { expect, test } from 'vitest';
import { createOwnTurns } from '../../src/base/turns.ts';

test('each has a turn of the event loop for itself, in the order of the calls', async () => {
  const ownTurn = createOwnTurns();
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  count();
  const turns: number[] = [];
  const act = async (n: number) => {
    await ownTurn();
    // Promises that are ready belong to the same turn.
    for (let step = 0; step < 10; step++) await undefined;
    turns.push(turn);
    return n;
  };
  expect(await Promise.all(Array.from({ length: 20 }, (_, n) => act(n)))).toHaveLength(20);
  isOver = true;
  expect(new Set(turns).size).toBe(20);
  expect(turns).toEqual(turns.toSorted((a, b) => a - b));
});
