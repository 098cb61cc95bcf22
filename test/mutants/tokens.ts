import type { Mutant } from './mutant.ts';

const parallel = 'test/auth/parallel-commands.test.ts';
const production = 'prints no token in production, neither a given one nor its own';
const page = 'only a start on loopback outside production gives its page the token, and only its own';
const guessed = 'a plain token that could be guessed is refused in production, and is not repeated';

export const tokens: readonly Mutant[] = [
  {
    promise: 'a revoked token stays revoked while others are issued',
    file: 'src/auth/token-file.ts',
    find: 'await withFileLock(file, () => replaceVerified(file, change), lockMs);',
    replace: `const earlier = await readRecords(file);
      await withFileLock(file, () => replaceVerified(file, () => change(earlier)), lockMs);`,
    test: [parallel, 'issue eight tokens, and revoked ones stay revoked'],
  },
  {
    promise: 'tokens that are issued at the same time are all kept',
    file: 'src/auth/token-file.ts',
    find: 'await withFileLock(file, () => replaceVerified(file, change), lockMs);',
    replace: `const earlier = await readRecords(file);
      await withFileLock(file, () => replaceVerified(file, () => change(earlier)), lockMs);`,
    test: [parallel, 'many changes in one process are all kept'],
  },
  {
    promise: 'commands that change tokens take turns',
    file: 'src/auth/token-file.ts',
    find: 'await withFileLock(file, () => replaceVerified(file, change), lockMs);',
    replace: 'await replaceVerified(file, change);',
    test: [parallel, 'many changes in one process are all kept'],
  },
  {
    promise: 'a command waits for its turn',
    file: 'src/base/with-file-lock.ts',
    find: 'if (Date.now() > giveUpMs) {',
    replace: 'if (giveUpMs > 0) {',
    test: [parallel, 'many changes in one process are all kept'],
  },
  {
    promise: 'a command waits for a bounded time',
    file: 'src/base/with-file-lock.ts',
    find: 'const giveUpMs = Date.now() + timeoutMs;',
    replace: 'const giveUpMs = Date.now() + timeoutMs * 1000;',
    test: [parallel, 'held by another command is waited for, and named when the wait is too long'],
  },
  {
    promise: 'the lock of a command that runs is not taken over',
    file: 'src/base/with-file-lock.ts',
    find: 'const staleMs = 10_000;',
    replace: 'const staleMs = 100;',
    test: [parallel, 'held by another command is waited for, and named when the wait is too long'],
  },
  {
    promise: 'the lock of a command that died is taken over',
    file: 'src/base/with-file-lock.ts',
    find: 'await dropStale(lock);',
    replace: 'if (timeoutMs < 0) await dropStale(lock);',
    test: [parallel, 'left by a dead command is taken over'],
  },
  {
    promise: 'a command ends no lock of another one',
    file: 'src/base/with-file-lock.ts',
    find: 'if ((await readLock(lock)) === owner) await rm(lock, { force: true });',
    replace: 'await rm(lock, { force: true });',
    test: [parallel, 'that another command took over is left to it'],
  },
  {
    promise: 'of two commands that find an old lock one takes it over',
    file: 'src/base/with-file-lock.ts',
    find: 'if ((await stat(moved)).ino !== found.ino) await link(moved, lock);',
    replace: '',
    test: [parallel, 'that another command took over first is put back'],
  },
  {
    promise: 'the list is read again after it was written',
    file: 'src/auth/token-file.ts',
    find: "if ((await readFile(file, 'utf8')) === text) return;",
    replace: "if (text !== '') return;",
    test: [parallel, 'a change that somebody without a lock undoes fails'],
  },
  {
    promise: 'the list is on the disk before it takes the place of the old one',
    file: 'src/base/replace-file.ts',
    find: `await handle.writeFile(text);
      await handle.sync();`,
    replace: 'await handle.writeFile(text);',
    test: [parallel, 'whenever the power is cut, the list is the old one or the new one'],
  },
  {
    promise: 'a token that was shown is on the disk',
    file: 'src/base/replace-file.ts',
    find: 'await syncDirectory(dirname(file));',
    replace: '',
    test: [parallel, 'and a token that was shown is in it'],
  },
  {
    promise: 'a full disk leaves no half file',
    file: 'src/base/replace-file.ts',
    find: `await rm(unfinished, { force: true });
    throw error;`,
    replace: 'throw error;',
    test: [parallel, 'leaves the file unchanged, and nothing half written'],
  },
  {
    promise: 'a full disk leaves the old list',
    file: 'src/auth/token-file.ts',
    find: 'await replaceFile(file, text);',
    replace: "await (await import('node:fs/promises')).writeFile(file, text);",
    test: [parallel, 'leaves the file unchanged, and nothing half written'],
  },
  {
    promise: 'a full disk fails the command that issues a token',
    file: 'src/auth/token-file.ts',
    find: 'await replaceFile(file, text);',
    replace: 'await replaceFile(file, text).catch(() => undefined);\n  if (text !== "") return;',
    test: [parallel, 'leaves the file unchanged, and nothing half written'],
  },
  {
    promise: 'first starts at the same time make one token',
    file: 'src/composition/prepare-data.ts',
    find: 'return withFileLock(file, async () => {',
    replace: "return withFileLock(file + randomBytes(4).toString('hex'), async () => {",
    test: ['test/composition/prepare-data.test.ts', 'first starts at the same time make one token'],
  },
  {
    promise: 'a start in production prints no token',
    file: 'src/composition/welcome.ts',
    find: "const isShown = token !== undefined && config.NODE_ENV !== 'production';",
    replace: 'const isShown = token !== undefined;',
    test: ['test/processes/start-gateway.test.ts', production],
  },
  {
    promise: 'the commands that a start in production prints have no token in them',
    file: 'src/composition/welcome.ts',
    find: "const shown = isShown ? token : '<ACCESS_TOKEN>';",
    replace: "const shown = token ?? '<ACCESS_TOKEN>';",
    test: ['test/processes/start-gateway.test.ts', production],
  },
  {
    promise: 'a start in production names the file of its own token',
    file: 'src/composition/welcome.ts',
    find: '/sample-token, until one is issued`',
    replace: '/, until one is issued`',
    test: ['test/processes/start-gateway.test.ts', production],
  },
  {
    promise: 'a page in production gets no token',
    file: 'src/composition/start-gateway.ts',
    find: "if (!token || !isOnLoopback || NODE_ENV === 'production') return undefined;",
    replace: 'if (!token || !isOnLoopback) return undefined;',
    test: ['test/processes/start-gateway.test.ts', page],
  },
  {
    promise: 'a page that others could open gets no token',
    file: 'src/composition/start-gateway.ts',
    find: "if (!token || !isOnLoopback || NODE_ENV === 'production') return undefined;",
    replace: "if (!token || NODE_ENV === 'production') return undefined;",
    test: ['test/processes/start-gateway.test.ts', page],
  },
  {
    promise: 'a page gets no token that somebody gave',
    file: 'src/composition/start-gateway.ts',
    find: 'isOwnToken ? sampleForPage(config, accessToken, sampleProject) : undefined',
    replace: 'sampleForPage(config, accessToken, sampleProject)',
    test: ['test/processes/start-gateway.test.ts', page],
  },
  {
    promise: 'a short ACCESS_TOKEN is refused in production',
    file: 'src/composition/config.ts',
    find: 'const minTokenLength = 24;',
    replace: 'const minTokenLength = 23;',
    test: ['test/composition/config.test.ts', guessed],
  },
  {
    promise: 'an ACCESS_TOKEN that is long enough is accepted in production',
    file: 'src/composition/config.ts',
    find: 'String(ACCESS_TOKEN).length < minTokenLength',
    replace: 'String(ACCESS_TOKEN).length <= minTokenLength',
    test: ['test/composition/config.test.ts', guessed],
  },
  {
    promise: 'a short ACCESS_TOKEN is refused in production only',
    file: 'src/composition/config.ts',
    find: "if (NODE_ENV === 'production' && ACCESS_TOKEN",
    replace: "if ((NODE_ENV ?? 'production') === 'production' && ACCESS_TOKEN",
    test: ['test/composition/config.test.ts', guessed],
  },
  {
    promise: 'an ACCESS_TOKEN that is refused is not printed',
    file: 'src/composition/config.ts',
    find: 'problems.push(\n      `ACCESS_TOKEN: too short',
    replace: 'problems.push(\n      "ACCESS_TOKEN: " + ACCESS_TOKEN + ` too short',
    test: ['test/composition/config.test.ts', guessed],
  },
];
