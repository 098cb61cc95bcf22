import type { Attack } from './attack.ts';
import { at, list } from './attack-texts.ts';
import { callTool, tokenLines } from './target.ts';

/** Names that nobody knows, and documents that are costly to check: what an error says must cost as little as an answer. */
export const nameAttacks: readonly Attack[] = [
  { name: 'unknown fields that look like known ones', senders: 16, send: (to, n) => to.graphql({ query: `{ ${list(300, i => `logsAl${n}${i}`, ' ')} }` }) },
  { name: 'unknown fields of 60 KB', senders: 16, send: (to, n) => to.graphql({ query: `{ ${'logsAll'.repeat(8000)}${n} }` }) },
  { name: 'unknown arguments, types, enums', senders: 16, send: (to, n) => to.graphql({ query: `query (${list(200, i => `$v${i}: Strin${i}${n}`)}) { ${list(50, i => `a${i}: usageApiCounts(intervall${i}: HOURL${i}, interval: HOURL${n}, projekt: "x") { timestam${i} }`, ' ')} ...${'F'.repeat(500)} }` }) },
  { name: 'fragments that all spread one another', senders: 16, send: (to, n) => to.graphql({ query: `{ ${list(18, i => `...f${i}`, ' ')} } ${list(18, i => `fragment f${i} on Query { a${n}: __typename ${list(18, j => `...f${j}`, ' ')} }`, ' ')}` }) },
  { name: 'fields that overlap', senders: 16, send: (to, n) => to.graphql({ query: `{ ${list(130, () => `a: logsAll(project: "x${n}") { b: id c: id d: id }`, ' ')} }` }) },
  { name: 'fragments that overlap', senders: 16, send: (to, n) => to.graphql({ query: `{ ${list(40, i => `...f${i}`, ' ')} } ${list(40, i => `fragment f${i} on Query { a: logsAll(project: "x${n}") { b: id c: id ...g } }`, ' ')} fragment g on LogsAllRow { ${list(60, () => 'b: id', ' ')} }` }) },
  { name: 'numbers of 60 KB in a document', senders: 16, send: (to, n) => to.graphql({ query: `{ logsAll(project: ${'1'.repeat(60_000)}${n}) { id } b: logsAll(project: "x", isoTimestampStart: 1e${'9'.repeat(20_000)}) { id } }` }) },
  { name: 'block strings', senders: 16, send: (to, n) => to.graphql({ query: `{ logsAll(project: """${'  \n'.repeat(9000)}${n}""") { id } }` }) },
  { name: 'strings of escapes in a document', senders: 16, send: (to, n) => to.graphql({ query: `{ logsAll(project: "${'\\u{1F4A5}'.repeat(6000)}${n}") { id } }` }) },
  { name: 'a million digits as a variable', senders: 16, send: (to, n) => to.send('/graphql', { method: 'POST', headers: json, body: `{"query":"query ($p: String!) { logsAll(project: $p) { id } }","variables":{"p":${'1'.repeat(900_000)}${n}}}` }) },
  { name: 'a long text as a variable of a wrong type', senders: 16, send: (to, n) => to.graphql({ query: 'query ($p: UsageInterval!) { usageApiCounts(project: "x", interval: $p) { timestamp } }', variables: { p: 'H'.repeat(900_000) + n } }) },
  { name: 'defer, stream and subscriptions', senders: 32, send: (to, n) => to.graphql({ query: at(['{ ... @defer { __typename } }', 'subscription { logsAll(project: "x") { id } }', '{ logsAll(project: "x") @stream { id } }', 'mutation { x }'], n) }, { headers: { accept: at(['text/event-stream', 'multipart/mixed', 'application/json, text/event-stream', '*/*'], n) } }) },
  { name: 'names that every object has, in a document', senders: 32, send: (to, n) => to.graphql(at(inherited, n)) },
  { name: 'a MB of what a document ignores', senders: 16, send: (to, n) => to.graphql({ query: `{ __typename ${at([','.repeat(900_000), `#${'x'.repeat(900_000)}\n`, ' '.repeat(900_000)], n)} a${n}: __typename }` }) },
  { name: 'a string of a document without its end', senders: 16, send: (to, n) => to.graphql({ query: `{ a${n}(b: "${'x'.repeat(900_000)}` }) },
  { name: 'errors in one long line', senders: 16, send: (to, n) => to.graphql({ query: `${' '.repeat(400_000)}{ ${list(300, i => `nope${n}x${i}`, ' ')} }${','.repeat(400_000)}` }) },
  { name: 'five hundred variables of the wrong type', senders: 16, send: (to, n) => to.graphql({ query: `query (${list(500, i => `$v${i}: Int!`)}) { __typename }`, variables: Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`v${i}`, `${n}`.repeat(900)])) }) },
  { name: 'lists and objects as arguments', senders: 16, send: (to, n) => to.graphql({ query: `{ logsAll(${at([`project: [${list(4500, () => '1')}]`, `project: {${list(1500, i => `a${i}: 1`)}}`, list(1500, () => 'project: "x"')], n)}) { id } }` }) },
  { name: 'operations by the thousand', senders: 16, send: (to, n) => to.graphql({ query: list(1200, i => `query q${n}x${i} { __typename }`, ' '), operationName: 'q7' }) },
  { name: 'conditions on every field', senders: 16, send: (to, n) => to.graphql({ query: `query ($a: Boolean!) { ${list(300, i => `a${i}: __typename @skip(if: $a) @include(if: $a)`, ' ')} }`, variables: { a: n % 2 > 0 } }) },
  { name: 'labels by the thousand', senders: 16, send: (to, n) => to.send(`${usage}?interval=daily&project=x`, { headers: { 'lf-endpoint-labels': list(6000, i => `k${n}${i}=v`, ',') } }) },
  { name: 'unknown names of endpoints, for metrics', senders: 32, send: (to, n) => to.send(`/api/endpoints/query/none${n}?project=x`) },
  { name: 'unknown parameters that look like known ones', senders: 16, send: (to, n) => to.send(logs, { method: 'POST', headers: json, body: JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`projec${n}x${i}`, 'x']))) }) },
  { name: 'a name of an unknown parameter of 900 KB', senders: 16, send: (to, n) => to.send(logs, { method: 'POST', headers: json, body: JSON.stringify({ project: 'x', [`iso_timestamp_star${'t'.repeat(900_000)}${n}`]: '1' }) }) },
  { name: 'checks of nonsense', senders: 32, send: (to, n) => to.send('/api/endpoints/logs.all/check', { method: 'POST', headers: json, body: JSON.stringify({ sql: at([`select nope${n} from ${'edge_log'.repeat(4000)}`, `select ${'edge_log'.repeat(7000)}(${n})`, `select ${list(3000, i => `idd${i}`)} from edge_logs -- ${n}`], n) }) }) },
  { name: 'tools that describe', senders: 32, send: (to, n) => callTool(to, 'describe_subsets', at<object>([{ saved_query: 'logs.all' }, { saved_query: `${'x'.repeat(500_000)}${n}` }, { saved_query: Array(3000).fill(`log${n}`) }, { saved_query: 'logs.all', subset: `edge_log${n}` }], n)) },
  { name: 'tools of unknown names of 900 KB', senders: 16, send: (to, n) => callTool(to, `logs_all_sq${'l'.repeat(900_000)}${n}`, {}) },
  { name: 'cookies and absolute forms', senders: 32, send: (to, n) => to.socket(`GET http://${'x'.repeat(3000)}${n}${usage}?interval=daily&project=x HTTP/1.1\r\n${tokenLines(to.token)}${'Cookie: a=b; c=d\r\n'.repeat(900)}\r\n`, { holdMs: 200 }) },
]; // biome-ignore format: a table

/** What must be names like any other. */
const inherited = [
  { query: '{ __proto__: __typename constructor: logsAll(project: "x") { __proto__: id then: id toJSON: id } then: __typename }' },
  { query: 'query constructor { ...__proto__ ...toString } fragment __proto__ on Query { __typename } fragment toString on Query { a: __typename }', operationName: 'constructor' },
  { query: 'query ($__proto__: String, $constructor: String!) { logsAll(project: $constructor, isoTimestampStart: $__proto__) { id } }', variables: { constructor: 'x' } },
  { query: '{ __proto__ constructor logsAll(project: "x", constructor: 1) { toJSON then } ...toString }' },
  { query: '{ logsAllSql(project: "x", sql: "select timestamp as `__proto__`, 2 as `then`, 3 as `toJSON`, struct(1 as `__proto__`) as `constructor`, 4 as `rawJSON` from edge_logs") { rows columns { name } } }' },
]; // biome-ignore format: a list

const logs = '/api/endpoints/query/logs.all';
const usage = '/api/endpoints/query/usage.api-counts';
const json = { 'content-type': 'application/json' };
