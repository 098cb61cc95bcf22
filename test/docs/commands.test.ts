import { execFile } from 'node:child_process';
import { glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const blocksOf = (page: string, language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text]) => text!);

/** Pages whose commands another test runs, or none can. */
const elsewhere: Record<string, string> = {
  'README.md': 'test/docs/readme.test.ts',
  'docs/bigquery.md': 'needs a project of BigQuery, or Docker',
  'docs/deployment.md': 'test/docs/compose.test.ts, test/deploy',
  'docs/supabase.md': 'test/docs/supabase-page.test.ts',
  'docs/traces.md': 'needs a collector; test/telemetry has the spans',
  'docs/warming.md': 'test/processes',
  'docs/your-data.md': 'test/docs/your-data.test.ts',
};

let gateway: OpenGateway;
let folder: string;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    rows: {
      'cloudflare.logs.prod': [
        edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00Z', project: 'abc' }),
        edgeRow({ id: 'b', timestamp: '2026-01-15T11:31:00Z', project: 'abc', path: '/auth/v1' }),
      ],
      'postgres.logs': [
        { id: 'p', timestamp: '2026-01-15T11:30:00Z', project: 'abc', event_message: 'FATAL: no more' },
      ],
    },
    sources: {
      'shop.orders.yaml': await readFile(join(root, 'examples/shop/sources/shop.orders.yaml'), 'utf8'),
    },
    tokens: { all: { scopes: ['sandbox', 'invalidate', 'write'] } },
  });
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
  const order = { order_id: 1, customer: '007', state: 'paid', ordered_at: '2026-01-15T10:00:00Z' };
  await writeFile(join(folder, 'rows.ndjson'), `${JSON.stringify(order)}\n`);
  const csv = `${Object.keys(order).join()}\n${Object.values(order).join()}\n`;
  await writeFile(join(folder, 'orders.csv.gz'), gzipSync(csv));
  await mkdir(join(folder, 'bin'));
  // What `npx sqg` and `npm run <command> --` run in the project's folder, over data of the test's own.
  const cli = `exec "${process.execPath}" "${root}src/cli.ts"`;
  const scripts = { npx: `shift; ${cli} "$@"`, npm: `shift; name=$1; shift; shift; ${cli} "$name" "$@"` };
  for (const [name, text] of Object.entries(scripts))
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return async () => {
    await gateway.close();
    await rm(folder, { recursive: true });
  };
});

/** Runs a block as it is written, but for the address of the gateway. */
async function runBlock(text: string): Promise<string> {
  const commands = text.replaceAll('http://127.0.0.1:4000', gateway.origin);
  const { stdout } = await run('sh', ['-ec', commands], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      HOME: folder,
      DATA_DIR: join(folder, '.data'),
      SQL_DIR: join(root, 'sql'),
      SOURCES_DIR: join(root, 'examples/shop/sources'),
      GATEWAY_URL: gateway.origin,
      GATEWAY_TOKEN: testToken,
      URL: gateway.origin,
      TOKEN: gateway.token('all'),
      PROJECT: 'abc',
    },
  });
  return stdout;
}

test('each page with commands has a test that runs them', async () => {
  const pages = ['README.md', ...(await Array.fromAsync(glob('docs/*.md', { cwd: root })))];
  const withCommands: string[] = [];
  for (const page of pages) {
    if (blocksOf(await readFile(join(root, page), 'utf8'), 'sh').length > 0) withCommands.push(page);
  }
  expect(withCommands.filter(page => !elsewhere[page]).sort()).toEqual(Object.keys(pagesHere).sort());
});

test('each script that a page names is one of package.json', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const pages = await Array.fromAsync(glob(['*.md', 'docs/*.md'], { cwd: root }));
  const named: string[] = [];
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8');
    for (const [, script = ''] of text.matchAll(/\bnpm run ([a-z][\w:-]*)/g))
      named.push(`${page}: ${script}`);
  }
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(each => !scripts[each.split(': ')[1]!])).toEqual([]);
});

/** What the commands of a page print, one text for each block. */
const pagesHere: Record<string, (outputs: string[]) => unknown> = {
  'docs/agents.md': ([issued]) => expect(issued).toMatch(/^sqg_/),
  'docs/caching.md': ([invalidated]) => expect(JSON.parse(invalidated!)).toHaveProperty('invalidated'),
  'docs/clients.md': ([saved]) => expect(saved).toBe(''),
  'docs/command-line.md': ([all]) => expect(all).toMatch(/11:00:00 .* 1, 0, 1, 0\n[\s\S]*"event_message"/),
  'docs/loading.md': ([rows, events, imported]) => {
    expect(JSON.parse(rows!)).toMatchObject({ rows: 1, rejected: 0 });
    expect(JSON.parse(events!)).toEqual({ message: 'Logged!', events: 1 });
    expect(imported).toContain('1 rows imported into shop.orders');
  },
  'docs/rest.md': ([saved]) => expect(saved).toBe(''),
  'docs/sandbox.md': ([rows, verdict]) => {
    expect(JSON.parse(rows!).result).toEqual([expect.objectContaining({ event_message: 'FATAL: no more' })]);
    expect(JSON.parse(verdict!)).toMatchObject({ verdict: 'refused', error: { line: 1, column: 8 } });
    expect(verdict).toContain('Did you mean event_message?');
  },
  'docs/tokens.md': ([issued]) => expect(issued).toMatch(/^sqg_/),
};

describe('the commands of a page run as they are written', () => {
  test.each(Object.keys(pagesHere))('%s', async page => {
    const text = await readFile(join(root, page), 'utf8');
    const outputs: string[] = [];
    // What goes on until it is stopped has a test of its own.
    for (const block of blocksOf(text, 'sh'))
      outputs.push(await runBlock(block.replace(/^.* --watch\n/m, '')));
    pagesHere[page]!(outputs);
  });
});

describe('the queries of docs/sandbox.md have rows', async () => {
  const page = await readFile(join(root, 'docs/sandbox.md'), 'utf8');
  test.each(blocksOf(page, 'sql'))('%s', async sql => {
    const path = `/api/endpoints/query/logs.all?${new URLSearchParams({ project: 'abc', sql })}`;
    const { status, body } = await gateway.get(path);
    expect([status, body]).toEqual([200, { result: expect.arrayContaining([expect.anything()]) }]);
  });
});
