import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createJoined } from '../../src/base/turns.ts';
import { redactRowsJson } from '../../src/redaction/redact-rows-json.ts';
import type { RedactionMessage } from '../../src/redaction/redaction-worker.ts';
import { createRedactor, type RedactionCaller, type Redactor } from '../../src/redaction/redactor.ts';
import { longestTurn } from '../support/longest-turn.ts';

let redactor: Redactor;
beforeEach(() => {
  redactor = createRedactor();
});
afterEach(() => redactor.close());

const never: RedactionCaller = { caller: 'a', signal: new AbortController().signal };
const rowsOf = (text: string, count: number) => Buffer.from(JSON.stringify(Array(count).fill({ text })));

test('redacts as the function does, several bodies at once, long and short, changed or not', async () => {
  const bodies = [rowsOf('a@b.com', 5000), rowsOf('nothing', 5000), rowsOf('::1', 1), Buffer.from('[]')];
  const redacted = await Promise.all(bodies.map(body => redactor.redact(body, {}, never)));
  expect(redacted.map(String)).toEqual(bodies.map(body => String(redactRowsJson(body))));
  expect(redacted[1]).toBe(bodies[1]);
  const [ipOnly] = await Promise.all([redactor.redact(rowsOf('a@b.com ::1', 1), { kinds: ['ipv6'] }, never)]);
  expect(String(ipOnly)).toBe('[{"text":"a@b.com REDACTED"}]');
});

test('contract 11.2: megabytes of hostile text, in many strings or in one, hold the event loop for less than 100 ms', async () => {
  await redactor.redact(rowsOf('warm', 1), {}, never);
  for (const body of [rowsOf('1:'.repeat(16_000), 40), rowsOf('aaaaa:'.repeat(300_000), 1)]) {
    const { result, turnMs } = await longestTurn(() => redactor.redact(body, {}, never));
    expect(result.length).toBeGreaterThan(0);
    expect(turnMs).toBeLessThan(100);
  }
});

test('a short body does not wait for the end of a long one', async () => {
  const order: string[] = [];
  const long = redactor.redact(rowsOf('1:'.repeat(1000), 1500), {}, never).then(() => order.push('long'));
  const short = redactor.redact(rowsOf('::1', 2000), {}, never).then(() => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
});

test('contract 11.1: a caller waits for no number of bodies of another', async () => {
  const body = rowsOf('1:'.repeat(1000), 100);
  let done = 0;
  const others = Array.from({ length: 20 }, () => redactor.redact(body, {}, never).then(() => done++));
  await redactor.redact(body, {}, { ...never, caller: 'b' });
  // Were a slice each job's turn, the last one would be done last.
  expect(done).toBeLessThan(others.length);
  await Promise.all(others);
});

test('contract 11.1: a body that another caller waits for too has the turns of both', async () => {
  const body = rowsOf('1:'.repeat(1000), 100);
  let done = 0;
  const ask = (by = never) => redactor.redact(body, {}, by).then(() => done++);
  const others = Array.from({ length: 30 }, () => ask());
  const joined = createJoined();
  const shared = ask({ ...never, joined });
  others.push(...Array.from({ length: 30 }, () => ask()));
  joined.add('b');
  await shared;
  expect(done).toBeLessThan(15);
  await Promise.all(others);
});

test('refuses what would pile up, and takes bodies again when there is room, also where a caller left', async () => {
  const large = rowsOf('x'.repeat(1_000_000), 70);
  const caller = new AbortController();
  const left = expect(redactor.redact(large, {}, { ...never, signal: caller.signal })).rejects.toThrow(
    'left',
  );
  await expect(redactor.redact(large, {}, never)).rejects.toMatchObject({ code: 'too_many_requests' });
  caller.abort(new Error('left'));
  await left;
  const small = redactor.redact(rowsOf('::1', 1), {}, { ...never, caller: 'b' });
  expect(await redactor.redact(large, {}, never)).toBe(large);
  await small;
});

test('a thread that ends fails what it had, and the next body has another one', async () => {
  const body = rowsOf('1:'.repeat(1000), 1000);
  const lost = expect(redactor.redact(body, {}, never)).rejects.toMatchObject({ code: 'unavailable' });
  await redactor.close();
  await lost;
  expect(String(await redactor.redact(rowsOf('::1', 1), {}, never))).toBe('[{"text":"REDACTED"}]');
});

test('contract 11.5, 11.6: a caller leaves at once, and its work ends; others get theirs', async () => {
  const body = rowsOf('1:'.repeat(50_000), 10);
  const alone = async () => {
    const before = process.cpuUsage(); // of all threads
    const redacted = await redactor.redact(body, {}, never);
    const { user, system } = process.cpuUsage(before);
    return { redacted, cost: user + system };
  };
  const beside = async () => {
    const caller = new AbortController();
    const left = expect(redactor.redact(body, {}, { ...never, signal: caller.signal })).rejects.toThrow(
      'The time is over',
    );
    caller.abort(new Error('The time is over'));
    await left;
    return alone();
  };
  const { redacted } = await alone();
  const costs: { alone: number[]; beside: number[] } = { alone: [], beside: [] };
  // The collector, and other programs, may make some of them dearer.
  for (let time = 0; time < 3; time++) {
    costs.alone.push((await alone()).cost);
    const others = await beside();
    expect(others.redacted.equals(redacted)).toBe(true);
    costs.beside.push(others.cost);
  }
  // As much again, if the thread went on with what nobody waits for.
  expect(Math.min(...costs.beside) / Math.min(...costs.alone)).toBeLessThan(1.6);
});

test('contract 11.5: the thread stops work that was cancelled, in the middle of a string too', async () => {
  const thread = new Worker(new URL('../../src/redaction/redaction-worker.ts', import.meta.url));
  onTestFinished(async () => void (await thread.terminate()));
  const body = rowsOf('1:'.repeat(200_000), 2);
  const [cancelled, ended] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
  thread.once('message', first => {
    cancelled.resolve(first);
    thread.once('message', ended.resolve);
  });
  // They take turns: the first would end first.
  thread.postMessage({ job: 1, caller: 'a', body, options: {} } satisfies RedactionMessage);
  thread.postMessage({ job: 2, caller: 'a', body, options: {} } satisfies RedactionMessage);
  thread.postMessage({ job: 1, isCancelled: true } satisfies RedactionMessage);
  expect(await cancelled.promise).toEqual({ job: 1, body: undefined });
  expect(await ended.promise).toMatchObject({ job: 2 });
});

test('contract 11.1: one long string holds the thread for no longer than many short ones', async () => {
  const order: string[] = [];
  const long = redactor.redact(rowsOf('1:2, '.repeat(200_000), 1), {}, never).then(() => order.push('long'));
  const short = redactor.redact(rowsOf('::1', 2000), {}, never).then(() => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
});
