import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runQueryCommand } from '../../src/commands/client/query-command.ts';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { openWarehouse } from '../bigquery/scripted-warehouse.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

/** By parameter: its header, and values that are out of its bounds by one step, in the form of the query string. */
const bounds: Record<string, readonly [header: string, graphql: 'text' | 'bare', ...values: string[]]> = {
  i: ['type: INT64, min: -5, max: "9007199254740993"', 'bare', '-6', '9007199254740994'],
  f: ['type: FLOAT64, min: -0.5, max: 0.5', 'bare', '-0.50000001', '0.6', '1e300'],
  n: ['type: NUMERIC, min: 0.1, max: "12345678901234567890.5"', 'text', '0.099999999', '12345678901234567890.500000001'],
  m: ['type: BIGNUMERIC, max: 1', 'text', '1.00000000000000000000000000000000000001'],
  t: ['type: TIMESTAMP, min: 2026-01-01T00:00:00Z, max: 2026-02-01T00:00:00Z', 'text', '2025-12-31T23:59:59.999999Z', '2026-02-01T01:00:00.000001+01:00'],
  d: ['type: DATETIME, min: 2026-01-01T00:00:00', 'text', '2025-12-31T23:59:59.999999'],
  y: ['type: DATE, min: 2026-01-01, max: 2026-01-31', 'text', '2025-12-31', '2026-02-01'],
  c: ['type: TIME, min: "08:00:00", max: "18:00:00"', 'text', '07:59:59.999999', '18:00:00.000001'],
  s: ['type: STRING, minLength: 2, maxLength: 3, pattern: "^[a-z]+$"', 'text', 'a', 'abcd', 'AB'],
}; // biome-ignore format: a table

const ending = 'description: One.';
const sql = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d0a
name: within
description: Bounds.
parameters:
${Object.entries(bounds)
  .map(
    ([name, [header]]) =>
      `  ${name}: { ${header}, ${ending} }\n  ${name}s: { ${header}, repeated: true, ${ending} }`,
  )
  .join('\n')}
columns:
  one: { type: INT64, required: true, ${ending} }
*/
select 1 as one`;

const cases = Object.entries(bounds).flatMap(([name, [, form, ...values]]) =>
  values.flatMap(value => [
    { name, value, form, isList: false },
    { name: `${name}s`, value, form, isList: true },
  ]),
);

/** By what runs the queries. */
const gateways = new Map<string, OpenGateway>();
let warehouse: Awaited<ReturnType<typeof openWarehouse>>;
let askedAtStart = 0;
beforeAll(async () => {
  warehouse = await openWarehouse({});
  const sqlFiles = { 'within.sql': sql };
  gateways.set('the embedded engine', await openGateway({ sqlFiles }));
  gateways.set(
    'the warehouse',
    await openGateway({ sqlFiles, environment: bigqueryEnvironment(warehouse.url) }),
  );
  askedAtStart = warehouse.asked.length;
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.close();
  warehouse.close();
});

const path = '/api/endpoints/query/within';
const post = (gateway: OpenGateway, where: string, body: object, headers: Record<string, string> = {}) =>
  gateway.send(where, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** What each handler says of a value; a list has it alone. */
const handlers: Record<string, (gateway: OpenGateway, asked: (typeof cases)[number]) => Promise<string>> = {
  'REST, GET': async (gateway, { name, value }) =>
    (await gateway.get(`${path}?${new URLSearchParams([[name, value]])}`)).text,
  'REST, POST': async (gateway, { name, value, isList }) =>
    (await post(gateway, path, { [name]: isList ? [value] : value })).text,
  'GraphQL, literal': async (gateway, { name, value, form, isList }) => {
    const literal = form === 'bare' ? value : JSON.stringify(value);
    return (await gateway.graphql(`{ within(${name}: ${isList ? `[${literal}]` : literal}) { one } }`)).text;
  },
  'GraphQL, variable': async (gateway, { name, value, isList }) => {
    const schema = await gateway.graphql(
      '{ __type(name: "Query") { fields { name args { name type { name ofType { ofType { name } } } } } } }',
    );
    const field = schema.body.data.__type.fields.find((each: { name: string }) => each.name === 'within');
    const { type } = field.args.find((each: { name: string }) => each.name === name);
    const declared = isList ? `[${type.ofType.ofType.name}!]` : type.name;
    // Float takes numbers only; BigInt takes texts, too.
    const sent = (type.name ?? type.ofType.ofType.name) === 'Float' ? Number(value) : value;
    const query = `query ($v: ${declared}) { within(${name}: $v) { one } }`;
    return (await gateway.graphql(query, { v: isList ? [sent] : sent })).text;
  },
  'the command line': async (gateway, { name, value }) => {
    const deps = {
      environment: { GATEWAY_URL: gateway.origin, GATEWAY_TOKEN: testToken },
      out: { write: () => true },
      note: () => undefined,
      screen: undefined,
      signal: new AbortController().signal,
    };
    return runQueryCommand(deps, ['within', `--${name}`, value]).then(
      () => 'it ran',
      ({ message }) => message,
    );
  },
  MCP: async (gateway, { name, value, isList }) => {
    const call = { name: 'within', arguments: { [name]: isList ? [value] : value } };
    const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${testToken}` };
    return (
      await post(gateway, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }, headers)
    ).text;
  },
};

describe.each(['the embedded engine', 'the warehouse'])('contract 10.4: over %s', engine => {
  test.each(Object.entries(handlers))('%s refuses what is out of bounds before the engine, naming parameter, value and bound', async (_handler, ask) => {
    const gateway = gateways.get(engine)!;
    const started = () => gateway.events.filter(({ type }) => type === 'engine.query_started').length;
    const before = started();
    const wrong: string[] = [];
    for (const asked of cases) {
      const said = (await ask(gateway, asked)).replaceAll('\\', '');
      const shown = asked.value === '1e300' ? /1e\+?300/ : new RegExp(asked.value.replace(/[.+]/g, '\\$&'));
      const isNamed = said.includes(`Parameter "${asked.name}"`) && shown.test(said);
      if (!isNamed || !/at least|at most|a match of/.test(said)) wrong.push(`${asked.name}=${asked.value}: ${said}`);
    }
    expect(wrong).toEqual([]);
    expect(started()).toBe(before);
    expect(warehouse.asked.length).toBe(askedAtStart);
  });
}); // biome-ignore format: long names
