import { expect, test } from 'vitest';
import { createSlots } from '../../src/duckdb/slots.ts';

const never = new AbortController().signal;

test('callers beyond the free slots wait, and go in the order they came', async () => {
  const slots = createSlots(1, 10);
  const order: string[] = [];
  const release = await slots.take(never);
  const queued = ['first', 'second'].map(async name => {
    const releaseNext = await slots.take(never);
    order.push(name);
    releaseNext();
  });
  expect(order).toEqual([]);
  release();
  await Promise.all(queued);
  expect(order).toEqual(['first', 'second']);
});

test('a caller beyond the queue is refused as overloaded', async () => {
  const slots = createSlots(1, 1);
  const release = await slots.take(never);
  const waiting = slots.take(never);
  await expect(slots.take(never)).rejects.toMatchObject({ code: 'overloaded' });
  release();
  (await waiting)();
});

test('a caller that leaves the queue makes room and takes no slot', async () => {
  const slots = createSlots(1, 1);
  const release = await slots.take(never);
  const caller = new AbortController();
  const leaving = slots.take(caller.signal);
  caller.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  const next = slots.take(never);
  release();
  (await next)();
  await slots.take(never);
});

test('what runs in the background leaves a slot to callers, and waits behind those that wait', async () => {
  const slots = createSlots(2, 10);
  const order: string[] = [];
  const take = async (name: string, priority: 'interactive' | 'background') => {
    const release = await slots.take(never, priority);
    order.push(name);
    return release;
  };
  const releaseFirst = await take('background 1', 'background');
  const second = take('background 2', 'background');
  const releaseCaller = await take('caller 1', 'interactive');
  const next = take('caller 2', 'interactive');
  releaseFirst();
  const releaseNext = await next;
  expect(order).toEqual(['background 1', 'caller 1', 'caller 2']);
  releaseCaller();
  releaseNext();
  (await second)();
  expect(order.at(-1)).toBe('background 2');
});

test('with one slot the background has its turn when no caller waits', async () => {
  const slots = createSlots(1, 10);
  (await slots.take(never, 'background'))();
  const release = await slots.take(never, 'background');
  const caller = slots.take(never, 'interactive');
  const background = slots.take(never, 'background');
  release();
  (await caller)();
  (await background)();
});

test('callers who never cease to come let one of the background go first now and then', async () => {
  const slots = createSlots(1, 100);
  const order: string[] = [];
  let release = await slots.take(never);
  const waiting = [
    ...Array.from({ length: 20 }, () => 'interactive' as const),
    ...Array.from({ length: 3 }, () => 'background' as const),
  ].map(async priority => {
    release = await slots.take(never, priority);
    order.push(priority[0]!);
  });
  for (let times = 0; times < waiting.length; times++) {
    release();
    await new Promise(setImmediate);
  }
  await Promise.all(waiting);
  expect(order.join('')).toBe(`${'i'.repeat(8)}b${'i'.repeat(8)}b${'i'.repeat(4)}b`);
});
