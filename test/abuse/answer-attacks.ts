import type { Attack } from './attack.ts';
import { at, bulk, list } from './attack-texts.ts';
import { agentHeaders, callTool, type Target, tokenLines } from './target.ts';

/** Answers that are wide or deep or many, in every form, and their readers. */
export const answerAttacks: readonly Attack[] = [
  { name: '900 columns of a thousand rows in every form', senders: 8, seconds: 16, send: (to, n) => at(wideAnswers, n)(to, n) },
  { name: 'deep records in every format', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select ${'[struct('.repeat(12)}${n} as a${', 1 as b)] as a'.repeat(11)}, 2 as b)] as x from unnest(generate_array(1, 500))`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'columns named like members, in every format', senders: 16, seconds: 6, send: (to, n) => to.rest({ sql: `select timestamp as \`__proto__\`, ${n} as \`constructor\`, 3 as \`toJSON\`, 4 as \`then\`, 5 as \`length\`, struct(1 as \`__proto__\`) as \`hasOwnProperty\` from edge_logs`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'NULL records and empty arrays in every format', senders: 16, seconds: 6, send: (to, n) => to.rest({ sql: `select cast(null as struct<a struct<b array<int64>>>) as s, cast(null as array<struct<a int64>>) as t, ${n} as n from unnest(generate_array(1, ${(n % 3) * 500}))`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'wide decimals in every format', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select array(select numeric '99999999999999999999999999999.999999999' from unnest(generate_array(1, 300))) as a, ${n} as n from unnest(generate_array(1, 1000))`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'one row of a million elements', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select array(select concat('${n}', cast(x as string)) from unnest(generate_array(1, 700000)) x) as a`, format: at(['json', 'csv', 'ndjson', 'parquet'], n) }) },
  { name: 'entries that compress to nothing', senders: 32, seconds: 15, send: (to, n) => to.rest({ interval: 'daily', sql: `select repeat('a', ${7900 + (n % 40)}) as m from unnest(generate_array(1, 1000))` }, { of: 'usage.api-counts' }) },
  { name: 'columns with long names', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select ${list(240, i => `${n} as ${'c'.repeat(240)}${i}`)} from unnest(generate_array(1, 1000))`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'records of many fields, a thousand rows', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select [struct(${list(300, i => `x + ${i + n} as c${i}`)})] as s from unnest(generate_array(1, 1000)) as x`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'exports that stop reading', senders: 40, seconds: 12, send: (to, n) => to.socket(head(to.token, `${logs}?project=x&format=${at(['csv', 'ndjson', 'parquet', 'arrow'], n)}&sql=${encodeURIComponent(bulk(15_000, n % 4))}`), { reads: false, holdMs: 60_000 }) },
  { name: 'exports that read slowly', senders: 40, seconds: 12, send: (to, n) => to.socket(head(to.token, `${logs}?project=x&format=${at(['csv', 'ndjson'], n)}&sql=${encodeURIComponent(bulk(15_000, n % 4))}`), { reads: false, holdMs: 3000 }) },
  { name: 'answers of agents that stop reading', senders: 60, seconds: 10, send: to => to.socket(listing(to.token).repeat(300), { reads: false, holdMs: 60_000 }) },
  { name: 'hundreds of small answers asked for at once', senders: 400, seconds: 6, send: to => to.rest({ interval: 'daily', project: 'x' }, { of: 'usage.api-counts', headers: { 'accept-encoding': 'br' } }) },
  { name: 'hundreds of plain logs at once', senders: 400, seconds: 8, send: to => to.rest({}) },
  { name: 'hundreds of redacted logs at once', senders: 300, seconds: 8, send: to => to.rest({}, redacted) },
  { name: 'hundreds of exports at once', senders: 300, seconds: 8, send: (to, n) => to.rest({ format: at(['csv', 'parquet', 'arrow', 'ndjson'], n) }) },
  { name: 'hundreds of tools at once', senders: 300, seconds: 8, send: to => callTool(to, 'logs_all', { project: to.project }) },
  { name: 'hundreds of texts refused at once', senders: 300, seconds: 8, send: (to, n) => to.sql(`select ${n} from nope`) },
  { name: 'hundreds of GraphQL logs at once', senders: 300, seconds: 8, send: to => to.graphql({ query: `{ logsAll(project: "${to.project}") { id metadata timestamp event_message: eventMessage } }` }) },
  { name: 'a pattern that matches every row, slowly', senders: 32, seconds: 8, send: (to, n) => to.rest({ interval: 'minutely', project: `(.|${n})*(a|b|c|.)*(x?){50}` }, { of: 'usage.api-counts' }) },
  { name: 'results of forty thousand small arrays', senders: 8, seconds: 8, send: (to, n) => to.graphql(graphqlSql(`select array(select struct(x as a, [${n}] as b) from unnest(generate_array(1, 300)) x) as m from unnest(generate_array(1, 1000))`)) },
  { name: 'results of forty thousand small arrays, redacted', senders: 8, seconds: 8, send: (to, n) => to.sql(`select array(select struct(x as a, ['${n}'] as b) from unnest(generate_array(1, 300)) x) as m from unnest(generate_array(1, 1000))`, redacted) },
  { name: 'JSON results', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select parse_json(concat('[', repeat('{"a":[1,2,{"b":null}]},', 500), '${n}]')) as j from unnest(generate_array(1, 1000))`, format: at(['json', 'csv', 'parquet'], n) }) },
  { name: 'deep JSON results', senders: 8, seconds: 8, send: (to, n) => to.graphql(graphqlSql(`select parse_json(concat(repeat('[', 400), '${n}', repeat(']', 400))) as j from unnest(generate_array(1, 1000))`)) },
  { name: 'JSON results of escapes', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select repeat('"\\\\\\n${n}', 2000) as j from unnest(generate_array(1, 1000))`, format: at(['json', 'csv', 'ndjson'], n) }) },
  { name: 'NaN, infinities and bytes', senders: 8, seconds: 8, send: (to, n) => to.rest({ sql: `select array(select ieee_divide(x, 0) from unnest(generate_array(-${n % 9}, 300)) x) as a, sha512('${n}') as b, [numeric '1.5'] as c from unnest(generate_array(1, 1000))`, format: at(['json', 'csv', 'ndjson', 'parquet', 'arrow'], n) }) },
  { name: 'exports left in the middle', senders: 32, seconds: 8, send: (to, n) => to.rest({ sql: bulk(15_000, n % 3), format: at(['csv', 'ndjson', 'parquet', 'arrow'], n) }, { leaveMs: 10 + ((n * 53) % 1500) }) },
  { name: '304s and HEADs of exports', senders: 32, seconds: 6, send: (to, n) => to.send(`${usage}?interval=daily&project=x&format=${at(['csv', 'parquet', 'arrow'], n)}`, { method: at(['GET', 'HEAD'], n), headers: { 'if-none-match': '*' } }) },
]; // biome-ignore format: a table

/** The same rows in every form. */
const wideAnswers: readonly ((to: Target, n: number) => Promise<void>)[] = [
  (to, n) => to.sql(wide(n)),
  (to, n) => to.sql(wide(n), redacted),
  (to, n) => to.graphql(graphqlSql(wide(n))),
  (to, n) => callTool(to, 'logs_all_sql', { project: 'x', sql: wide(n) }),
  ...['csv', 'parquet', 'arrow', 'ndjson'].map(format => (to: Target, n: number) => to.rest({ sql: wide(n), format })),
]; // biome-ignore format: a list

const logs = '/api/endpoints/query/logs.all';
const usage = '/api/endpoints/query/usage.api-counts';
const redacted = { headers: { 'lf-endpoint-redact-pii': 'true' } };

const wide = (n: number) =>
  `select ${list(900, i => `x + ${n + i} as c${i}`)} from unnest(generate_array(1, 1000)) as x`;

const head = (token: string, path: string) => `GET ${path} HTTP/1.1\r\n${tokenLines(token)}\r\n`;

const graphqlSql = (sql: string) => ({
  query: `{ logsAllSql(project: "x", sql: ${JSON.stringify(sql)}) { rows } }`,
});

/** A whole request for the list of tools. */
function listing(token: string): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const lines = Object.entries({ ...agentHeaders, 'content-length': body.length }).map(
    pair => `${pair.join(': ')}\r\n`,
  );
  return `POST /mcp HTTP/1.1\r\n${tokenLines(token)}${lines.join('')}\r\n${body}`;
}
