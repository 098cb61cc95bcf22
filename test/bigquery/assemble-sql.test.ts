import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { assembleSql } from '../../src/bigquery/assemble-sql.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { sourceCatalog } from '../../src/bigquery/source-catalog.ts';

const catalog = sourceCatalog([
  { name: 'cloudflare.logs.prod', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } },
  { name: 'deno-relay-logs', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } },
  { name: 'audit', columns: { id: 'STRING', timestamp: 'TIMESTAMP' } },
]);

const mapping = readTableMapping([
  'cloudflare.logs.prod=acme-prod.logs.edge',
  'deno-relay-logs = acme-prod.logs.relay',
  'audit=acme-prod.logs.audit_2026',
]);

const saved = [
  'with edge as (',
  "  select id, 'from cloudflare.logs.prod' as said -- from `cloudflare.logs.prod`",
  '  from `cloudflare.logs.prod`',
  '),',
  'relay as (select id from `deno-relay-logs`) /* the rest goes */',
  'select edge.id from edge, relay order by id limit 5',
].join('\n');

function assemble(sql: string, callerSql?: string) {
  return assembleSql({ sql, callerSql, catalog, mapping, parameterNames: [], arrayParameterNames: [] });
}

test('puts tables in the place of sources, and nowhere else', () => {
  const { text, sources, linesBefore } = assemble(saved);
  expect(text).toBe(
    saved
      .replace('  from `cloudflare.logs.prod`', '  from `acme-prod.logs.edge`')
      .replace('from `deno-relay-logs`)', 'from `acme-prod.logs.relay`)'),
  );
  expect(sources).toEqual(['cloudflare.logs.prod', 'deno-relay-logs']);
  expect(linesBefore).toBe(0);
});

test.each([
  ['`cloudflare.logs.prod` as e', '`acme-prod.logs.edge` as e'],
  ['cloudflare.logs.prod e', '`acme-prod.logs.edge` e'],
  ['`cloudflare`.logs.`prod` e', '`acme-prod.logs.edge` e'],
  ['deno-relay-logs e', '`acme-prod.logs.relay` e'],
])('knows a source however it is written: %s', (written, table) => {
  expect(assemble(`select e.id from ${written}`).text).toBe(`select e.id from ${table}`);
});

test('keeps the name by which the columns of a bare source are reached', () => {
  expect(assemble('select audit.id from audit').text).toBe(
    'select audit.id from `acme-prod.logs.audit_2026` as `audit`',
  );
});

test("Postgres' casts, which the embedded engine forgives, are refused where they stand", () => {
  expect(() => assemble(saved, 'select id::text from edge')).toThrow('Unexpected "::" at [1:10]');
});

test('contract 4.6: a subset named like a source is no source', () => {
  const { text, sources } = assemble("with audit as (select 'a' as id) select id from audit");
  expect(text).toBe("with audit as (select 'a' as id) select id from audit");
  expect(sources).toEqual([]);
});

test("contract 4.3, 4.9: puts a caller's SQL behind the saved subsets as it is written, the saved statement gone", () => {
  const callerSql = 'select id -- mine\nfrom relay; -- the end';
  const { text, linesBefore } = assemble(saved, callerSql);
  expect(text).toMatch(/`acme-prod\.logs\.relay`\)\nselect id -- mine\nfrom relay; -- the end$/);
  expect(text).not.toContain('the rest goes');
  expect(text.split('\n')[linesBefore]).toBe('select id -- mine');
});

test("contract 4.3, 4.9: adds a caller's subsets to the saved ones, every character at its own column", () => {
  const callerSql = '-- mine\nWITH mine as (select id from relay) select id from mine';
  const { text, linesBefore } = assemble(saved, callerSql);
  expect(text.split('\n').slice(linesBefore - 1)).toEqual([
    'relay as (select id from `acme-prod.logs.relay`),',
    '-- mine',
    '     mine as (select id from relay) select id from mine',
  ]);
});

test("a caller's subset that takes a saved one's name hides it", () => {
  const callerSql = 'with relay as (select id from relay) select id from relay; -- done';
  const { text, linesBefore } = assemble(saved, callerSql);
  expect(text.split('\n').slice(linesBefore - 1)).toEqual([
    'relay as (select id from `acme-prod.logs.relay`) (',
    'with relay as (select id from relay) select id from relay  -- done',
    ')',
  ]);
});

const chain = [
  'with -- first',
  'one as (select id from `cloudflare.logs.prod`), -- of the edge',
  'two as (select id from `deno-relay-logs`) -- behind it',
  ', -- before it',
  'three as (select id from one) /* not of two */, four as (',
  '  -- from audit',
  '  select id from audit',
  ')',
  '-- the last',
  'select id from two',
].join('\n');

test.each([
  [
    'those around it',
    undefined,
    [
      'with -- first',
      '-- of the edge',
      'two as (select id from `acme-prod.logs.relay`) -- behind it',
      '',
      '/* not of two */',
      '',
      '',
      '',
      '-- the last',
      'select id from two',
    ],
    ['deno-relay-logs'],
  ],
  [
    'what others of them read stays',
    'select id from three',
    [
      'with -- first',
      'one as (select id from `acme-prod.logs.edge`)',
      '-- behind it',
      ', -- before it',
      'three as (select id from one)',
      'select id from three',
    ],
    ['cloudflare.logs.prod'],
  ],
  [
    'all of them',
    'with one as (select 1 as n) select n from one',
    ['with one as (select 1 as n) select n from one'],
    [],
  ],
])('subsets that a statement does not read give way to blanks: %s', (_, callerSql, lines, sources) => {
  const assembled = assemble(chain, callerSql);
  expect(assembled.text.split('\n').map(line => line.trim())).toEqual(lines);
  expect(assembled.sources).toEqual(sources);
});

test('a subset that is not read needs no table', () => {
  const partial = readTableMapping(['audit=acme-prod.logs.audit_2026']);
  const sql = saved.replace('from edge, relay', 'from (select 1 as id) as edge');
  const request = { sql, catalog, mapping: partial, parameterNames: [], arrayParameterNames: [] };
  expect(assembleSql(request).sources).toEqual([]);
});

test.each([
  'select id from `cloudflare.logs.prod`',
  'select id from `acme-prod.logs.edge`',
  'with `acme-prod.logs.edge` as (select id from `deno-relay-logs`) select 1 as one',
  'select session_user() as me from edge',
])('our own front-end refuses before anything goes out: %s', callerSql => {
  expect(() => assemble(saved, callerSql)).toThrow(GatewayError);
});

test('a source without a table is named, and what to set', () => {
  const partial = readTableMapping(['audit=acme-prod.logs.audit_2026']);
  const request = { sql: saved, catalog, mapping: partial, parameterNames: [], arrayParameterNames: [] };
  expect(() => assembleSql(request)).toThrow('Source cloudflare.logs.prod has no table in BIGQUERY_TABLES');
});

test.each(['with', 'WITH /* x */ RECURSIVE'])('the words %s go with the last subset that is read', word => {
  const sql = `${word} a as (select id from audit), b as (select id from a)\nselect 1 as x`;
  expect(assemble(sql).text).toMatch(/^\s*select 1 as x$/);
  expect(assemble(sql, 'select 2 as x').text).toBe('select 2 as x');
  expect(assemble(sql.replace('1 as x', 'id from a')).text).toMatch(
    /^with.*\sa as \(select id from `acme-prod.logs.audit_2026` as `audit`\)\s*select id from a$/is,
  );
});
