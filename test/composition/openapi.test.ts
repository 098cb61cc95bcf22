import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { buildOpenApi, writeOpenApi } from '../../src/http/openapi.ts';
import { longestTurn } from '../support/longest-turn.ts';

const sql = readFileSync('sql/logs.all.sql', 'utf8');
const definitionOf = (name: string) =>
  parseDefinition(`${name}.sql`, sql.replace(/^name: .*$/m, `name: ${name}`));

test('the text that is served is the document that is built', async () => {
  const all = ['logs.all', 'logs.other'].map(definitionOf);
  expect(JSON.parse(await writeOpenApi(all))).toEqual(JSON.parse(JSON.stringify(buildOpenApi(all))));
  expect(JSON.parse(await writeOpenApi([]))).toEqual(JSON.parse(JSON.stringify(buildOpenApi([]))));
});

test('contract 11.2: the document of thousands of saved queries is written in slices', async () => {
  const many = Array(2000).fill(definitionOf('logs.all'));
  const { user, system } = process.threadCpuUsage();
  const { turnMs } = await longestTurn(() => writeOpenApi(many));
  const after = process.threadCpuUsage();
  const tookMs = (after.user + after.system - user - system) / 1000;
  expect(turnMs).toBeLessThan(tookMs / 3);
});
