import { expect, onTestFinished, test, vi } from 'vitest';
import { watchFolder } from '../../src/endpoints/watch-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('looks do not pile up behind a slow one: one more follows it', async () => {
  const directory = await temporaryDirectory();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const gate = Promise.withResolvers<void>();
  let looks = 0;
  const watcher = watchFolder(directory, {
    onChange() {
      looks++;
      return gate.promise;
    },
    onFailed: error => expect.fail(error.message),
    retry: { everyMs: 10, isNeeded: () => true },
  });
  onTestFinished(() => watcher.close());
  await vi.advanceTimersByTimeAsync(1000);
  expect(looks).toBe(1);
  gate.resolve();
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  expect(looks).toBe(2);
});
