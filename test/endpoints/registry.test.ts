import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { EndpointEvent } from '../../src/endpoints/endpoint-events.ts';
import { DefinitionError } from '../../src/endpoints/parse-definition.ts';
import { createEndpointRegistry } from '../../src/endpoints/registry.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const file = (name: string, id: number, sql = 'select 1 as n') => `/*
id: 00000000-0000-0000-0000-00000000000${id}
name: ${name}
description: Test.
columns:
  n: { type: INT64, description: A number. }
*/
${sql}
`;

/** Writes a file in one step: one that is written in several may be read half written, and reported, if the machine stands still meanwhile. */
async function put(path: string, text: string): Promise<void> {
  const unfinished = join(await temporaryDirectory(), 'unfinished');
  await writeFile(unfinished, text);
  await rename(unfinished, path);
}

/** A registry over a folder of its own, and its events as they come. */
async function openRegistry(files: Record<string, string>, check = async () => {}, retryMs = 60_000) {
  const directory = await mkdtemp(join(tmpdir(), 'registry-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const events: EndpointEvent[] = [];
  let notify = () => {};
  const emit = (event: EndpointEvent) => {
    events.push(event);
    notify();
  };
  const registry = await createEndpointRegistry({ directory, check, emit, retryMs });
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
  await put(join(directory, 'b.sql'), file('b', 2));
  expect(await waitFor('endpoint.loaded')).toEqual({ type: 'endpoint.loaded', endpoint: 'b', file: 'b.sql' });
  expect(registry.find('b')).toBeDefined();
  expect(registry.version).toBeGreaterThan(before);
});

test('a file that changes while the folder is read for the first time is served as it is then', async () => {
  const directory = await temporaryDirectory();
  await put(join(directory, 'a.sql'), file('a', 1));
  const { promise: served, resolve } = Promise.withResolvers<void>();
  let loads = 0;
  const registry = await createEndpointRegistry({
    directory,
    async check() {
      // Between the reading of the file and the beginning of the watch.
      if (loads === 0) await put(join(directory, 'a.sql'), file('a', 1, 'select 2 as n'));
    },
    emit({ type }) {
      if (type === 'endpoint.loaded' && ++loads === 2) resolve();
    },
  });
  onTestFinished(() => registry.close());
  await served;
  expect(registry.find('a')?.sql).toContain('select 2');
});

test('a broken change keeps the last good definition and says so; the mended file is served', async () => {
  const { directory, registry, events, waitFor } = await openRegistry({ 'a.sql': file('a', 1) });
  const good = registry.find('a');
  events.length = 0;
  await put(join(directory, 'a.sql'), file('a', 1).replace('INT64', 'INT65'));
  expect(await waitFor('endpoint.broken')).toMatchObject({
    file: 'a.sql',
    message: expect.stringContaining('a.sql:6: columns.n.type'),
  });
  expect(registry.find('a')).toBe(good);
  await put(join(directory, 'a.sql'), file('a', 1, 'select 2 as n'));
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
  ['one id', { 'a.sql': file('a', 1), 'b.sql': file('b', 1) }, 'b.sql:2: id: is taken by a.sql already; the next start serves a.sql'],
  ['one field', { 'a.b.sql': file('a.b', 1), 'a-b.sql': file('a-b', 2) }, 'a.b.sql:3: name: has the GraphQL field aB, which is taken by a-b.sql already; the next start serves a-b.sql'],
  ['a field and the one for SQL', { 'a.sql': file('a', 1).replace('*/', 'sandbox: true\n*/'), 'a.sql.sql': file('a.sql', 2) }, 'a.sql.sql:3: name: has the GraphQL field aSql, which is taken by a.sql already'],
  ['one name of an enum', { 'a.sql': withEnum('a', 1, ', typeName: Kind'), 'b.sql': withEnum('b', 2, ', typeName: Kind') }, 'b.sql:6: parameters.kind.typeName: has the GraphQL type Kind, which is taken by a.sql already'],
  ['an enum and rows', { 'a.sql': withEnum('a', 1, ', typeName: BRow'), 'b.sql': file('b', 2) }, 'b.sql:3: name: has the GraphQL type BRow, which is taken by a.sql already'],
  ['enums by their full names', { 'a.b.sql': file('a.b', 1).replace('columns:', 'parameters:\n  c: { type: enum, values: [a], description: C. }\ncolumns:'), 'a.sql': file('a', 2).replace('columns:', 'parameters:\n  b_c: { type: enum, values: [a], description: C. }\ncolumns:') }, 'a.b.sql:6: parameters.c: has the GraphQL type ABC, which is taken by a.sql already'],
  ['a type of the service', { 'a.sql': withEnum('a', 1, ', typeName: DateTime') }, 'a.sql:6: parameters.kind.typeName: has the GraphQL type DateTime, which is taken by the service itself already'],
  ['no name at all', { 'a.sql': file('a', 1).replaceAll('  n:', '  _1:').replace('as n', 'as _1') }, 'a.sql:6: columns._1: has no name in GraphQL'],
])('of saved queries with %s the later one is left out at a start, by file, line and key', async (_, files, message) => {
  const { registry, events } = await openRegistry({ ...(files as Record<string, string>), 'z.sql': file('z', 9) });
  const { broken } = registry;
  expect(broken.map(error => error.message)).toEqual([expect.stringContaining(message)]);
  expect(events.filter(({ type }) => type === 'endpoint.broken')).toEqual([
    { type: 'endpoint.broken', file: broken[0]?.file, message: broken[0]?.message },
  ]);
  const good = [...Object.keys(files), 'z.sql'].filter(name => name !== broken[0]?.file);
  expect(registry.all().map(each => each.file)).toEqual(good);
}); // biome-ignore format: a table

test('where no file can be served, the registry does not open, and says what is wrong with each', async () => {
  const files = { 'a.sql': 'select 1', 'b.sql': file('b', 1).replace('INT64', 'INT65') };
  await expect(openRegistry(files)).rejects.toThrow(/^a\.sql:1: .*\nb\.sql:6: columns\.n\.type: /);
  expect((await openRegistry({})).registry.all()).toEqual([]);
});

test('names go to the saved queries of the service, then to what is served, then to shorter names: at a start and later', async () => {
  const { directory, registry, waitFor, events } = await openRegistry({
    'logs-all.sql': file('logs-all', 1),
    'logs.all.sql': file('logs.all', 2).replace('INT64', 'INT65'),
    'my.orders.sql': file('my.orders', 3),
    'orders.sql': file('orders', 3),
  });
  const served = () => registry.all().map(({ name }) => name);
  expect(served()).toEqual(['logs-all', 'orders']);
  // Served while the query of the service was broken; it gives its name back.
  events.length = 0;
  await put(join(directory, 'logs.all.sql'), file('logs.all', 2));
  expect(await waitFor('endpoint.removed')).toMatchObject({ file: 'logs-all.sql' });
  expect(served()).toEqual(['logs.all', 'orders']);
  // A shorter name takes nothing from what is served.
  events.length = 0;
  await put(join(directory, 'o.sql'), file('o', 3));
  expect(await waitFor('endpoint.broken')).toMatchObject({ file: 'o.sql' });
  expect(served()).toEqual(['logs.all', 'orders']);
});

test('a file that nobody can read harms only itself, and those of editors are none', async () => {
  const { directory, registry } = await openRegistry({ 'a.sql': file('a', 1) });
  await mkdir(join(directory, 'b.sql'));
  await symlink('/nowhere', join(directory, '.#a.sql'));
  await expect
    .poll(() => registry.broken.map(({ message }) => message))
    .toEqual([expect.stringContaining("b.sql:1: can't be read: EISDIR")]);
  expect(registry.all().map(({ name }) => name)).toEqual(['a']);
});

test('what a saved query reads may come later: it is served then, and is reported once until then', async () => {
  let isThere = false;
  let checks = 0;
  const check = async (definition?: { name: string }) => {
    if (definition?.name !== 'a') return;
    checks++;
    if (!isThere) throw new DefinitionError('a.sql', [{ line: 9, key: 'sql', message: 'no such table' }]);
  };
  const { registry, events, waitFor } = await openRegistry(
    { 'a.sql': file('a', 1), 'b.sql': file('b', 2) },
    check,
    20,
  );
  await expect.poll(() => checks).toBeGreaterThan(3);
  expect(events.filter(({ type }) => type === 'endpoint.broken')).toHaveLength(1);
  events.length = 0;
  isThere = true;
  expect(await waitFor('endpoint.loaded')).toMatchObject({ file: 'a.sql' });
  expect([registry.broken, registry.all().length]).toEqual([[], 2]);
});

test('a new file that collides harms only itself, whichever name sorts first, and is served once the name is free', async () => {
  const { directory, registry, waitFor, events } = await openRegistry({
    'shop.revenue.sql': file('shop.revenue', 1),
  });
  const first = registry.find('shop.revenue');
  events.length = 0;
  await put(join(directory, 'shop-revenue.sql'), file('shop-revenue', 2));
  expect(await waitFor('endpoint.broken')).toMatchObject({
    file: 'shop-revenue.sql',
    message: expect.stringContaining(
      'shopRevenue, which is taken by shop.revenue.sql already; the next start serves shop-revenue.sql',
    ),
  });
  expect(registry.all()).toEqual([first]);
  // As `lint` and `doctor` read the files: as a start does.
  const atStart = await createEndpointRegistry({
    directory,
    check: async () => {},
    emit: () => {},
    watch: false,
  });
  expect(atStart.all().map(({ name }) => name)).toEqual(['shop-revenue']);
  expect(atStart.broken.map(({ message }) => message)).toEqual([
    expect.stringContaining(
      'shopRevenue, which is taken by shop-revenue.sql already; the next start serves shop-revenue.sql',
    ),
  ]);
  events.length = 0;
  await rename(join(directory, 'shop.revenue.sql'), join(directory, 'off'));
  await waitFor('endpoint.loaded');
  expect(registry.all().map(({ name }) => name)).toEqual(['shop-revenue']);
});

test.each([
  ['moved away and made anew', (folder: string) => rename(folder, `${folder}-old`)],
  ['removed and made anew', (folder: string) => rm(folder, { recursive: true })],
])('a folder that is %s is followed on', async (_, replace) => {
  const { directory, registry } = await openRegistry({ 'a.sql': file('a', 1) });
  onTestFinished(() => rm(`${directory}-old`, { recursive: true, force: true }));
  const names = () => registry.all().map(({ name }) => name);
  await replace(directory);
  await mkdir(directory);
  for (const [at, name] of ['b', 'c'].entries()) {
    await put(join(directory, `${name}.sql`), file(name, at + 2));
    await expect.poll(names).toContain(name);
  }
  expect(names()).toEqual(['b', 'c']);
});

test('where its folder is a link, it is followed to where the link points', async () => {
  const { directory } = await openRegistry({ 'a.sql': file('a', 1) });
  const { directory: other } = await openRegistry({ 'b.sql': file('b', 2) });
  const link = `${directory}-link`;
  onTestFinished(() => rm(link));
  await symlink(directory, link);
  const registry = await createEndpointRegistry({ directory: link, check: async () => {}, emit: () => {} });
  onTestFinished(() => registry.close());
  const names = () => registry.all().map(({ name }) => name);
  await symlink(other, `${link}-next`);
  await rename(`${link}-next`, link);
  await expect.poll(names).toEqual(['b']);
});

test('a definition that its check refuses is not served', async () => {
  const check = async () => {
    throw new DefinitionError('a.sql', [{ line: 3, key: 'columns.n', message: 'is not there' }]);
  };
  await expect(openRegistry({ 'a.sql': file('a', 1) }, check)).rejects.toThrow(
    'a.sql:3: columns.n: is not there',
  );
});
