import { expect, test } from 'vitest';
import {
  createJoined,
  createOwnTurns,
  createPermits,
  createSharedTurns,
  type JoinedCallers,
  pauseAfter,
  takeTurns,
} from '../../src/base/turns.ts';
import { heavyTurns } from '../support/heavy-turns.ts';

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
    await ownTurn('a');
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

test('contract 11.1: a caller waits for one turn of another, however many that one waits for', async () => {
  const ownTurn = createOwnTurns();
  const order: string[] = [];
  const act = (caller: string) => ownTurn(caller).then(() => order.push(caller));
  await Promise.all([...'aaaaaaaabcb'].map(act));
  expect(order.join('')).toBe('aabcabaaaaa');
});

test('contract 11.1, 11.2: few begin in one turn, and a caller does not wait for all who came before', async () => {
  const sharedTurn = createSharedTurns(3);
  let turn = 0;
  const begun: { caller: string; turn: number }[] = [];
  const count = () => {
    turn++;
    if (begun.length < 8) setImmediate(count);
  };
  setImmediate(count);
  const act = (caller: string) => sharedTurn(caller).then(() => begun.push({ caller, turn }));
  await Promise.all([...'aaaaaaab'].map(act));
  for (let n = 0; n <= turn; n++) expect(begun.filter(each => each.turn === n).length).toBeLessThan(4);
  expect(begun.findIndex(({ caller }) => caller === 'b')).toBeLessThan(6);
});

test('contract 11.1: what several callers wait for begins when it is the turn of one of them, once', async () => {
  const take = createPermits(1);
  const release = await take('a');
  const order: string[] = [];
  const act = async (name: string, joined?: JoinedCallers) => {
    const end = await take('a', joined);
    order.push(name);
    // Others have their turn afterwards.
    await undefined;
    end();
  };
  const joined = createJoined();
  const all = ['1', '2', '3'].map(name => act(name)).concat(act('shared', joined), act('4'));
  joined.add('b');
  joined.add('c');
  release();
  await Promise.all(all);
  expect(order).toEqual(['1', 'shared', '2', '3', '4']);
  expect(await take('a')).toBeTypeOf('function');
});

test('contract 11.1: half of the time is for others, however long each turn takes', async () => {
  const ownTurn = createOwnTurns();
  const turns = heavyTurns();
  await Promise.all(Array.from({ length: 6 }, () => ownTurn('a').then(turns.hold)));
  turns.expectPauses(6);
  expect([1, 8, 9, 40, 100, 5000].map(pauseAfter)).toEqual([0, 0, 9, 40, 100, 100]);
});

test('contract 11.1: work in slices pauses between two of them if asked to', async () => {
  const turns = takeTurns(1000, 30);
  expect(turns.isOver()).toBe(false);
  const startedMs = performance.now();
  await Promise.all([turns.next(), turns.next()]);
  const tookMs = performance.now() - startedMs;
  // Timers may fire a part of a millisecond early.
  expect(tookMs).toBeGreaterThanOrEqual(29);
  expect(turns.isOver()).toBe(false);
});
