import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A gateway process with a data folder of its own; `ended` has its exit code and what it wrote. */
async function spawnGateway(environment: Record<string, string> = {}) {
  const directory = environment.DATA_DIR ?? (await temporaryDirectory());
  const env = {
    ...process.env,
    DATA_DIR: directory,
    SAMPLE_ROWS: '200',
    PORT: '0',
    LOG_LEVEL: 'info',
    ...environment,
  };
  const child = spawn('node', ['src/gateway.ts'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
      await once(child, 'exit');
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', part => {
    out += part;
  });
  child.stderr.setEncoding('utf8').on('data', part => {
    err += part;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, out, err }));
  const ready = async () => {
    while (!out.includes('Try:')) await Promise.race([once(child.stdout, 'data'), ended.then(fail)]);
    return {
      origin: /gateway at (\S+)/.exec(out)?.[1] ?? '',
      token: /token +(\S+)/.exec(out)?.[1] ?? '',
      project: /project=(\w+)/.exec(out)?.[1] ?? '',
    };
  };
  const fail = () => {
    throw new Error(`the gateway ended: ${err}`);
  };
  return { child, directory, ended, ready, printed: () => out + err, errors: () => err };
}

const ask = async ({ origin, project }: { origin: string; project: string }, token: string) => {
  const url = `${origin}/api/endpoints/query/logs.all?project=${project}`;
  const response = await fetch(url, { headers: { 'x-api-key': token } });
  return { status: response.status, body: JSON.parse(await response.text()) };
};

test('prints an address, a token and a project that give rows, and the same token at the next start', async () => {
  const first = await spawnGateway();
  const printed = await first.ready();
  expect((await ask(printed, printed.token)).body.result.length).toBeGreaterThan(0);
  expect((await stat(join(first.directory, 'sample-token'))).mode & 0o777).toBe(0o600);
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);

  const second = await spawnGateway({ DATA_DIR: first.directory });
  expect((await second.ready()).token).toBe(printed.token);
});

test('ACCESS_TOKEN takes the place of the sample token', async () => {
  const gateway = await spawnGateway({ ACCESS_TOKEN: 'mine' });
  const printed = await gateway.ready();
  expect(printed.token).toBe('mine');
  expect((await ask(printed, 'mine')).status).toBe(200);
  await expect(readFile(join(gateway.directory, 'sample-token'))).rejects.toThrow('ENOENT');
});

test('prints no token in production, neither a given one nor its own', async () => {
  const token = 'a-token-that-is-long-enough';
  const given = await spawnGateway({ NODE_ENV: 'production', ACCESS_TOKEN: token });
  const own = await spawnGateway({ NODE_ENV: 'production' });
  const printed = await given.ready();
  expect((await ask(printed, token)).status).toBe(200);
  expect(given.printed()).not.toContain(token);
  const { origin, project } = await own.ready();
  const kept = (await readFile(join(own.directory, 'sample-token'), 'utf8')).trim();
  expect((await ask({ origin, project }, kept)).status).toBe(200);
  expect(own.printed()).not.toContain(kept);
  expect(own.printed()).toContain(join(own.directory, 'sample-token'));
});

test('only a start on loopback outside production gives its page the token, and only its own', async () => {
  const settings: Record<string, string>[] = [
    {},
    { NODE_ENV: 'production' },
    { HOST: '0.0.0.0' },
    { ACCESS_TOKEN: 'mine' },
  ];
  const given = settings.map(async environment => {
    const { origin, token } = await (await spawnGateway(environment)).ready();
    const sample = await fetch(`http://127.0.0.1:${new URL(origin).port}/api/sample`, {
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    return { printed: token, given: (await sample.json()).token };
  });
  const [ours, ...others] = await Promise.all(given);
  expect(ours?.given).toBe(ours?.printed);
  expect(ours?.given).toMatch(/./);
  expect(others.map(answer => answer.given)).toEqual([undefined, undefined, undefined]);
});

test('a second gateway reads the same file beside the first', async () => {
  const first = await spawnGateway();
  const printed = await first.ready();
  const second = await spawnGateway({ DATA_DIR: first.directory, SAMPLE_ROWS: '300' });
  const other = await second.ready();
  expect(second.errors()).toContain('"event":"sample.skipped"');
  expect((await ask(other, other.token)).body).toEqual((await ask(printed, printed.token)).body);
});

test('DuckDB is loaded by the processes that use it, not by the gateway', async () => {
  const script = `await import('./src/composition/start-gateway.ts');
    console.log(process.report.getReport().sharedObjects.join('\\n'))`;
  const { stdout } = await promisify(execFile)('node', ['--input-type=module', '--eval', script], {
    cwd: root,
  });
  expect(stdout.trim()).not.toBe('');
  expect(stdout).not.toMatch(/duckdb/i);
});

test('SAMPLE_ROWS=0 starts with empty tables', async () => {
  const gateway = await spawnGateway({ SAMPLE_ROWS: '0' });
  const printed = await gateway.ready();
  expect(await ask(printed, printed.token)).toEqual({ status: 200, body: { result: [] } });
});

test('a start leaves broken files of saved queries and sources out, and serves all others', async () => {
  const [sql, sources] = [await temporaryDirectory(), await temporaryDirectory()];
  await cp(join(root, 'sql'), sql, { recursive: true });
  await cp(join(root, 'schema', 'sources'), sources, { recursive: true });
  const text = await readFile(join(sql, 'logs.all.sql'), 'utf8');
  const copy = text
    .replace(/^id: .*$/m, 'id: 00000000-0000-4000-8000-000000000001')
    .replace('name: logs.all', 'name: logs-all');
  await writeFile(join(sql, 'logs-all.sql'), copy);
  await writeFile(join(sources, 'orders.yaml'), 'name: orders\ncolumns: { n: INTEGER }\n');
  const gateway = await spawnGateway({ SQL_DIR: sql, SOURCES_DIR: sources });
  const printed = await gateway.ready();
  expect((await ask(printed, printed.token)).status).toBe(200);
  const ready = await fetch(`${printed.origin}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    {
      status: 'ready',
      reasons: ['saved_query_broken', 'source_broken'],
      broken: ['logs-all.sql:3: name', 'orders.yaml:2: columns.n'],
    },
  ]);
  expect(gateway.errors()).toMatch(
    /"event":"source\.broken","file":"orders\.yaml","message":"orders\.yaml:2: columns\.n: is /,
  );
  // Who sends rows for it can send them again once its file is right.
  const post = (path: string) =>
    fetch(printed.origin + path, {
      method: 'POST',
      body: '{"n":1}',
      headers: { 'x-api-key': printed.token },
    }).then(async answer => [answer.status, (await answer.json()).error.message]);
  const wrong = [503, 'Source orders is not served: its file is wrong'];
  expect(await post('/api/sources/orders/rows')).toEqual(wrong);
  expect(await post('/api/logs?source_name=orders')).toEqual(wrong);
  expect((await post('/api/sources/nothing/rows'))[0]).toBe(404);
});

describe('a start that can not succeed says why, without a stack, and exits with 1', () => {
  const refusal = async (environment: Record<string, string>) => {
    const { code, err } = await (await spawnGateway(environment)).ended;
    expect([code, err]).toEqual([1, expect.stringContaining('The gateway could not start.')]);
    expect(err).not.toMatch(/^ +at /m);
    return err;
  };

  test('variables that are not allowed', async () => {
    expect(await refusal({ PORT: 'abc', ENGINE: 'oracle' })).toMatch(/^PORT: .*\nENGINE: .*"duckdb"/m);
  });

  test('a port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    expect(await refusal({ PORT: port })).toContain('Choose another port: PORT=4001 npm start');
  });

  test('broken saved queries, all of them, with file, line and key', async () => {
    const directory = await temporaryDirectory();
    await cp(join(root, 'sql'), directory, { recursive: true });
    const lines: number[] = [];
    for (const [file, from, to] of [
      ['logs.all.sql', 'maxRows: 1000', 'maxRows: many'],
      ['usage.api-counts.sql', 'timestamp:\n    type: DATETIME', 'timestamp:\n    type: DATE'],
    ] as const) {
      const text = await readFile(join(directory, file), 'utf8');
      lines.push(text.slice(0, text.indexOf(from)).split('\n').length);
      await writeFile(join(directory, file), text.replace(from, to));
    }
    const err = await refusal({ SQL_DIR: directory });
    expect(err).toContain(`logs.all.sql:${lines[0]}: maxRows: `);
    expect(err).toContain(
      `usage.api-counts.sql:${lines[1]}: columns.timestamp: column 1 of the header is timestamp DATE`,
    );
  });

  test('a folder of saved queries that is not there', async () => {
    expect(await refusal({ SQL_DIR: '/nowhere/at/all' })).toContain(
      'The folder of saved queries, /nowhere/at/all, ',
    );
  });

  test('a tokens file that can not be read', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'tokens.json'), '{');
    expect(await refusal({ DATA_DIR: directory })).toContain(
      `The tokens file ${directory}/tokens.json can't be read`,
    );
  });

  test('a database that is none', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'logs.duckdb'), 'nonsense');
    expect(await refusal({ DATA_DIR: directory })).toContain(
      'logs.duckdb is damaged, or is not a DuckDB database\n  to do: move it away',
    );
  });
});
