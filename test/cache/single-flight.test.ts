import { afterEach, expect, test, vi } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { JoinedCallers } from '../../src/base/turns.ts';
import { createSingleFlight } from '../../src/cache/single-flight.ts';

const never = new AbortController().signal;

afterEach(() => {
  vi.useRealTimers();
});

test('callers of one key share one load, callers of another do not', async () => {
  const flights = createSingleFlight<string>();
  const loaded: string[] = [];
  const gate = Promise.withResolvers<void>();
  const ask = (key: string) =>
    flights(key, never, async () => {
      loaded.push(key);
      await gate.promise;
      return key;
    });
  const answers = Promise.all([ask('a'), ask('a'), ask('b'), ask('a')]);
  gate.resolve();
  expect(await answers).toEqual(['a', 'a', 'b', 'a']);
  expect(loaded).toEqual(['a', 'b']);
});

test('the next caller after a load has ended starts another, after a failure too', async () => {
  const flights = createSingleFlight<number>();
  await expect(flights('a', never, () => Promise.reject(new Error('down')))).rejects.toThrow('down');
  expect(await flights('a', never, async () => 2)).toBe(2);
});

test('a caller who leaves does not wait; the load goes on for the others', async () => {
  const flights = createSingleFlight<string>();
  const gate = Promise.withResolvers<string>();
  const leaver = new AbortController();
  let loadSignal: AbortSignal | undefined;
  const load = (signal: AbortSignal) => {
    loadSignal = signal;
    return gate.promise;
  };
  const left = flights('a', leaver.signal, load);
  const stayed = flights('a', never, load);
  leaver.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  expect(loadSignal?.aborted).toBe(false);
  gate.resolve('rows');
  expect(await stayed).toBe('rows');
});

test('the last caller who leaves cancels the load, and the next one starts a new one', async () => {
  const flights = createSingleFlight<string>();
  const first = new AbortController();
  const second = new AbortController();
  let loadSignal: AbortSignal | undefined;
  const load = (signal: AbortSignal) => {
    loadSignal = signal;
    return new Promise<string>(() => {});
  };
  const left = Promise.allSettled([flights('a', first.signal, load), flights('a', second.signal, load)]);
  first.abort();
  second.abort();
  await left;
  expect(loadSignal?.aborted).toBe(true);
  expect(await flights('a', never, async () => 'new')).toBe('new');
});

test('a cancelled load that ends late does not affect later callers', async () => {
  const flights = createSingleFlight<string>();
  const leaver = new AbortController();
  const [old, next] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const left = flights('a', leaver.signal, () => old.promise);
  leaver.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  let loads = 0;
  const load = () => {
    loads++;
    return next.promise;
  };
  const first = flights('a', never, load);
  old.reject(new Error('cancelled, at last'));
  await new Promise(resolve => setImmediate(resolve));
  const second = flights('a', never, load);
  next.resolve('rows');
  expect([await first, await second, loads]).toEqual(['rows', 'rows', 1]);
});

test('a caller who has already left starts nothing', async () => {
  const flights = createSingleFlight<string>();
  let loads = 0;
  const asked = flights('a', AbortSignal.abort(new Error('gone')), async () => `${++loads}`);
  await expect(asked).rejects.toThrow('gone');
  expect(loads).toBe(0);
});

test('a load refused because its first caller has too many waiting is repeated for the others', async () => {
  const flights = createSingleFlight<string>();
  const refuse = () => Promise.reject(new GatewayError('too_many_requests', 'too many'));
  const first = flights('a', never, refuse, 'one');
  const second = flights('a', never, async () => 'rows', 'another');
  await expect(first).rejects.toMatchObject({ code: 'too_many_requests' });
  expect(await second).toBe('rows');
});

test('contract 11.1: it is repeated once for each caller, however many requests of each wait', async () => {
  const flights = createSingleFlight<string>();
  let loads = 0;
  const refuse = async () => {
    loads++;
    await new Promise(resolve => setImmediate(resolve));
    throw new GatewayError('too_many_requests', 'too many');
  };
  const callers = Array.from({ length: 50 }, () => ['one', 'another', undefined]).flat();
  const asked = await Promise.allSettled(callers.map(caller => flights('a', never, refuse, caller)));
  expect(asked.filter(({ status }) => status === 'rejected')).toHaveLength(callers.length);
  expect(loads).toBe(3);
});

test('contract 11.6: a load whose time is over is repeated for those who came a second or more after its first caller, once for all of them', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const flights = createSingleFlight<string>();
  const over = Promise.withResolvers<string>();
  const loaded: string[] = [];
  const ask = (name: string, result: Promise<string>) =>
    flights('a', never, () => {
      loaded.push(name);
      return result;
    });
  const first = ask('first', over.promise);
  vi.advanceTimersByTime(999);
  const same = ask('same time', over.promise);
  vi.advanceTimersByTime(1);
  const later = [ask('later', Promise.resolve('rows')), ask('later too', Promise.resolve('rows'))];
  over.reject(new GatewayError('deadline_exceeded', 'late'));
  await expect(first).rejects.toMatchObject({ code: 'deadline_exceeded' });
  await expect(same).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(await Promise.all(later)).toEqual(['rows', 'rows']);
  expect(loaded).toEqual(['first', 'later']);
});

test('contract 11.6: it ends for each of them at its own deadline, and is then not repeated', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const flights = createSingleFlight<string>();
  const over = Promise.withResolvers<string>();
  let loads = 0;
  const load = (signal: AbortSignal) => {
    if (++loads === 1) return over.promise;
    return new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const first = flights('a', never, load);
  vi.advanceTimersByTime(20_000);
  const limit = new AbortController();
  const later = flights('a', limit.signal, load);
  over.reject(new GatewayError('deadline_exceeded', 'of the first'));
  await expect(first).rejects.toThrow('of the first');
  limit.abort(new GatewayError('deadline_exceeded', 'its own'));
  await expect(later).rejects.toThrow('its own');
  expect(loads).toBe(2);
});

test('a load is told who waits for it, each caller once', async () => {
  const flights = createSingleFlight<string>();
  const gate = Promise.withResolvers<string>();
  const told: string[] = [];
  const load = (_signal: AbortSignal, joined: JoinedCallers) => {
    joined.follow(caller => told.push(caller));
    return gate.promise;
  };
  const asked = ['a', 'a', undefined, 'b'].map(caller => flights('key', never, load, caller));
  gate.resolve('rows');
  expect(await Promise.all(asked)).toEqual(['rows', 'rows', 'rows', 'rows']);
  expect(told).toEqual(['a', 'b']);
});
