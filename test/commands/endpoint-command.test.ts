import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runEndpointCommand } from '../../src/commands/endpoint-command.ts';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A folder of saved queries and data of its own, and what a command prints over it. */
async function openCommands(environment: Record<string, string> = {}) {
  const directory = await temporaryDirectory();
  await cp(new URL('../../sql', import.meta.url), join(directory, 'sql'), { recursive: true });
  const config = readConfig({ DATA_DIR: directory, SQL_DIR: join(directory, 'sql'), ...environment });
  (await openForWriting(databasePath(config), readSources())).close();
  const run = async (...args: string[]) => {
    const lines: string[] = [];
    const deps = {
      clock: createStandingClock('2026-01-15T12:00:00Z'),
      print: (line: string) => lines.push(line),
    };
    const isWell = await runEndpointCommand(config, deps, args);
    return { isWell, text: lines.join('\n') };
  };
  const change = async (file: string, from: string, to: string) => {
    const path = join(directory, 'sql', file);
    await writeFile(path, (await readFile(path, 'utf8')).replace(from, to));
  };
  return { directory, run, change };
}

describe('endpoint test', () => {
  test('both shipped queries pass theirs', async () => {
    const { run } = await openCommands();
    const { isWell, text } = await run('test');
    expect(text).not.toContain('FAILED');
    expect(isWell).toBe(true);
    expect(text.match(/^ok /gm)?.length).toBeGreaterThan(10);
  });

  test('each that fails says its first difference', async () => {
    const { run, change } = await openCommands();
    for (const [file, from, to] of [
      ['logs.all.sql', 'metadata\nfrom edge_logs\norder by timestamp desc, id', 'metadata\nfrom edge_logs\norder by timestamp desc, id desc'],
      ['logs.all.test.yaml', 'expect: [{ id: c }]', 'expect: [{ id: c }, { id: a }]'],
      ['logs.all.test.yaml', 'error: Parameter "project" is required', 'error: something else'],
      ['logs.all.test.yaml', 'sql: select id from `postgres.logs`', 'sql: select id from postgres_logs'],
      ['logs.all.test.yaml', '{ project: ours, iso_timestamp_start: "2026-01-15T12:00:00', '{ project: ours, iso_timestamp_strat: "2026-01-15T12:00:00'],
    ] as const) await change(file, from, to); // biome-ignore format: a table
    const { isWell, text } = await run('test', 'logs.all');
    expect(isWell).toBe(false);
    expect(text.match(/FAILED/g)).toHaveLength(6);
    for (const problem of [
      'has no parameter "iso_timestamp_strat"',
      'row 2: id is "b"; expected "a"',
      'gave 1 rows; expected 2',
      'failed with "Parameter',
      'gave 1 rows; expected an error',
    ]) {
      expect(text).toContain(problem);
    }
  });

  test('integers are compared with all their digits, FLOAT64 by its value', async () => {
    const { directory, run } = await openCommands();
    const write = (sql: string, expected: string) =>
      writeFile(
        join(directory, 'sql', 'logs.all.test.yaml'),
        `given: { postgres.logs: [{ id: p, timestamp: 9999-12-31T23:59:59.999999Z, project: ours, event_message: x, metadata: [{ parsed: [{ query_id: 9007199254740993 }] }] }] }
tests: [{ name: exact, parameters: { project: ours }, sql: "${sql}", expect: [${expected}] }]\n`,
      );
    const ids =
      'select r.query_id as n, t.timestamp as w, round(-0.4) as z, 1e17 as f from postgres_logs t cross join unnest(metadata) m cross join unnest(m.parsed) r';
    await write(
      ids,
      '{ n: 9007199254740993, w: "9999-12-31T23:59:59.999999Z", z: 0, f: 100000000000000000 }',
    );
    expect((await run('test', 'logs.all')).text).toBe('ok     logs.all: exact');
    await write(ids, '{ n: 9007199254740992 }');
    expect((await run('test', 'logs.all')).text).toContain(
      'row 1: n is 9007199254740993; expected 9007199254740992',
    );
    await write(ids, '{ w: "9999-12-31T23:59:59.999998Z" }');
    expect((await run('test', 'logs.all')).isWell).toBe(false);
  });

  test('a file of tests that is wrong is refused by line and key, and so are rows that fit no source', async () => {
    const { run, change } = await openCommands();
    await change('logs.all.test.yaml', 'expect: []', 'expects: []');
    await expect(run('test', 'logs.all')).rejects.toThrow(
      'logs.all.test.yaml:22: tests.2.expects: is not a known key',
    );
    await change('logs.all.test.yaml', 'expects: []', 'expect: []');
    await change('logs.all.test.yaml', 'project: theirs, event_message', 'projekt: theirs, event_message');
    await expect(run('test', 'logs.all')).rejects.toThrow('the source has no field projekt');
    await expect(run('test', 'nobody')).rejects.toThrow('No file nobody.test.yaml');
  });
});

test('a new saved query is valid, and explained', async () => {
  const { directory, run } = await openCommands();
  const { text } = await run('new', 'edge.first', '--from', 'cloudflare.logs.prod');
  expect(text).toBe(`${join(directory, 'sql', 'edge.first.sql')} is written. Next: npm run endpoint -- lint`);
  expect((await run('lint')).text).toBe('3 saved queries are valid: edge.first, logs.all, usage.api-counts');
  const explained = await run('explain', 'edge.first', '--param', 'size=5', '--json');
  expect(JSON.parse(explained.text)).toMatchObject({ sources: ['cloudflare.logs.prod'] });
  await expect(run('explain', 'edge.first', '--param', 'size=0')).rejects.toThrow('at least 1');
  await expect(run('new', 'edge.first', '--from', 'cloudflare.logs.prod')).rejects.toThrow(
    'edge.first.sql is there already',
  );
  await expect(run('new', 'other', '--from', 'postgres.log')).rejects.toThrow(
    '--from is "postgres.log"; allowed: the name of a source; Did you mean postgres.logs?',
  );
  await expect(run('explain', 'edge.first', '--param', 'sise=5')).rejects.toThrow(
    'edge.first has no parameter "sise"; allowed: size; Did you mean size?',
  );
});

test('lint says all that is wrong, by file, line and key', async () => {
  const { run, change } = await openCommands();
  await change('logs.all.sql', 'name: logs.all', 'name: usage.api_counts');
  await change('usage.api-counts.sql', 'type: regexp', 'type: regex');
  await expect(run('lint')).rejects.toThrow(
    /logs\.all\.sql:\d+: name: must match the file[\s\S]*usage\.api-counts\.sql:\d+: parameters\.project\.type/,
  );
});

test('lint and explain judge each file by itself, those of sources too', async () => {
  const sources = await temporaryDirectory();
  const { run, change } = await openCommands({ SOURCES_DIR: sources });
  await cp(ownSources, sources, { recursive: true });
  await writeFile(join(sources, 'orders.yaml'), 'name: orders\ncolumns: { n: INTEGER }\n');
  await change('usage.api-counts.sql', 'type: regexp', 'type: regex');
  expect(await run('lint')).toEqual({
    isWell: false,
    text: expect.stringMatching(
      /^orders\.yaml:2: columns\.n: is .*\nusage\.api-counts\.sql:\d+: parameters\.project\.type: .*\n1 saved queries are valid: logs\.all$/,
    ),
  });
  expect((await run('lint', '--json')).text.split('\n').map(line => JSON.parse(line))).toMatchObject([
    { broken: 'orders.yaml', problems: [{ line: 2, key: 'columns.n' }] },
    { broken: 'usage.api-counts.sql', problems: [{ key: 'parameters.project.type' }] },
    { valid: ['logs.all'] },
  ]);
  expect((await run('explain', 'logs.all', '--param', 'project=x')).isWell).toBe(true);
  await expect(run('explain', 'usage.api-counts')).rejects.toThrow('parameters.project.type');
});

test('before a first start lint and explain check on empty tables, and make nothing', async () => {
  const { directory, run } = await openCommands();
  await rm(join(directory, 'logs.duckdb'));
  expect((await run('lint')).text).toBe('2 saved queries are valid: logs.all, usage.api-counts');
  expect((await run('explain', 'logs.all', '--param', 'project=x')).text).toContain('cloudflare.logs.prod');
  expect(await readdir(directory)).toEqual(['sql']);
});

test('--help says what there is, and another word is refused', async () => {
  const { run } = await openCommands();
  expect((await run('--help')).text).toContain('npm run endpoint -- new');
  await expect(run('remove')).rejects.toThrow('endpoint takes new, lint, explain or test');
  await expect(run('lint', '--josn')).rejects.toThrow(/^There is no option --josn; Did you mean --json\?$/);
});
