import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { writeOpenApi } from '../../src/http/openapi.ts';
import { longestTurn } from '../support/longest-turn.ts';

const sql = readFileSync('sql/logs.all.sql', 'utf8');
const definitionOf = (name: string) =>
  parseDefinition(`${name}.sql`, sql.replace(/^name: .*$/m, `name: ${name}`));

test('is JSON with the paths and rows of each saved query, and without any of them too', async () => {
  const partsOf = async (...names: string[]) => {
    const { paths, components } = JSON.parse(await writeOpenApi(names.map(definitionOf)));
    const rows = Object.keys(components.schemas).filter(name => name.startsWith('Logs'));
    return [rows, Object.keys(paths).filter(path => path.includes('logs.')), components.securitySchemes];
  };
  const schemes = expect.objectContaining({ apiKey: expect.anything() });
  const route = '/api/endpoints/query';
  expect(await partsOf('logs.all', 'logs.other')).toEqual([
    ['LogsAllRow', 'LogsOtherRow'],
    [`${route}/logs.all`, `${route}/logs.other`],
    schemes,
  ]);
  expect(await partsOf()).toEqual([[], [], schemes]);
});

test('no two operations have one id, whatever saved queries are called', async () => {
  const names = ['a', 'a.by-id', 'a.post', 'a.post-by-id', 'a.post.by-id.post'];
  const one = definitionOf('a');
  const all = names.map((name, at) => ({ ...one, name, id: `00000000-0000-4000-8000-00000000000${at}` }));
  const { paths } = JSON.parse(await writeOpenApi(all));
  const ids = Object.values<Record<string, { operationId: string }>>(paths).flatMap(path =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(ids).toHaveLength(4 * names.length);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(['A', 'AById', 'APost', 'APostById']));
});

test('bounds and defaults of 64-bit integers are numbers with all their digits, and infinities bound nothing', async () => {
  const bounds = "min: '-9223372036854775808', max: '9223372036854775807', default: '9007199254740993'";
  const header = `parameters:
  id: { type: INT64, ${bounds}, description: An integer. }
  ratio: { type: FLOAT64, min: 0.5, max: Infinity, description: A number. }
  names: { type: STRING, repeated: true, description: Texts. }`;
  const text = sql.replace(/^parameters:\n(?: {2}.*\n)+/m, `${header}\n`);
  const document = await writeOpenApi([parseDefinition('logs.all.sql', text)]);
  expect(document).toContain(
    '"minimum":-9223372036854775808,"maximum":9223372036854775807,"default":9007199254740993',
  );
  const { parameters } = JSON.parse(document).paths['/api/endpoints/query/logs.all'].get;
  expect(parameters[1].schema).toEqual({ type: 'number', format: 'double', minimum: 0.5 });
  expect(parameters[2].description).toMatch(/^Texts\. .* split at its commas/);
});

test('patterns that RE2 alone reads the same are in words: clients compile the others', async () => {
  const own = ['(?i)^a', '[[:alpha:]]', String.raw`\A\pN\z`, '^[a-z]+$'];
  const header = own.map(
    (pattern, at) => `  p${at}: { type: STRING, pattern: '${pattern}', description: A text. }`,
  );
  const section = `parameters:\n${header.join('\n')}\n`;
  const text = sql.replace(/^parameters:\n(?: {2}.*\n)+/m, () => section);
  const { paths } = JSON.parse(await writeOpenApi([parseDefinition('logs.all.sql', text)]));
  const found = paths['/api/endpoints/query/logs.all'].get.parameters.slice(0, own.length);
  const patterns = found.map(({ schema }: { schema: { pattern?: string } }) => schema.pattern);
  expect(patterns).toEqual([undefined, undefined, undefined, '^[a-z]+$']);
  expect(found[0].description).toContain('a match of (?i)^a');
});

test('contract 11.2: the document of thousands of saved queries is written in slices', async () => {
  const one = definitionOf('logs.all');
  const many = Array.from({ length: 2000 }, (_, at) => ({ ...one, name: `logs.all${at}` }));
  const shares: number[] = [];
  for (let round = 0; round < 3; round++) {
    const before = process.threadCpuUsage();
    const { turnMs } = await longestTurn(() => writeOpenApi(many));
    const { user, system } = process.threadCpuUsage(before);
    shares.push(turnMs / ((user + system) / 1000));
  }
  // A collection of V8's heap may fall into a turn.
  expect(Math.min(...shares)).toBeLessThan(1 / 3);
});
