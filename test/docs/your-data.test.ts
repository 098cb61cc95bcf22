import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testEndpoints } from '../../src/commands/endpoint-tests.ts';
import { runSourceCommand } from '../../src/commands/source-command.ts';
import { readConfig } from '../../src/composition/config.ts';
import { openGateway } from '../support/open-gateway.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const page = await readFile(new URL('../../docs/your-data.md', import.meta.url), 'utf8');

/** The first block of a language. */
function block(language: string): string {
  const found = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1];
  if (found === undefined) throw new Error(`no block of ${language}`);
  return found;
}

test('docs/your-data.md leads from a CSV to a typed GraphQL field', async () => {
  const directory = await temporaryDirectory();
  const config = readConfig({
    DATA_DIR: directory,
    SQL_DIR: join(directory, 'sql'),
    SOURCES_DIR: join(directory, 'schema/sources'),
  });
  for (const folder of ['data', 'sql', 'schema/sources']) {
    await mkdir(join(directory, folder), { recursive: true });
  }
  await writeFile(join(directory, 'data/orders.csv'), block('csv'));
  const [, ...args] = /npm run source -- (\S+) (\S+) (\S+)/.exec(block('sh')) ?? [];
  const lines: string[] = [];
  const [action = '', name = '', file = ''] = args;
  await runSourceCommand(config, line => lines.push(line), [action, name, join(directory, file)]);
  expect(`${lines.slice(0, -1).join('\n')}\n`).toBe(block('text'));

  const query = { 'orders.by-day.sql': block('sql'), 'orders.by-day.test.yaml': block('yaml') };
  for (const [own, text] of Object.entries(query)) await writeFile(join(config.SQL_DIR, own), text);
  const outcomes = await testEndpoints(config, ['orders.by-day']);
  expect(outcomes.map(({ problem }) => problem)).toEqual([undefined, undefined]);

  const source = await readFile(join(config.SOURCES_DIR, 'orders.yaml'), 'utf8');
  const gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sources: { 'orders.yaml': source.replace(/^files: .*/m, `files: [${directory}/data/orders.csv]`) },
    sqlFiles: query,
  });
  onTestFinished(gateway.close);
  const { body } = await gateway.graphql(block('graphql'));
  expect([body.errors, body.data]).toEqual([undefined, JSON.parse(block('json'))]);
  const [, path = ''] = /`GET (\/api\/endpoints\/query\/[^`]+)`/.exec(page) ?? [];
  expect((await gateway.get(path)).body.result).toEqual(body.data.ordersByDay);
});
