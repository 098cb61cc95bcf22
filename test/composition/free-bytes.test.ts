import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchFreeBytes } from '../../src/composition/free-bytes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('tells what the last look at the disk found, and asks a disk that hangs once only', async () => {
  const looks: ((bytes: number) => void)[] = [];
  const look = () => new Promise<number>(resolve => void looks.push(resolve));
  const opening = watchFreeBytes('data', look);
  looks[0]!(100);
  const freeBytes = await opening;
  expect(freeBytes.read()).toBe(100);

  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toHaveLength(2);
  expect(freeBytes.read()).toBe(100);
  looks[1]!(50);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(freeBytes.read()).toBe(50);
  expect(looks).toHaveLength(3);

  await freeBytes.close();
  looks[2]!(10);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toHaveLength(3);
});

test('a folder that is gone has no free bytes', async () => {
  const freeBytes = await watchFreeBytes('/no/such/folder');
  expect(freeBytes.read()).toBe(0);
  await freeBytes.close();
});
