import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { EndpointEvent } from '../../src/endpoints/endpoint-events.ts';
import { DefinitionError } from '../../src/endpoints/parse-definition.ts';
import { createEndpointRegistry } from '../../src/endpoints/registry.ts';

const file = (name: string, id: number, sql = 'select 1 as n') => `/*
id: 00000000-0000-0000-0000-00000000000${id}
name: ${name}
description: Test.
columns:
  n: { type: INT64, description: A number. }
*/
${sql}
`;

/** A registry over a folder of its own, and its events as they come. */
async function openRegistry(files: Record<string, string>, check = async () => {}) {
  const directory = await mkdtemp(join(tmpdir(), 'registry-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const events: EndpointEvent[] = [];
  let notify = () => {};
  const emit = (event: EndpointEvent) => {
    events.push(event);
    notify();
  };
  const registry = await createEndpointRegistry({ directory, check, emit });
  onTestFinished(async () => {
    registry.close();
    await rm(directory, { recursive: true });
  });
  const waitFor = async (type: EndpointEvent['type']) => {
    while (!events.some(event => event.type === type)) {
      await new Promise<void>(resolve => {
        notify = resolve;
      });
    }
    return events.find(event => event.type === type);
  };
  return { directory, registry, events, waitFor };
}

test('contract 2.2: finds an endpoint by name and by UUID in any case; a 16-character name is a name', async () => {
  const { registry } = await openRegistry({
    'logs.all.staging.sql': file('logs.all.staging', 1).replace('00000000-0', 'abcdefab-0'),
  });
  const definition = registry.find('logs.all.staging');
  expect(definition?.name).toBe('logs.all.staging');
  expect(registry.find('abcdefab-0000-0000-0000-000000000001')).toBe(definition);
  expect(registry.find('ABCDEFAB-0000-0000-0000-000000000001')).toBe(definition);
  expect(registry.find('LOGS.ALL.STAGING')).toBeUndefined();
  expect(registry.find('abcdefab-0000-0000-0000-000000000002')).toBeUndefined();
});

test('a new file is served without a restart', async () => {
  const { directory, registry, events, waitFor } = await openRegistry({ 'a.sql': file('a', 1) });
  const before = registry.version;
  events.length = 0;
  await writeFile(join(directory, 'b.sql'), file('b', 2));
  expect(await waitFor('endpoint.loaded')).toEqual({ type: 'endpoint.loaded', endpoint: 'b', file: 'b.sql' });
  expect(registry.find('b')).toBeDefined();
  expect(registry.version).toBeGreaterThan(before);
});

test('a broken change keeps the last good definition and says so; the mended file is served', async () => {
  const { directory, registry, events, waitFor } = await openRegistry({ 'a.sql': file('a', 1) });
  const good = registry.find('a');
  events.length = 0;
  await writeFile(join(directory, 'a.sql'), file('a', 1).replace('INT64', 'INT65'));
  expect(await waitFor('endpoint.broken')).toMatchObject({
    file: 'a.sql',
    message: expect.stringContaining('a.sql:6: columns.n.type'),
  });
  expect(registry.find('a')).toBe(good);
  await writeFile(join(directory, 'a.sql'), file('a', 1, 'select 2 as n'));
  await waitFor('endpoint.loaded');
  expect(registry.find('a')?.sql).toContain('select 2');
});

test('a removed file is no longer served', async () => {
  const { directory, registry, waitFor } = await openRegistry({
    'a.sql': file('a', 1),
    'b.sql': file('b', 2),
  });
  await rename(join(directory, 'b.sql'), join(directory, 'b.sql.off'));
  await waitFor('endpoint.removed');
  expect(registry.all().map(({ name }) => name)).toEqual(['a']);
});

const withEnum = (name: string, id: number, lines: string) =>
  file(name, id).replace(
    'columns:',
    `parameters:\n  kind: { type: enum, values: [a], description: K.${lines} }\ncolumns:`,
  );

test.each([
  ['one id', { 'a.sql': file('a', 1), 'b.sql': file('b', 1) }, 'b.sql:2: id: is taken by a.sql already'],
  ['one field', { 'a.b.sql': file('a.b', 1), 'a-b.sql': file('a-b', 2) }, 'a.b.sql:3: name: has the GraphQL field aB, which is taken by a-b.sql already'],
  ['a field and the one for SQL', { 'a.sql': file('a', 1).replace('*/', 'sandbox: true\n*/'), 'a.sql.sql': file('a.sql', 2) }, 'a.sql.sql:3: name: has the GraphQL field aSql, which is taken by a.sql already'],
  ['one name of an enum', { 'a.sql': withEnum('a', 1, ', typeName: Kind'), 'b.sql': withEnum('b', 2, ', typeName: Kind') }, 'b.sql:6: parameters.kind.typeName: has the GraphQL type Kind, which is taken by a.sql already'],
  ['an enum and rows', { 'a.sql': withEnum('a', 1, ', typeName: BRow'), 'b.sql': file('b', 2) }, 'b.sql:3: name: has the GraphQL type BRow, which is taken by a.sql already'],
  ['enums by their full names', { 'a.b.sql': file('a.b', 1).replace('columns:', 'parameters:\n  c: { type: enum, values: [a], description: C. }\ncolumns:'), 'a.sql': file('a', 2).replace('columns:', 'parameters:\n  b_c: { type: enum, values: [a], description: C. }\ncolumns:') }, 'a.sql:6: parameters.b_c: has the GraphQL type ABC, which is taken by a.b.sql already'],
  ['a type of the service', { 'a.sql': withEnum('a', 1, ', typeName: DateTime') }, 'a.sql:6: parameters.kind.typeName: has the GraphQL type DateTime, which is taken by the service itself already'],
  ['no name at all', { 'a.sql': file('a', 1).replaceAll('  n:', '  _1:').replace('as n', 'as _1') }, 'a.sql:6: columns._1: has no name in GraphQL'],
])('saved queries with %s are refused at start, by file, line and key', async (_, files, message) => {
  await expect(openRegistry(files as Record<string, string>)).rejects.toThrow(message);
}); // biome-ignore format: a table

test('a new file that collides harms only itself, whichever name sorts first, and is served once the name is free', async () => {
  const { directory, registry, waitFor, events } = await openRegistry({
    'shop.revenue.sql': file('shop.revenue', 1),
  });
  const first = registry.find('shop.revenue');
  events.length = 0;
  await writeFile(join(directory, 'shop-revenue.sql'), file('shop-revenue', 2));
  expect(await waitFor('endpoint.broken')).toMatchObject({
    file: 'shop-revenue.sql',
    message: expect.stringContaining('has the GraphQL field shopRevenue, which is taken by shop.revenue.sql'),
  });
  expect(registry.all()).toEqual([first]);
  events.length = 0;
  await rename(join(directory, 'shop.revenue.sql'), join(directory, 'off'));
  await waitFor('endpoint.loaded');
  expect(registry.all().map(({ name }) => name)).toEqual(['shop-revenue']);
});

test('a definition that its check refuses is not served', async () => {
  const check = async () => {
    throw new DefinitionError('a.sql', [{ line: 3, key: 'columns.n', message: 'is not there' }]);
  };
  await expect(openRegistry({ 'a.sql': file('a', 1) }, check)).rejects.toThrow(
    'a.sql:3: columns.n: is not there',
  );
});
