import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { maxPipelined } from '../../src/http-messages/http-limits.ts';
import { type Answered, type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const logs = '/api/endpoints/query/logs.all';
const post = (path: string, body: string | object) =>
  gateway.send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const sql = (text: string) => post(logs, { project: 'ours', sql: text });
const graphql = (query: string) => post('/graphql', { query });
const fields = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => field(n)).join(' ');
const padded = (json: string, bytes: number) => json.padEnd(bytes, ' '); // white space behind JSON is JSON

/** A limit in the words of its page, with `#` for the number; its unit; makes a request of a given size; the error beyond the limit. */
type Limit = readonly [string, number, (size: number) => Promise<Answered>, string];

const rest: readonly Limit[] = [
  ['a URL of # KiB', 1024, size => gateway.get(`${logs}?project=ours&pad=`.padEnd(size, 'x')), 'uri_too_long'],
  ['1,000 headers of # KiB together', 1024, size => gateway.get('/health', headersOf(size)), 'headers_too_large'],
  ['a body of # MiB', 1024 * 1024, size => post(logs, padded('{"project":"ours"}', size)), 'body_too_large'],
  ['a parameter of # characters', 1, size => post(logs, { project: 'x'.repeat(size) }), 'invalid_parameter'],
  ['a pattern of #', 1, size => post('/api/endpoints/query/usage.api-counts', { interval: 'daily', project: 'x'.repeat(size) }), 'invalid_parameter'],
  ['`sql` of #', 1, size => sql(padded('select 1 as n', size)), 'invalid_parameter'],
  ['# columns in one SELECT', 1, size => sql(`select ${Array.from({ length: size }, (_, n) => `1 as c${n}`)}`), 'invalid_query'],
  ['chain # operators', 1, size => sql(`select 1${' + 1'.repeat(size)} as n`), 'invalid_query'],
  ['nest # calls', 1, size => sql(`select ${'abs('.repeat(size)}1${')'.repeat(size)} as n`), 'invalid_query'],
  ['# grouping sets', 1, size => sql(`select count(*) as n from edge_logs group by rollup(${Array.from({ length: size - 1 }, (_, n) => `length(id) + ${n}`)})`), 'invalid_query'],
]; // biome-ignore format: a table

const ofGraphql: readonly Limit[] = [
  ['| a request\'s body | # MiB', 1024 * 1024, size => post('/graphql', padded('{"query":"{__typename}"}', size)), 'body_too_large'],
  ['# tokens', 1, size => graphql(documentOf(size)), 'invalid_graphql'],
  ['# saved queries', 1, size => graphql(`{${fields(size, n => `f${n}: logsAll(project: "x") { id }`)}}`), 'invalid_graphql'],
  ['# values', 1, size => post('/graphql', { query: '{__typename}', variables: { v: Array(size - 1).fill(1) } }), 'invalid_graphql'],
  ['# fragments', 1, size => graphql(`{ ${fields(size, n => `...f${n}`)} } ${fields(size, n => `fragment f${n} on Query { __typename }`)}`), 'invalid_graphql'],
]; // biome-ignore format: a table

/** Headers of this size, plus a few hundred bytes that every request has. */
function headersOf(size: number): Record<string, string> {
  return { 'x-padding': 'x'.repeat(size) };
}

/** A document of this many tokens: an alias is three, the braces two. */
function documentOf(tokens: number): string {
  const aliases = Math.floor((tokens - 2) / 3);
  return `{ ${fields(aliases, n => `f${n}: __typename`)} ${'__typename '.repeat(tokens - 2 - aliases * 3)}}`;
}

describe.each([
  ['rest.md', rest],
  ['graphql.md', ofGraphql],
] as const)('contract 2.28: docs/%s states the limits that hold', (file, limits) => {
  const page = readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8').replace(/\s+/g, ' ');

  test.each(limits)('%s', async (words, unit, request, code) => {
    const [before = '', after = ''] = words.split('#').map(text => text.replace(/[|`]/g, '\\$&'));
    const number = new RegExp(`${before}([\\d,]+)${after}`).exec(page)?.[1] ?? '';
    const size = Number(number.replaceAll(',', '')) * unit;
    expect(size).toBeGreaterThan(0);
    const codeOf = ({ body }: Answered) => body.error?.code ?? body.errors?.[0].extensions.code;
    // Those that every request has count too.
    const slack = code === 'headers_too_large' ? 2048 : 0;
    expect(codeOf(await request(size - slack))).not.toBe(code);
    expect(codeOf(await request(size + 1))).toBe(code);
  });
});

test('contract 2.28: docs/rest.md states the requests that may wait on a connection', () => {
  const page = readFileSync(new URL('../../docs/rest.md', import.meta.url), 'utf8');
  expect(page).toContain(`${maxPipelined} requests that wait on one`);
});
