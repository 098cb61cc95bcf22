import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tokenFile } from '../../src/auth/token-file.ts';
import { issuedIn } from '../../src/auth/token-record.ts';
import { runTokenCommand } from '../../src/commands/token-command.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Runs token commands over one file, in this process. */
async function openShell() {
  const records = tokenFile(join(await temporaryDirectory(), 'tokens.json'));
  const clock = createStandingClock('2026-01-15T12:00:00Z');
  const notes: string[] = [];
  const run = async (...args: string[]) => {
    const out: string[] = [];
    const print = (line: string) => out.push(line);
    await runTokenCommand(
      {
        records,
        lastUses: async () => new Map(),
        savedQueries: async () => ['logs.all', 'usage.api-counts'],
        clock,
        print,
        note: line => notes.push(line),
      },
      args,
    );
    return out.join('\n');
  };
  return { records, clock, run, notes };
}

test('whoever issues the first token is told that the one of the first start ends with it', async () => {
  const { run, notes } = await openShell();
  for (const name of ['ada', 'ben']) await run('issue', '--name', name);
  expect(notes.filter(note => note.includes('the next start no longer accepts'))).toHaveLength(1);
  expect(notes).toHaveLength(3);
});

test('who issues a token for a saved query that is not there is told so', async () => {
  const { run, notes } = await openShell();
  const asked = ['logs.al', 'usage.*', 'logs.all', 'x*'].flatMap(glob => ['--endpoint', glob]);
  await run('issue', '--name', 'ada', ...asked);
  expect(notes.filter(note => note.startsWith('No saved query'))).toEqual([
    'No saved query has the name "logs.al" now; Did you mean logs.all?',
    'No saved query has the name "x*" now',
  ]);
});

test('contract 8.1, 8.3: what is issued is shown by its id, as text and as JSON, without secret or hash', async () => {
  const { records, run } = await openShell();
  const grants = [
    '--endpoint',
    'logs.*',
    '--param',
    'project=a=b',
    '--scope',
    'explain',
    '--without',
    'sandbox',
  ];
  const rates = ['--requests-per-second', '5', '--burst', '9', '--bytes-per-day', '77'];
  const limits = [...rates, '--expires', '90d', '--max-bytes-billed', '1000'];
  const issued = JSON.parse(await run('issue', '--name', 'ada', ...grants, ...limits, '--json'));
  const { token, ...shown } = issued;
  expect(shown).toEqual({
    id: token.slice(4, 12),
    name: 'ada',
    scopes: ['introspect', 'explain'],
    endpoints: ['logs.*'],
    parameters: { project: 'a=b' },
    limits: { requestsPerSecond: 5, burst: 9, bytesPerDay: 77 },
    maxBytesBilled: 1000,
    createdAt: '2026-01-15T12:00:00.000Z',
    expiresAt: '2026-04-15T12:00:00.000Z',
  });
  expect(JSON.parse(await run('show', shown.id, '--json'))).toEqual(shown);
  expect(JSON.parse(await run('list', '--json'))).toEqual([shown]);
  const text = await run('show', `sqg_${shown.id}`);
  expect(text).toMatch(/^scopes +introspect, explain$/m);
  expect(text).toMatch(/^parameters +project=a=b$/m);
  expect(await run('list')).toBe(
    `sqg_${shown.id}  issued 2026-01-15T12:00:00.000Z  expires 2026-04-15T12:00:00.000Z  ada  may introspect, explain  of logs.*  only project=a=b  within requestsPerSecond=5, burst=9, bytesPerDay=77  at most 1000 bytes a query`,
  );
  const [{ hash } = { hash: '' }] = issuedIn(await records.read());
  expect(text + (await run('list', '--json'))).not.toContain(hash);
});

test('contract 8.1: a token is rotated, and revoked', async () => {
  const { records, clock, run } = await openShell();
  const token = await run('issue', '--name', 'ada');
  const id = token.slice(4, 12);
  const rotated = JSON.parse(await run('rotate', `sqg_${id}`, '--grace', '30m', '--json'));
  expect(rotated).toMatchObject({ id, previousUntil: '2026-01-15T12:30:00.000Z' });
  expect(rotated.token).not.toBe(token);
  clock.advance(1000);
  expect(await run('rotate', id)).toMatch(/^sqg_/);
  expect(await records.read()).toMatchObject([{ previous: { until: '2026-01-16T12:00:01.000Z' } }]);
  expect(await run('revoke', id)).toBe(`sqg_${id} is revoked`);
  expect(await run('list')).toContain('revoked 2026-01-15T12:00:01.000Z');
  await expect(run('rotate', id)).rejects.toThrow('is revoked or has expired; issue a new one');
});

test('contract 8.10: JSON Web Tokens are revoked by their subject or by their own id, listed, and allowed again', async () => {
  const { records, run } = await openShell();
  await run('issue', '--name', 'ada');
  for (const id of ['jwt-0123456789ab', 'jti:one of them', 'jwt-0123456789ab']) {
    expect(await run('revoke', id)).toBe(`${id} is revoked`);
  }
  const deniedAt = '2026-01-15T12:00:00.000Z';
  expect((await records.read()).slice(1)).toEqual([
    { id: 'jwt-0123456789ab', deniedAt },
    { id: 'jti:one of them', deniedAt },
  ]);
  expect((await run('list')).split('\n').slice(1)).toEqual([
    `jwt-0123456789ab  revoked ${deniedAt}`,
    `jti:one of them  revoked ${deniedAt}`,
  ]);
  expect(JSON.parse(await run('list', '--json'))[1]).toEqual({ id: 'jwt-0123456789ab', deniedAt });
  expect(await run('allow', 'jwt-0123456789ab')).toBe('jwt-0123456789ab is allowed');
  expect(JSON.parse(await run('allow', 'jti:one of them', '--json'))).toEqual({
    id: 'jti:one of them',
    isDenied: false,
  });
  expect(await records.read()).toMatchObject([{ name: 'ada' }]);
});

test.each([
  [
    ['issue', '--name', 'x', '--expires', '2026-01-15T12:00:00Z'],
    'which is not in the future; allowed: a date',
  ],
  [['issue', '--name', 'x', '--expires', '2025-01-01'], 'which is not in the future; allowed: a date'],
  [['issue', '--name', 'x', '--expires', '0d'], 'which is not in the future; allowed: a date'],
  [['issue', '--name', 'x', '--expires', 'soon'], '--expires is "soon"; allowed: a date'],
  [['issue', '--name', 'x', '--expires', '3600'], '--expires is "3600"; allowed: a date'],
  [['issue', '--name', 'x', '--expires', '01/02/2127'], '--expires is "01/02/2127"; allowed: a date'],
  [
    ['issue', '--name', 'x', '--param', 'project=a', '--param', 'project=b'],
    '--param project is given twice; allowed: one value',
  ],
  [['issue', '--name', 'x', '--scope', 'root'], '--scope is "root"; allowed: sandbox, introspect, explain'],
  [['issue', '--name', 'x', '--without', 'explain'], '--without is "explain"; allowed: sandbox, introspect'],
  [['issue', '--name', 'x', '--endpoint', 'a b'], '--endpoint is "a b"; allowed: the name of a saved query'],
  [['issue', '--name', 'x', '--endpoint', '*a*b*c*d*'], '--endpoint is "*a*b*c*d*"'],
  [['issue', '--name', 'x', '--param', 'project'], '--param is "project"; allowed: <name>=<value>'],
  [['issue', '--name', 'x', '--param', 'project='], '--param project has 0 characters; allowed: a value'],
  [['issue', '--name', 'x', '--param', `project=${'x'.repeat(513)}`], '--param project has 513 characters'],
  [
    ['issue', '--name', 'x', '--max-bytes-billed', '0'],
    '--max-bytes-billed is "0"; allowed: a number of bytes',
  ],
  [['issue', '--name', 'x', '--burst', '5'], '--burst is given without --requests-per-second'],
  [['issue', '--name', 'x', '--requests-per-minute', '-1'], '--requests-per-minute'],
  [['issue', 'ada'], 'token issue does not take "ada"'],
  [['show'], 'token show needs the id of a token'],
  [['show', 'ffffffff'], 'No token has the id "ffffffff"'],
  [['rotate', 'ffffffff'], 'No token has the id "ffffffff"'],
  [['rotate', 'ffffffff', '--grace', 'soon'], '--grace is "soon"; allowed: a time'],
  [['revoke', 'a', 'b'], 'token revoke does not take "b"'],
  [['revoke', 'jwt-xyz'], 'No token has the id "jwt-xyz"'],
  [['allow', 'jwt-0123456789ab'], 'No JSON Web Token is revoked by "jwt-0123456789ab"'],
  [['allow'], 'token allow needs the id of a token'],
  [['drop'], 'token takes issue, list, show, rotate, revoke or allow'],
])('token %j is refused with what is allowed', async (args, message) => {
  const { records, run } = await openShell();
  await expect(run(...args)).rejects.toThrow(message);
  expect(await records.read()).toEqual([]);
});

test.each(['issue', 'list', 'show', 'rotate', 'revoke', 'allow'])(
  'token %s --help says how it is used',
  async action => {
    const { run } = await openShell();
    expect(await run(action, '--help')).toMatch(new RegExp(`^npm run token -- ${action} `));
    expect(await run('--help')).toContain(`npm run token -- ${action} `);
  },
);
