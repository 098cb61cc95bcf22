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

test('two files that answer to one id or one GraphQL field are refused at start, each named', async () => {
  await expect(openRegistry({ 'a.sql': file('a', 1), 'b.sql': file('b', 1) })).rejects.toThrow(
    'b.sql:1: id: is taken by a.sql already',
  );
  await expect(openRegistry({ 'a.b.sql': file('a.b', 1), 'a-b.sql': file('a-b', 2) })).rejects.toThrow(
    'a.b.sql:1: name: is taken by a-b.sql already',
  );
  const sandboxed = file('a', 1).replace('*/', 'sandbox: true\n*/');
  await expect(openRegistry({ 'a.sql': sandboxed, 'a.sql.sql': file('a.sql', 2) })).rejects.toThrow(
    'a.sql.sql:1: name: is taken by a.sql already',
  );
});

test('a definition that its check refuses is not served', async () => {
  const check = async () => {
    throw new DefinitionError('a.sql', [{ line: 3, key: 'columns.n', message: 'is not there' }]);
  };
  await expect(openRegistry({ 'a.sql': file('a', 1) }, check)).rejects.toThrow(
    'a.sql:3: columns.n: is not there',
  );
});
