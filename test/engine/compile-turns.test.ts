import { expect, test } from 'vitest';
import { createCompileTurns } from '../../src/engine/compile-turns.ts';
import { heavyTurns } from '../support/heavy-turns.ts';

/** Holds the event loop, as a long text does in the front-end. */
function work(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

const { signal } = new AbortController();

test('contract 11.2: the event loop turns between the texts of one caller', async () => {
  const inTurn = createCompileTurns();
  let done = 0;
  const compile = () => {
    work(10);
    done++;
  };
  const all = Array.from({ length: 20 }, () => inTurn(compile, { signal, caller: 'one' }));
  // Only the longest step is kept: the loop may turn some hundred thousand times.
  let seen = 0;
  let longestStep = 0;
  const watch = () => {
    longestStep = Math.max(longestStep, done - seen);
    seen = done;
    if (done < all.length) setImmediate(watch);
  };
  watch();
  await Promise.all(all);
  expect(longestStep).toBe(1);
});

test('contract 11.1: a caller waits for one text of another, whatever that one sends', async () => {
  const inTurn = createCompileTurns();
  const order: string[] = [];
  const texts = Array.from({ length: 50 }, () =>
    inTurn(() => order.push('many'), { signal, caller: 'many' }),
  );
  const other = inTurn(() => order.push('other'), { signal, caller: 'other' });
  await Promise.all([...texts, other]);
  expect(order.indexOf('other')).toBeLessThan(3);
});

test('too many texts of one caller are refused, and who leaves waits no more', async () => {
  const inTurn = createCompileTurns();
  const texts = Array.from({ length: 130 }, () => inTurn(() => 1, { signal, caller: 'many' }));
  await expect(texts.at(-1)).rejects.toMatchObject({ code: 'too_many_requests' });
  const leaving = new AbortController();
  const left = inTurn(() => 1, { signal: leaving.signal, caller: 'left' });
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  await Promise.allSettled(texts);
  // Of no caller are the checks of a start.
  const many = Array.from({ length: 1000 }, () => inTurn(() => 1, { signal }));
  expect(await Promise.all(many)).toHaveLength(1000);
});

test('contract 11.1: half of the time is for others, whatever is sent to the front-end', async () => {
  const inTurn = createCompileTurns();
  const turns = heavyTurns();
  await Promise.all(Array.from({ length: 6 }, () => inTurn(turns.hold, { signal, caller: 'one' })));
  turns.expectPauses(6);
});

test('nothing is compiled for a caller who leaves while the front-end pauses', async () => {
  const inTurn = createCompileTurns();
  const leaving = new AbortController();
  const first = inTurn(() => work(40), { signal, caller: 'one' });
  let isCompiled = false;
  const left = inTurn(() => (isCompiled = true), { signal: leaving.signal, caller: 'two' });
  await first;
  leaving.abort(new Error('left'));
  await expect(left).rejects.toThrow('left');
  expect(isCompiled).toBe(false);
});
