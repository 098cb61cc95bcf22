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

test('contract 11.2: the document of thousands of saved queries is written in slices', async () => {
  const many = Array(2000).fill(definitionOf('logs.all'));
  const { user, system } = process.threadCpuUsage();
  const { turnMs } = await longestTurn(() => writeOpenApi(many));
  const after = process.threadCpuUsage();
  const tookMs = (after.user + after.system - user - system) / 1000;
  expect(turnMs).toBeLessThan(tookMs / 3);
});
