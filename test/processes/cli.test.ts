import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a command as the npm scripts do, in a data folder of its own. */
async function openShell(environment: Record<string, string> = {}) {
  const directory = await temporaryDirectory();
  const cli = (args: string[], input = '') =>
    new Promise<{ code: number; out: string; err: string }>(resolve => {
      const options = { cwd: root, env: { ...process.env, DATA_DIR: directory, ...environment } };
      const child = execFile('node', ['src/cli.ts', ...args], options, (error, out, err) => {
        resolve({ code: error ? Number(error.code) : 0, out, err });
      });
      child.stdin?.end(input);
    });
  return { directory, cli };
}

describe('token', () => {
  test('contract 8.1, 8.3: issues a token once, lists it without its secret, revokes it', async () => {
    const { directory, cli } = await openShell();
    const { out } = await cli(['token', 'issue', '--name', 'ada', '--expires', '2127-01-31']);
    const [, token = '', id = ''] = /^((sqg_[0-9a-f]{8})_\S+)\n$/.exec(out) ?? [];
    const file = join(directory, 'tokens.json');
    expect(await readFile(file, 'utf8')).not.toContain(token.slice(13));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const list = await cli(['token', 'list']);
    expect(list.out).toMatch(
      new RegExp(`^${id} .*expires 2127-01-31T00:00:00.000Z +ada  may sandbox, introspect\n$`),
    );
    await cli(['token', 'issue', '--name', 'ops', '--scope', 'admin', '--scope', 'no-cache']);
    expect((await cli(['token', 'list'])).out).toMatch(/ ops {2}may sandbox, introspect, no-cache, admin\n$/);
    expect((await cli(['token', 'revoke', id])).code).toBe(0);
    expect((await cli(['token', 'list'])).out).toContain('revoked');
  });

  test('takes a limit of bytes and the scope explain', async () => {
    const { directory, cli } = await openShell();
    await cli(['token', 'issue', '--name', 'ada', '--scope', 'explain', '--max-bytes-billed', '1000']);
    expect(JSON.parse(await readFile(join(directory, 'tokens.json'), 'utf8'))).toMatchObject([
      { scopes: ['explain'], maxBytesBilled: 1000 },
    ]);
    expect((await cli(['token', 'list'])).out).toMatch(
      /may sandbox, introspect, explain {2}at most 1000 bytes a query\n$/,
    );
  });

  const mistakes: [args: string[], message: string][] = [
    [['token'], 'token takes issue, list, show, rotate, revoke or allow'],
    [['token', 'issue'], 'token issue needs --name'],
    [['token', 'revoke', 'ffffffff'], 'No token has the id "ffffffff"'],
    [['token', 'issue', '--nam', 'x'], 'There is no option --nam; Did you mean --name?'],
    [['cache'], 'cache takes invalidate and the name or UUID of an endpoint'],
    [['cache', 'invalidate'], 'cache takes invalidate and the name or UUID of an endpoint'],
    [
      ['cache', 'invalidate', 'logs.all', '--param', 'project'],
      '--param is "project"; allowed: <name>=<value>',
    ],
    [['tokens'], 'No command is named "tokens"; Did you mean token?'],
    [[], 'No command is given'],
    [['doctor', 'please'], 'doctor takes nothing, but got "please"'],
    [['start', '--port=5000'], 'start takes nothing, but got "--port=5000"'],
    [
      [
        'cache',
        'invalidate',
        'logs.all',
        '--param',
        'project=a',
        '--param',
        'iso_timestamp_strat=2026-01-15',
      ],
      'logs.all has no parameter "iso_timestamp_strat"; allowed: project',
    ],
    [['query', 'logs.all', '--profile', 'none'], 'There is no profile "none"'],
    [['mcp', 'logs.all'], 'mcp takes nothing, but got "logs.all"'],
    [['endpoint', 'lint', 'logs.all'], 'endpoint lint takes no names'],
    [['endpoint', 'explain'], 'endpoint explain takes the name of a saved query'],
    [['source', 'list', 'postgres.logs'], 'source list takes no names'],
    [['operations', 'docs', '--json'], 'There is no option --json'],
    [['completion', 'bash', 'zsh'], 'completion takes a shell, but got "zsh" too'],
    [['query', 'logs.all', '--url='], 'The address of the gateway is ""'],
    [
      ['query', 'logs.all', '--url=http://127.0.0.1:1', '--token=\u201cx\u201d'],
      'The token has characters that',
    ],
  ];

  test('each command explains itself, whatever the settings are', async () => {
    const { cli } = await openShell({ PORT: 'four' });
    const asked = [['token', '-h'], ['token', 'issue', '-h'], ['endpoint', 'help'], ['import', '-h'], ['source', '--help'], ['backup', 'help'], ['query', '-h']]; // biome-ignore format: one list
    const said = await Promise.all(asked.map(args => cli(args)));
    for (const [at, { code, out, err }] of said.entries()) {
      const name = asked[at]![0] === 'query' ? 'query <endpoint>' : asked[at]![0];
      expect([asked[at], code, out, err]).toEqual([asked[at], 0, expect.stringContaining(`${name} `), '']);
    }
  });

  test('a mistake is refused with what is allowed', async () => {
    const { cli } = await openShell();
    const refused = await Promise.all(mistakes.map(([args]) => cli(args)));
    for (const [at, { code, err }] of refused.entries()) {
      const [args, message] = mistakes[at]!;
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining(message)]);
      // Of a known command its own lines, of a mistyped one none: the whole list would hide what is wrong.
      if (args[0] !== 'tokens') expect(err).toContain(`\n  ${args[0] ?? 'query'} `);
      expect(err.split('\n').length).toBeLessThan(args[0] === undefined ? 60 : 14);
      expect(err).toContain('sqg --help ');
    }
  });
});

test('what fails for a file or a folder says which, and what to do, without a stack', async () => {
  const { cli } = await openShell();
  const failing: [string[], string][] = [
    [['source', 'add', 'x', '/none.csv'], '/none.csv: no such file or directory\n'],
    [
      ['backup', 'restore', '/none'],
      'The backup was not restored.\n/none is not a backup: it has no logs.duckdb\n  to do: name the folder of a backup\n',
    ],
  ];
  const failed = await Promise.all(failing.map(([args]) => cli(args)));
  expect(failed.map(({ code, err }) => [code, err])).toEqual(failing.map(([, message]) => [1, message]));
});

describe('doctor', () => {
  test('fails where something is wrong, and says all that is', async () => {
    const { cli } = await openShell({ SQL_DIR: '/no/such/folder', REDIS_URL: 'redis://127.0.0.1:1' });
    const { code, out } = await cli(['doctor']);
    expect(code).toBe(1);
    expect(out).toMatch(/WRONG {2}Redis: /);
    expect(out).toMatch(/WRONG {2}saved queries: /);
  });

  test('goes on where the folder of sources is not there', async () => {
    const { cli } = await openShell({ SOURCES_DIR: '/nowhere' });
    const { code, out } = await cli(['doctor']);
    expect(code).toBe(1);
    expect(out).toContain("WRONG  sources: The folder of sources, /nowhere, can't be read");
    expect(out).toContain('ok     access tokens: ');
  });

  test('fails where the configuration is wrong', async () => {
    const { cli } = await openShell({ PORT: 'four' });
    const { code, err } = await cli(['doctor']);
    expect([code, err]).toEqual([1, expect.stringContaining('PORT: ')]);
  });
});

test.each([
  ['endpoint', 'lint', "The folder of sources, /nowhere, can't be read"],
  ['endpoint', 'new', "The folder of sources, /nowhere, can't be read"],
  ['schema', '', "The folder of saved queries, /nowhere, can't be read"],
])('%s %s says what is not there, without a stack', async (name, action, message) => {
  const { cli } = await openShell({ SOURCES_DIR: '/nowhere', SQL_DIR: '/nowhere' });
  const { code, err } = await cli([name, ...(action ? [action] : [])]);
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
  expect(err).not.toContain('    at ');
});

test.each([
  ['where the gateways share no cache', {}, '', 'REDIS_URL is not set'],
  ['where Redis does not answer', { REDIS_URL: 'redis://127.0.0.1:1' }, 'an id', 'nothing was invalidated'],
  [
    'where no gateway has used the folder',
    { REDIS_URL: 'redis://127.0.0.1:1' },
    '',
    'settings of the gateways',
  ],
])('cache invalidate says so %s', async (_where, environment, folderId, message) => {
  const { directory, cli } = await openShell(environment);
  await writeFile(join(directory, 'folder-id'), folderId);
  const { code, err } = await cli(['cache', 'invalidate', 'logs.all']);
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
});

describe('import', () => {
  test('reads standard input, and names bad lines and ignored fields', async () => {
    const { cli } = await openShell();
    const lines = '{"timestamp":"2026-01-01","color":"red"}\nnonsense\n{"timestamp":"2026-01-02"}\n';
    const { code, out, err } = await cli(['import', 'postgres.logs', '-'], lines);
    expect([code, out.trim()]).toEqual([0, '2 rows imported into postgres.logs, 1 left out']);
    expect(err).toMatch(/^line 2 is left out: .*\nfield color/m);
    expect(err).not.toMatch(/^$\n/m);
    expect(err).toContain('field color is not in postgres.logs and was ignored');
  });

  test('loads all rows where the reader of standard error has left', async () => {
    const { directory } = await openShell();
    const child = spawn('node', ['src/cli.ts', 'import', 'postgres.logs', '-'], {
      cwd: root,
      env: { ...process.env, DATA_DIR: directory },
    });
    child.stderr.destroy();
    child.stdin.end(`{"timestamp":"2026-01-01"}\n${'nonsense\n'.repeat(3)}`);
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect([code, out]).toEqual([0, '1 rows imported into postgres.logs, 3 left out\n']);
  });

  test('has the low priority of the engine: its rows are stored beside queries', async () => {
    const { directory } = await openShell();
    const child = spawn('node', ['src/cli.ts', 'import', 'postgres.logs', '-'], {
      cwd: root,
      env: { ...process.env, DATA_DIR: directory },
    });
    const closed = once(child, 'close');
    const { PRIORITY_BELOW_NORMAL } = constants.priority;
    await expect.poll(() => getPriority(child.pid)).toBeGreaterThanOrEqual(PRIORITY_BELOW_NORMAL);
    child.stdin.end('{"timestamp":"2026-01-01"}\n');
    expect((await closed)[0]).toBe(0);
  });

  test('lines and fields of strangers do not steer the terminal', async () => {
    const { cli } = await openShell();
    const lines = `{"timestamp":"2026-01-01","a\\u001b[2J\\u009b":1}\n\u001b]0;title\u0007\n`;
    const { code, err } = await cli(['import', 'postgres.logs', '-', '--format', 'ndjson'], lines);
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^line 2 is left out: .*title[\s\S]*field a \[2J {2}is not in/),
    ]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    expect(err.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test('a disk without room for the rejects loads the rows, and says that it failed', async () => {
    const { cli } = await openShell();
    const lines = `{"timestamp":"2026-01-01"}\n${'nonsense\n'.repeat(10_000)}{"timestamp":"2026-01-02"}\n`;
    const { code, out, err } = await cli(['import', 'postgres.logs', '-', '--rejects', '/dev/full'], lines);
    expect([code, out]).toEqual([1, '2 rows imported into postgres.logs, 10000 left out\n']);
    expect(err).toContain('not all rejected lines are in /dev/full: ENOSPC');
    expect(err).not.toContain('    at ');
  });

  test('ends where the rejects can not be written, and waits for no input', async () => {
    const { directory } = await openShell();
    const args = ['src/cli.ts', 'import', 'postgres.logs', '-', '--rejects', join(directory, 'none', 'x')];
    const child = spawn('node', args, { cwd: root, env: { ...process.env, DATA_DIR: directory } });
    onTestFinished(() => void child.kill());
    // The beginning is looked at first; the input itself stays open.
    child.stdin.write(`{"timestamp":"2026-01-01"}\n`.repeat(4000));
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([code, err]).toEqual([1, expect.stringContaining('no such file or directory')]);
  });

  test('reads a file', async () => {
    const { directory, cli } = await openShell();
    const file = join(directory, 'rows.ndjson');
    await writeFile(file, '{"timestamp":"2026-01-01"}\n');
    expect((await cli(['import', 'postgres.logs', file])).out.trim()).toBe(
      '1 rows imported into postgres.logs, 0 left out',
    );
  });

  test.each([
    [['import', 'postgres.logs'], 2, 'import takes a source and a file'],
    [['import', 'edge', 'x.ndjson'], 2, 'No source is named "edge"; allowed: cloudflare.logs.prod, '],
    [['import', 'postgres.logs', 'nowhere.ndjson'], 1, 'nowhere.ndjson: no such file or directory\n'],
    [['import', 'postgres.logs', 'package.json.parquet'], 1, 'no such file or directory'],
  ])('%j is refused with %d', async (args, expected, message) => {
    const { cli } = await openShell();
    const { code, err } = await cli(args);
    expect([code, err]).toEqual([expected, expect.stringContaining(message)]);
    expect(err).not.toContain('    at ');
  });
});
