import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import promises, { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { issueToken, revokeToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import { issuedIn } from '../../src/auth/token-record.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { watchFlushes } from '../support/watch-flushes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const clock = createStandingClock();

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  file = join(directory, 'tokens.json');
});

/** Runs a token command as a process, under limits of the shell where given. */
function run(args: string, limits = ':'): Promise<{ code: number; out: string; err: string }> {
  const env = { ...process.env, DATA_DIR: directory };
  const command = `${limits}; exec node src/cli.ts token ${args}`;
  return new Promise(resolve => {
    execFile('bash', ['-c', command], { cwd: root, env }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}

const idOf = (token: string) => token.slice(4, 12);
const withoutTokens = async () => (await readdir(directory)).filter(name => name !== 'tokens.json');

describe('commands at the same time', () => {
  test('issue eight tokens, and revoked ones stay revoked', async () => {
    const old = [
      await issueToken(tokenFile(file), { name: 'old 0', clock }),
      await issueToken(tokenFile(file), { name: 'old 1', clock }),
    ];
    const [issued, revoked] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, (_, n) => run(`issue --name new-${n}`))),
      Promise.all(old.map(token => run(`revoke ${idOf(token)}`))),
    ]);
    expect([...issued, ...revoked].filter(({ code }) => code !== 0)).toEqual([]);
    const records = issuedIn(await tokenFile(file).read());
    const names = (isRevoked: boolean) =>
      records.filter(({ revokedAt }) => (revokedAt !== undefined) === isRevoked).map(({ name }) => name);
    expect(names(true).toSorted()).toEqual(['old 0', 'old 1']);
    expect(names(false).toSorted()).toEqual(Array.from({ length: 8 }, (_, n) => `new-${n}`));
    expect(records.map(({ id }) => id)).toEqual(expect.arrayContaining(issued.map(({ out }) => idOf(out))));
    expect(await withoutTokens()).toEqual([]);
  });

  test('many changes in one process are all kept', async () => {
    const issued = await Promise.all(
      Array.from({ length: 20 }, (_, n) => issueToken(tokenFile(file), { name: `${n}`, clock })),
    );
    await Promise.all(
      issued.slice(0, 10).map(token => revokeToken(tokenFile(file), { id: idOf(token), clock })),
    );
    const records = issuedIn(await tokenFile(file).read());
    expect(records).toHaveLength(20);
    expect(records.filter(({ revokedAt }) => revokedAt !== undefined)).toHaveLength(10);
  });
});

describe('a lock', () => {
  const lock = () => `${file}.lock`;

  test('left by a dead command is taken over', async () => {
    await writeFile(lock(), 'gone');
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock(), longAgo, longAgo);
    await Promise.all(
      Array.from({ length: 5 }, (_, n) => issueToken(tokenFile(file), { name: `${n}`, clock })),
    );
    expect(await tokenFile(file).read()).toHaveLength(5);
    expect(await withoutTokens()).toEqual([]);
  });

  test('held by another command is waited for, and named when the wait is too long', async () => {
    await writeFile(lock(), 'held');
    const failure = issueToken(tokenFile(file, { lockMs: 200 }), { name: 'late', clock });
    await expect(failure).rejects.toThrow(`${file}.lock`);
    expect(await tokenFile(file).read()).toEqual([]);
    expect(await readFile(lock(), 'utf8')).toBe('held');
  });

  test('that another command took over is left to it', async () => {
    await tokenFile(file).change(records => {
      writeFileSync(lock(), 'held');
      return records;
    });
    expect(await readFile(lock(), 'utf8')).toBe('held');
  });

  test('that another command took over first is put back', async () => {
    await writeFile(lock(), 'gone');
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(lock(), longAgo, longAgo);
    const { rename } = promises;
    vi.spyOn(promises, 'rename').mockImplementationOnce(async (from, to) => {
      await writeFile(`${lock()}.new`, 'held');
      await rename(`${lock()}.new`, lock());
      await rename(from, to);
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    });
    const failure = issueToken(tokenFile(file, { lockMs: 200 }), { name: 'late', clock });
    await expect(failure).rejects.toThrow(`${file}.lock`);
    expect(await readFile(lock(), 'utf8')).toBe('held');
  });
});

test('a change that somebody without a lock undoes fails', async () => {
  const disk = await watchFlushes(directory, () => false);
  disk.onFlush(() => writeFileSync(file, '[]\n'));
  const failure = issueToken(tokenFile(file), { name: 'lost', clock });
  await expect(failure).rejects.toThrow(`${file} was changed by somebody else`);
});

test('whenever the power is cut, the list is the old one or the new one, and a token that was shown is in it', async () => {
  const [data, cuts] = [join(directory, 'data'), join(directory, 'cuts')];
  await mkdir(data);
  const records = tokenFile(join(data, 'tokens.json'));
  const disk = await watchFlushes(data, () => false);
  await issueToken(records, { name: 'old', clock });
  const folders: string[] = [];
  const cut = () => {
    folders.push(join(cuts, String(folders.length)));
    disk.copyTo(folders.at(-1)!);
  };
  disk.onFlush(cut);
  await issueToken(records, { name: 'new', clock });
  cut();
  const lists = await Promise.all(folders.map(folder => tokenFile(join(folder, 'tokens.json')).read()));
  const names = lists.map(list =>
    issuedIn(list)
      .map(({ name }) => name)
      .join(),
  );
  expect(new Set(names)).toEqual(new Set(['old', 'old,new']));
  expect(names.at(-1)).toBe('old,new');
});

describe('a disk that is full', () => {
  test('leaves the file unchanged, and nothing half written', async () => {
    for (let n = 0; n < 6; n++) await issueToken(tokenFile(file), { name: `token ${n}`, clock });
    const before = await readFile(file, 'utf8');
    expect(before.length).toBeGreaterThan(1024);
    // A file of one block takes the beginning of the list, and no more.
    const failed = await run('issue --name one-too-many', 'ulimit -f 1');
    expect({ code: failed.code, out: failed.out }).toEqual({ code: 1, out: '' });
    expect(failed.err).toMatch(/EFBIG|ENOSPC/);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await withoutTokens()).toEqual([]);
    expect((await run('issue --name again')).code).toBe(0);
    expect(await tokenFile(file).read()).toHaveLength(7);
  });
});
