import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import '../support/seed-properties.ts';
import { attacks, innocents } from '../sandbox/attacks.ts';

/** The project that the token fixes: as a pattern it would match the first of the others, too. */
const ours = 'a.c';
const others = ['abc', 'xyz'];

/** Stands in every row of another project. */
const marker = 'MARK987654321';

/** Rows of our project in `cloudflare.logs.prod`, the most that any count over it may reach. */
const ourRows = 3;

/** Subset, source, and where a row's project stands (contract 1.2). */
const subsets = [
  ['edge_logs', 'cloudflare.logs.prod', 'project'],
  ['postgres_logs', 'postgres.logs', 'project'],
  ['function_edge_logs', 'deno-relay-logs', 'project_ref'],
  ['function_logs', 'deno-subhosting-events', 'project_ref'],
  ['auth_logs', 'gotrue.logs.prod', 'project'],
  ['realtime_logs', 'realtime.logs.prod', 'metadata.project'],
  ['storage_logs', 'storage.logs.prod.2', 'metadata.project'],
  ['postgrest_logs', 'postgREST.logs.prod', 'project'],
  ['pgbouncer_logs', 'pgbouncer.logs.prod', 'project'],
] as const;

function rowsOf(source: string, place: string): object[] {
  return [ours, ...others].flatMap(project =>
    Array.from({ length: project === ours ? ourRows : 9 }, (_, n) => {
      const path = '/rest/v1/todos';
      const request = { path, method: 'GET', url: `https://${project}.example.com${path}` };
      const inner = place.replace('metadata.', '');
      const details = source === 'cloudflare.logs.prod' ? { request: [request] } : {};
      return {
        id: `${project === ours ? 'ours' : marker} ${source} ${n}`,
        timestamp: `2026-01-15T11:5${n}:00Z`,
        event_message: project === ours ? 'ours' : marker,
        ...(place === 'project' ? { project, metadata: [details] } : { metadata: [{ [inner]: project }] }),
      };
    }),
  );
}

let gateway: OpenGateway;
let bound: { 'x-api-key': string };
beforeAll(async () => {
  gateway = await openGateway({
    rows: Object.fromEntries(subsets.map(([, source, place]) => [source, rowsOf(source, place)])),
    now: '2026-01-15T12:00:00Z',
    sqlFiles: {
      'no.project.sql': savedQuery('no.project', '', 'select id from `postgres.logs`'),
      'open.subset.sql': savedQuery(
        'open.subset',
        'parameters: { project: { type: string, required: true, description: P. } }',
        'with all_rows as (select id, project from `postgres.logs`) select id from all_rows where project = @project',
      ),
    },
  });
  bound = {
    'x-api-key': await gateway.issue({
      parameters: { project: ours },
      scopes: ['explain', 'admin', 'no-cache'],
    }),
  };
  return gateway.close;
});

function savedQuery(name: string, parameters: string, sql: string): string {
  const id = `00000000-0000-4000-8000-${Buffer.from(name).toString('hex').slice(0, 12)}`;
  const columns = 'columns: { id: { type: STRING, description: I. } }';
  return `/*\nid: ${id}\nname: ${name}\ndescription: D.\n${parameters}\n${columns}\nsandbox: true\n*/\n${sql}\n`;
}

const rest = (query: string, headers: Record<string, string> = bound) =>
  gateway.get(`/api/endpoints/query/${query}`, headers);

describe('contract 8.8: with a fixed parameter', () => {
  test('absent, empty and the value itself are the value; anything else is a 403 that names the parameter', async () => {
    for (const project of ['', '&project=', `&project=${ours}`, `&project=xyz&project=${ours}`]) {
      const { status, body } = await rest(`logs.all?iso_timestamp_end=${project}`);
      expect([project, status, body.result?.length]).toEqual([project, 200, ourRows]);
    }
    for (const project of ['xyz', 'a.c ', 'A.C', '.*', '\0', '%']) {
      const { status, body } = await rest(`logs.all?${new URLSearchParams({ project })}`);
      expect([project, status, body.error.code, body.error.message]).toEqual([
        project,
        403,
        'forbidden',
        expect.stringContaining('"project"'),
      ]);
    }
  });

  test('a saved query that does not take the parameter is refused, and SQL over subsets that do not use it', async () => {
    expect((await rest('no.project')).status).toBe(403);
    expect((await rest('no.project', {})).body.result.length).toBeGreaterThan(ourRows);
    expect((await rest('open.subset')).body.result).toHaveLength(ourRows);
    const sql = 'sql=select+id+from+all_rows';
    expect((await rest(`open.subset?${sql}`)).status).toBe(403);
    const listed = async (headers: Record<string, string>) =>
      (await gateway.get('/api/endpoints/open.subset', headers)).body.subsets;
    expect(await listed({})).toHaveLength(1);
    expect(await listed(bound)).toBeUndefined();
    expect((await rest(`open.subset?${sql}&project=xyz`, {})).body.result).toHaveLength(21);
  });

  test('invalidation reaches the entries of the value alone', async () => {
    const order = async (body: object) =>
      gateway.send('/admin/invalidate', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bound },
        body: JSON.stringify(body),
      });
    const theirs = 'usage.api-counts?interval=daily&project=xyz';
    await rest(theirs, {});
    const endpoint = 'usage.api-counts';
    expect((await order({ endpoint, parameters: { interval: 'daily', project: 'xyz' } })).status).toBe(403);
    expect((await order({ endpoint })).status).toBe(400);
    expect((await order({ endpoint, parameters: { interval: 'daily' } })).body).toEqual({
      invalidated: 'entry',
    });
    expect((await rest(theirs, {})).headers.get('x-cache')).toBe('HIT');
  });

  test('an answer is not repeated for another token with the same words', async () => {
    const other = { 'x-api-key': await gateway.issue({ parameters: { project: 'xyz' } }) };
    const sums = [];
    for (const headers of [bound, bound, bound, other, other, other, bound]) {
      sums.push(totalOf((await rest('usage.api-counts?interval=daily', headers)).body.result));
    }
    expect(sums).toEqual([3, 3, 3, 9, 9, 9, 3]);
  });
});

test('contract 8.9: a fixed regular expression is matched literally, and shares the entry of its literal pattern', async () => {
  const { body } = await rest('usage.api-counts?interval=daily');
  expect(totalOf(body.result)).toBe(ourRows);
  const pattern = await rest(`usage.api-counts?interval=daily&project=${ours}`, {});
  expect(totalOf(pattern.body.result)).toBe(ourRows + 9);
  const literal = await rest('usage.api-counts?interval=daily&project=a%5C.c', {});
  expect([literal.headers.get('x-cache'), totalOf(literal.body.result)]).toEqual(['HIT', ourRows]);
  const explained = await rest('usage.api-counts?interval=daily&explain=true');
  expect(explained.body.explain.parameters.project).toBe('a\\.c');
});

function totalOf(rows: readonly Record<string, unknown>[]): number {
  return rows
    .flatMap(row => Object.entries(row))
    .reduce((sum, [name, value]) => sum + (/rest/i.test(name) ? Number(value) : 0), 0);
}

/** What a caller may try as a project. */
const project = fc.oneof(
  fc.constantFrom(
    ours,
    '',
    ...others,
    'a\\.c',
    '.*',
    'a.c|xyz',
    '(?i)XYZ',
    '\\Qa.c\\E|.',
    'A.C',
    ' a.c',
    'a.c\0',
    '*',
    '%',
  ),
  fc.string({ maxLength: 12 }),
);
const anyValue = fc.oneof(
  project,
  fc.constantFrom<unknown>(null, 7, true, ['xyz'], { project: 'xyz' }, [ours, 'xyz']),
);
const sql = fc.oneof(
  fc.constantFrom(...subsets.map(([subset]) => `select * from ${subset}`)),
  fc.constantFrom(
    subsets.map(([subset]) => `select id, event_message from ${subset}`).join(' union all '),
    "with edge_logs as (select 'xyz' as project) select * from edge_logs",
    'select @project as p, count(*) as n from edge_logs',
    'select id from edge_logs where true or @project is null',
    'select id, m.project from realtime_logs, unnest(metadata) m',
    "select count(*) as n from edge_logs where @project = 'a.c' or 1 = 1",
    // What fails on a row of another project would show it in the message.
    'select cast(event_message as int64) as v from edge_logs',
    'select id from realtime_logs where cast(event_message as int64) > 0',
    'select id from postgres_logs where error(id) is null order by cast(event_message as int64)',
    'select count(*) as n from requests',
    'select * from requests',
    ...innocents,
    ...attacks.flatMap(({ statements }) => statements),
  ),
);
const path = fc.constantFrom(
  'api/endpoints/query/logs.all',
  'endpoints/query/logs.all',
  'api/endpoints/query/name/usage.api-counts',
  'api/endpoints/query/usage.api-counts',
);
const headers = fc.constantFrom<Record<string, string>>(
  {},
  { accept: 'text/csv' },
  { accept: 'application/x-ndjson' },
  { 'cache-control': 'no-cache' },
  { 'lf-endpoint-labels': 'project=xyz' },
);

type Asked = { readonly path: string; readonly init: RequestInit };

const json = (body: unknown, more: Record<string, string>) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...more },
  body: JSON.stringify(body),
});

/** Rows in another form; those of Arrow and Parquet hold texts as they are, which the control below sees. */
const format = fc.constantFrom(undefined, 'json', 'csv', 'ndjson', 'arrow', 'parquet');

const byQuery = fc
  .record({
    path,
    format,
    names: fc.array(fc.tuple(fc.constantFrom('project', 'Project', 'project[]', ' project'), project), {
      maxLength: 3,
    }),
    sql: fc.option(sql, { nil: undefined }),
    explain: fc.boolean(),
    headers,
  })
  .map(({ path, format, names, sql, explain, headers }): Asked => {
    const query = new URLSearchParams([
      ...names,
      ['interval', 'daily'],
      ...(format === undefined ? [] : [['format', format]]),
      ...(sql === undefined ? [] : [['sql', sql]]),
      ...(explain ? [['explain', 'true']] : []),
    ]);
    return { path: `/${path}?${query}`, init: { headers } };
  });

const byBody = fc
  .record({
    path,
    inQuery: project,
    value: anyValue,
    sql: fc.option(sql, { nil: undefined }),
    isInPrototype: fc.boolean(),
    headers,
  })
  .map(({ path, inQuery, value, sql, isInPrototype, headers }): Asked => {
    const own = JSON.stringify({ project: value, interval: 'daily', sql });
    const body = isInPrototype ? `{"__proto__":${own}}` : own;
    const query = new URLSearchParams({ project: inQuery, interval: 'daily' });
    return { path: `/${path}?${query}`, init: { ...json({}, headers), body } };
  });

const byGraphql = fc
  .record({
    fields: fc.array(
      fc.record({
        project,
        sql: fc.option(sql, { nil: undefined }),
        form: fc.constantFrom('logs', 'sql', 'counts'),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    way: fc.constantFrom('text', 'variables', 'defaults'),
    sentAs: fc.constantFrom('post', 'get', 'hash', 'batch'),
    headers,
  })
  .map(({ fields, way, sentAs, headers }): Asked => {
    const variables: Record<string, string> = {};
    const declared: string[] = [];
    const put = (name: string, value: string) => {
      if (way === 'text') return JSON.stringify(value);
      declared.push(`$${name}: String!${way === 'defaults' ? ` = ${JSON.stringify(value)}` : ''}`);
      if (way === 'variables') variables[name] = value;
      return `$${name}`;
    };
    const selections = fields.map(
      ({ project, sql = 'select id, event_message from edge_logs', form }, at) => {
        const p = put(`p${at}`, project);
        if (form === 'logs') return `f${at}: logsAll(project: ${p}) { id eventMessage metadata }`;
        if (form === 'counts')
          return `f${at}: usageApiCounts(project: ${p}, interval: DAILY) { totalRestRequests }`;
        return `f${at}: logsAllSql(project: ${p}, sql: ${put(`s${at}`, sql)}) { rows }`;
      },
    );
    const query = `query ${declared.length > 0 ? `(${declared.join()})` : ''} { ${selections.join(' ')} }`;
    const { accept: _, ...sent } = headers;
    if (sentAs === 'batch') return { path: '/graphql', init: json([{ query, variables }], sent) };
    if (sentAs === 'get') {
      const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
      return { path: `/graphql?${search}`, init: { headers: sent } };
    }
    const sha256Hash = createHash('sha256').update(query).digest('hex');
    const extensions = sentAs === 'hash' ? { persistedQuery: { version: 1, sha256Hash } } : undefined;
    return { path: '/graphql', init: json({ query, variables, extensions }, sent) };
  });

const byMcp = fc
  .record({
    tool: fc.constantFrom('logs_all', 'logs_all_sql', 'usage_api-counts', 'usage_api-counts_sql'),
    given: fc.record(
      { project: fc.oneof(fc.constantFrom<unknown>(ours, ...others), anyValue) },
      { requiredKeys: [] },
    ),
    sql,
  })
  .map(({ tool, given, sql }): Asked => {
    const own = tool.endsWith('_sql') ? { ...given, sql } : given;
    const params = { name: tool, arguments: tool.startsWith('usage') ? { interval: 'daily', ...own } : own };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    return {
      path: '/mcp',
      init: json(message, { accept: 'application/json, text/event-stream' }),
    };
  });

const byCheck = sql.map(
  (sql): Asked => ({ path: '/api/endpoints/logs.all/check', init: json({ sql, project: 'xyz' }, {}) }),
);

/** Answers as they come, of whatever type: one byte a character. */
async function bytesOf({ path, init }: Asked, token: string): Promise<{ status: number; text: string }> {
  const headers = { 'accept-encoding': 'identity', ...init.headers, 'x-api-key': token };
  const response = await fetch(gateway.origin + path, { ...init, headers });
  return { status: response.status, text: Buffer.from(await response.arrayBuffer()).toString('latin1') };
}

test('contract 8.8: whatever is asked, by whichever way, no row of another project comes', async () => {
  // The entries of others are there to be hit.
  for (const other of others) await rest(`usage.api-counts?interval=daily&project=${other}`, {});
  expect(JSON.stringify((await rest('logs.all?project=xyz', {})).body)).toContain(marker);
  let answered = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(byQuery, byBody, byGraphql, byMcp, byCheck), async asked => {
      const { status, text } = await bytesOf(asked, bound['x-api-key']);
      if (status === 200) answered++;
      if (status === 403) refused++;
      expect(text).not.toContain(marker);
      // Counts hold no text of a row: each is of our rows alone.
      for (const [, count] of text.matchAll(/"(?:total_?rest_?requests|n)":(\d+)/gi)) {
        expect(Number(count)).toBeLessThanOrEqual(ourRows);
      }
    }),
    { numRuns: 120 },
  );
  expect(Math.min(answered, refused)).toBeGreaterThan(10);
});

test.each(['json', 'csv', 'ndjson', 'arrow', 'parquet'])(
  'contract 8.8: an export in %s has rows of the value alone, and those of others show in that of others',
  async format => {
    const asked = { path: `/api/endpoints/query/logs.all?format=${format}`, init: {} };
    const own = await bytesOf(asked, bound['x-api-key']);
    expect([own.status, own.text.includes('ours'), own.text.includes(marker)]).toEqual([200, true, false]);
    const others = await bytesOf({ ...asked, path: `${asked.path}&project=xyz` }, testToken);
    expect(others.text).toContain(marker);
    expect((await bytesOf({ ...asked, path: `${asked.path}&project=xyz` }, bound['x-api-key'])).status).toBe(
      403,
    );
  },
);

test('contract 8.8: another value is refused by its name, whichever way it comes', async () => {
  const hash = 'query($p: String!) { logsAll(project: $p) { id } }';
  const sha256Hash = createHash('sha256').update(hash).digest('hex');
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const call = (name: string, given: object) =>
    json(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
      { accept: 'application/json, text/event-stream' },
    );
  const select = 'select id from edge_logs';
  const logs = '/api/endpoints/query/logs.all';
  const ways: Record<string, Asked> = {
    'query string': { path: `${logs}?project=xyz`, init: {} },
    UUID: { path: `/endpoints/query/${gateway.endpoint('logs.all').id}?project=xyz`, init: {} },
    body: { path: logs, init: json({ project: 'xyz' }, {}) },
    SQL: { path: `${logs}?project=xyz&sql=${encodeURIComponent(select)}`, init: {} },
    export: { path: `${logs}?project=xyz&format=csv`, init: {} },
    explain: { path: `${logs}?project=xyz&explain=true`, init: {} },
    'GraphQL argument': { path: '/graphql', init: json({ query: '{ logsAll(project: "xyz") { id } }' }, {}) },
    'GraphQL alias': { path: '/graphql', init: json({ query: '{ a: logsAll(project: "a.c") { id } b: logsAll(project: "xyz") { id } }' }, {}) },
    'GraphQL variable': { path: '/graphql', init: json({ query: hash, variables: { p: 'xyz' } }, {}) },
    'GraphQL default': { path: '/graphql', init: json({ query: 'query($p: String! = "xyz") { logsAll(project: $p) { id } }' }, {}) },
    'GraphQL hash': { path: '/graphql', init: json({ query: hash, variables: { p: 'xyz' }, extensions }, {}) },
    'GraphQL SQL': { path: '/graphql', init: json({ query: `{ logsAllSql(project: "xyz", sql: "${select}") { rows } }` }, {}) },
    'MCP argument': { path: '/mcp', init: call('logs_all', { project: 'xyz' }) },
    'MCP SQL': { path: '/mcp', init: call('logs_all_sql', { project: 'xyz', sql: select }) },
    invalidation: { path: '/admin/invalidate', init: json({ endpoint: 'logs.all', parameters: { project: 'xyz' } }, {}) },
  }; // biome-ignore format: a table
  for (const [way, asked] of Object.entries(ways)) {
    const { text } = await bytesOf(asked, bound['x-api-key']);
    expect([way, text]).toEqual([
      way,
      expect.stringMatching(/forbidden[\s\S]*project|project[\s\S]*forbidden/),
    ]);
    expect([way, text.includes(marker)]).toEqual([way, false]);
  }
});

test('contract 8.8: no statement of the attacks shows a row of another project', async () => {
  const statements = attacks.flatMap(({ statements: own }) => own);
  const codes = new Set<string>();
  const inTurns = Array.from({ length: 8 }, async (_, first) => {
    for (let at = first; at < statements.length; at += 8) {
      const { text, body } = await rest(`logs.all?${new URLSearchParams({ sql: statements[at]! })}`);
      expect([statements[at], text.includes(marker)]).toEqual([statements[at], false]);
      if (statements[at]!.trim() !== '') codes.add(body.error?.code);
    }
  });
  await Promise.all(inTurns);
  expect([...codes].sort()).toEqual(['invalid_parameter', 'invalid_query', 'sandbox_refused']);
});
