import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { variables } from '../../src/composition/config.ts';
import { studioQuestions } from '../supabase/studio-questions.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const page = await readFile(join(root, 'docs/supabase.md'), 'utf8');

/** All blocks of a language, in order; a backslash continues a line. */
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(match =>
    match[1]!.replaceAll('\\\n', '').trim(),
  );

const [override = ''] = blocks('yaml');
const { analytics } = parse(override).services;

/** What Supabase's `docker-compose.logs.yml` sets for its Logflare. */
const supabase = {
  LOGFLARE_NODE_HOST: '127.0.0.1',
  DB_USERNAME: 'supabase_admin',
  DB_DATABASE: '_supabase',
  DB_HOSTNAME: 'db',
  DB_PORT: '5432',
  DB_PASSWORD: 'secret',
  DB_SCHEMA: '_analytics',
  LOGFLARE_SINGLE_TENANT: 'true',
  LOGFLARE_SUPABASE_MODE: 'true',
  LOGFLARE_PUBLIC_ACCESS_TOKEN: 'a-public-token-of-the-env-file',
  LOGFLARE_PRIVATE_ACCESS_TOKEN: 'a-private-token-of-the-env-file',
  LOGFLARE_FEATURE_FLAG_OVERRIDE: 'multibackend=true',
  POSTGRES_BACKEND_URL: 'postgresql://supabase_admin:secret@db:5432/_supabase',
  POSTGRES_BACKEND_SCHEMA: '_analytics',
};

test('the override is ten lines at most, of settings that there are', () => {
  expect(override.split('\n').length).toBeLessThanOrEqual(10);
  expect(Object.keys(analytics.environment).filter(name => !(name in variables))).toEqual([]);
  expect(analytics.volumes).toEqual(['logs:/data']);
  expect(page).toContain(`none of ${studioQuestions.length} `);
});

test('docs/supabase.md leads an operator from the override to the old logs', async () => {
  const directory = await temporaryDirectory();
  const environment = { ...supabase, ...analytics.environment };
  // As the image has it, on a free port.
  const image = { NODE_ENV: 'production', HOST: '0.0.0.0', PORT: '0', DATA_DIR: join(directory, 'data') };
  const env = { PATH: process.env.PATH, ...environment, ...image, LOG_LEVEL: 'error' };
  const gateway = spawn(process.execPath, ['src/gateway.ts'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(async () => {
    gateway.kill('SIGTERM');
    if (gateway.exitCode === null) await once(gateway, 'exit');
  });
  let said = '';
  for await (const part of gateway.stdout) {
    said += part;
    if (said.includes('Try:')) break;
  }
  expect(said).toContain('Stands in for the Logflare of a self-hosted Supabase');
  const port = /gateway at http:\/\/[^\s/]*:(\d+)/.exec(said)?.[1] ?? '';

  const [node, ...check] = analytics.healthcheck.test.slice(1);
  expect(node).toBe('node');
  const health = (at: string) =>
    run(
      process.execPath,
      check.map((part: string) => part.replace('4000', at)),
    );
  await health(port);
  await expect(health('1')).rejects.toMatchObject({ code: 1 });

  const [curls = '', importing = ''] = blocks('sh');
  const [taken = '', found = ''] = blocks('json')[0]!.split('\n');
  const [send = '', ask = ''] = curls.replaceAll(':4000', `:${port}`).split(/\n(?=curl)/);
  const answer = async (command: string) => JSON.parse((await run('sh', ['-c', command], { env })).stdout);
  expect(await answer(send)).toEqual(JSON.parse(taken));
  await expect.poll(() => answer(ask)).toEqual(JSON.parse(found));

  // What Postgres answers to the statement of the page.
  const columns = /copy \(select ([\w, ]+) from/.exec(page)?.[1]?.split(', ') ?? [];
  const values: Record<string, string> = {
    id: 'b1',
    body: '"{""metadata"":{""host"":""db""}}"',
    event_message: 'help',
    timestamp: '2026-01-15 10:00:00',
  };
  const old = `${columns.join()}\n${columns.map(name => values[name]).join()}\n`;
  await writeFile(join(directory, 'postgres.logs.csv'), old);
  const command = importing
    .replace('docker compose exec -T analytics node', process.execPath)
    .replace('src/cli.ts', join(root, 'src/cli.ts'));
  const inFolders = { ...env, SQL_DIR: join(root, 'sql'), SOURCES_DIR: join(root, 'schema/sources') };
  const { stdout } = await run('sh', ['-c', command], { env: inFolders, cwd: directory });
  expect(stdout).toContain('1 rows imported into postgres.logs, 0 left out');
  await expect.poll(() => answer(ask)).toEqual({ result: [{ n: 2 }] });

  // A backup and the way back, without what Docker does for them.
  const data = join(directory, 'data');
  const inContainer = (words: string) => {
    const here = words.replaceAll('/data', data).replace('/app', root);
    return run('sh', ['-c', here.replaceAll('node ', `${process.execPath} `)], { cwd: root, env });
  };
  const [backUp = '', putBack = ''] = blocks('text').filter(text => text.includes('/data/backup'));
  await inContainer(/exec analytics (node .*)/.exec(backUp)?.[1] ?? '');
  gateway.kill('SIGTERM');
  await once(gateway, 'exit');
  await inContainer(/sh -c '([^']*)'/.exec(putBack)?.[1] ?? '');
  const names = await readdir(data);
  expect(names).toEqual(expect.arrayContaining(['before', 'format.json', 'logs.duckdb', 'rows']));
  expect(names).not.toContain('backup');
  expect(await readdir(join(data, 'before'))).toEqual(
    expect.arrayContaining(['current.json', 'logs.duckdb']),
  );
});
