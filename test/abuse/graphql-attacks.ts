import type { Attack } from './attack.ts';
import { list } from './attack-texts.ts';

/** Documents, variables and operations that grow on their way. */
export const graphqlAttacks: readonly Attack[] = [
  { name: 'a fragment bomb of 31 KB', senders: 4, seconds: 10, send: (to, n) => to.graphql({ query: fragmentBomb(to.project, n) }) },
  { name: 'a fragment bomb within the tokens', senders: 4, seconds: 10, send: (to, n) => to.graphql({ query: fragmentBomb(to.project, n, 1100) }) },
  { name: 'results of many aliases', senders: 8, seconds: 10, send: (to, n) => to.graphql({ query: `{ ${list(8, i => `f${i}: logsAll(project: "${to.project}", sql: "select id, timestamp, event_message, metadata from edge_logs where id != '${n}' limit 1000") { ${list(9, a => `a${a}: metadata`)} }`)} }` }) },
  { name: 'an introspection bomb', send: to => to.graphql({ query: introspectionBomb }) },
  { name: 'a document 2,500 deep', send: to => to.graphql({ query: `{ logsAll(project: "x") ${'{ id '.repeat(2500)}${'}'.repeat(2501)}` }) },
  { name: 'a list 2,500 deep', send: to => to.graphql({ query: `{ logsAll(project: ${'['.repeat(2500)}${']'.repeat(2500)}) { id } }` }) },
  { name: 'fragments in one another', send: to => to.graphql({ query: `query { ...f0 } ${list(99, i => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`, ' ')} fragment f99 on Query { __typename }` }) },
  { name: 'a MB of one document', send: (to, n) => to.graphql({ query: `{ ${'__typename '.repeat(90_000)}x${n} }` }) },
  { name: 'one field often', send: to => to.graphql({ query: `{ ${'logsAll(project: "a") { id } '.repeat(1500)} }` }) },
  { name: 'directives by the thousand', send: to => to.graphql({ query: `{ __typename ${'@include(if: true) '.repeat(1200)} }` }) },
  { name: 'variables by the thousand', send: to => to.graphql({ query: `query (${list(1200, i => `$v${i}: String`)}) { __typename }`, variables: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`v${i}`, 'x'])) }) },
  { name: 'variables of a deep JSON', send: to => to.send('/graphql', { method: 'POST', headers: json, body: `{"query":"query ($a: String) { __typename }","variables":{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}}` }) },
  { name: 'broken variables in a GET', send: to => to.send('/graphql?query={__typename}&variables={{{&extensions=[[[') },
  { name: 'errors that are quoted', send: to => to.graphql({ query: `{ ${list(400, i => `"""${'x'.repeat(200)}""" f${i}`, ' ')} }` }) },
  { name: 'an array of operations', send: to => to.send('/graphql', { method: 'POST', headers: json, body: JSON.stringify(Array(3000).fill({ query: '{ __schema { types { name } } }' })) }) },
  { name: 'ten fields of slow patterns', senders: 4, seconds: 12, send: (to, n) => to.graphql({ query: fields(10, i => `usageApiCounts(interval: DAILY, project: "(a?){1000}${n}x${i}") { timestamp }`) }) },
  { name: 'ten fields of unresponsive queries', senders: 4, seconds: 12, send: (to, n) => to.graphql({ query: fields(10, i => `logsAllSql(project: "x", sql: "select sum(length(regexp_replace(repeat('a', 100000 + x), 'a|b', 'c'))) as n from unnest(generate_array(1, 2000)) as x where ${n} >= ${i}") { rows }`) }) },
  { name: 'a hundred misses in each operation', senders: 16, seconds: 10, send: (to, n) => to.graphql({ query: fields(100, i => `usageApiCounts(interval: DAILY, project: "${'abcdefgh'[i % 8]}(x|y|z)*${n}q${i}") { timestamp totalRestRequests }`) }) },
  { name: 'answers of 15 MB', senders: 12, seconds: 10, send: (to, n) => to.graphql({ query: `{ logsAllSql(project: "x", sql: "select repeat(to_hex(sha256(concat('${n}', cast(x as string)))), 220) as m from unnest(generate_array(1, 1000)) as x") { rows } }` }) },
  { name: 'sixty aliases of one large result', senders: 4, seconds: 10, send: (to, n) => to.graphql({ query: fields(60, () => `logsAllSql(project: "x", sql: "select repeat(to_hex(sha256(concat('${n}', cast(x as string)))), 200) as m from unnest(generate_array(1, 1000)) as x") { columns { name } }`) }) },
  { name: 'ten thousand integers a row', senders: 8, send: (to, n) => to.graphql({ query: `{ logsAllSql(project: "x", sql: "select generate_array(9007199254740993 + ${n}, 9007199254740993 + ${n} + 12000) as m from unnest(generate_array(1, 60)) as x") { rows } }` }) },
]; // biome-ignore format: a table

const json = { 'content-type': 'application/json' };

const fields = (count: number, field: (n: number) => string) =>
  `{ ${list(count, i => `f${i}: ${field(i)}`, ' ')} }`;

/** 60 fields, each with this many aliases through a fragment, over 1,000 rows. */
function fragmentBomb(project: string, n: number, aliases = 3000): string {
  const field = (i: number) =>
    `f${i}: logsAll(project: "${project}", sql: "select id, timestamp, event_message from edge_logs where id != '${n}' limit 1000") { ...a }`;
  return `{ ${list(60, field, ' ')} } fragment a on LogsAllRow { ${list(aliases, i => `a${i}:id`, ' ')} }`;
}

const introspectionBomb = `{ ${list(40, i => `s${i}: __schema { ...t }`, ' ')} }
fragment t on __Schema { types { ...f } queryType { ...f } }
fragment f on __Type { name fields { name args { name type { ...o } } type { ...o } } }
fragment o on __Type { name kind ofType { name kind fields { name type { name fields { name type { name } } } } ofType { name ofType { name } } } }`;
