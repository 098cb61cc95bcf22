import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultScopes, scopeMeanings } from '../../src/auth/scopes.ts';
import { errorCodes } from '../../src/base/errors.ts';
import { variables } from '../../src/composition/config.ts';
import { headerSchema } from '../../src/endpoints/definition.ts';
import { matchRoute, routes } from '../../src/http/routes.ts';
import { redactionKinds } from '../../src/redaction/redaction-kinds.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

/** The rows of the first table of a page, each as its cells. */
function tableOf(page: string): string[][] {
  const lines = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8').split('\n');
  const start = lines.findIndex(line => line.startsWith('|---'));
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'));
  return lines.slice(start + 1, end).map(line =>
    line
      .slice(1, -1)
      .split(' | ')
      .map(cell => cell.trim()),
  );
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``);

const defaultOf = (schema: { safeParse(value: undefined): { data?: unknown } }) =>
  String(schema.safeParse(undefined).data ?? '');

test('contract 2.20: docs/errors.md lists the error codes of the code, row for row', () => {
  expect(tableOf('errors.md')).toEqual(
    Object.entries(errorCodes).map(([name, row]) => [
      code(name),
      String(row.status),
      code(row.reason),
      'retryAfterSeconds' in row ? String(row.retryAfterSeconds) : '',
      row.meaning,
    ]),
  );
});

test('docs/configuration.md lists the variables of the code with their defaults, row for row', () => {
  expect(tableOf('configuration.md')).toEqual(
    Object.entries(variables).map(([name, { schema, meaning }]) => [
      code(name),
      code(defaultOf(schema)),
      meaning,
    ]),
  );
});

test('.env.example sets every variable to its default, each below its meaning', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  const [, ...settings] = text.trimEnd().split('\n\n');
  expect(settings).toEqual(
    Object.entries(variables).map(([name, { schema, meaning }]) => {
      const value = defaultOf(schema);
      return `# ${meaning}\n${value === '' ? '# ' : ''}${name}=${value}`;
    }),
  );
});

test('docs/metrics.md lists the metrics of the code, row for row', async () => {
  const metrics = createMetrics();
  metrics.watch({ state: async () => ({ groups: [], keys: 0, totals: {} }) });
  const text = await metrics.render();
  const all = [...text.matchAll(/# HELP (\S+) (.*)\n# TYPE \S+ (\S+)/g)];
  const own = all.filter(([, name]) => !/^(?:process|nodejs)_/.test(name ?? ''));
  expect(tableOf('metrics.md')).toEqual(own.map(([, name = '', help, type]) => [code(name), type, help]));
});

test('docs/operations.md speaks of metrics, events and settings that are there', () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const words = [...page.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word).join(' ');
  const metrics = new Set(tableOf('metrics.md').map(([name = '']) => name.replaceAll('`', '')));
  const named = words.match(/\b(?:cache|endpoint|engine|http|log|warm|warehouse)_[a-z_]+\b/g) ?? [];
  expect(named.length).toBeGreaterThan(10);
  const state = readFileSync(new URL('../../src/composition/report-state.ts', import.meta.url), 'utf8');
  const reasons: string[] = state.match(/(?<=\[')[a-z]+_[a-z_]+(?='\])/g) ?? [];
  expect(reasons.filter(reason => !page.includes(`\`${reason}\``))).toEqual([]);
  expect(reasons.length).toBeGreaterThan(4);
  const known = (name: string) => metrics.has(name) || name in errorCodes || reasons.includes(name);
  expect(named.filter(name => !known(name))).toEqual([]);
  const settings = words.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? [];
  expect(settings.filter(name => !(name in variables))).toEqual([]);
  const files = globSync('src/**/*events.ts', { cwd: new URL('../..', import.meta.url) });
  const types = files.map(file => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).join('');
  const events = [...page.matchAll(/`((?:endpoint|engine|http|store|tokens|warehouse)\.[a-z_]+)`/g)];
  expect(events.length).toBeGreaterThan(5);
  expect(events.filter(([, event]) => !types.includes(`type: '${event}'`)).map(([text]) => text)).toEqual([]);
});

test('contract 9.7: docs/redaction.md lists the kinds, and what a caller’s own SQL can do', () => {
  expect(tableOf('redaction.md').map(([kind]) => kind)).toEqual(redactionKinds.map(code));
  const page = readFileSync(new URL('../../docs/redaction.md', import.meta.url), 'utf8');
  expect(page.replace(/\s+/g, ' ')).toContain('can take text apart before redaction sees it');
});

test('docs/tokens.md lists the scopes, and which of them are there by default', () => {
  const isDefault = (scope: string) => defaultScopes.some(each => each === scope);
  expect(tableOf('tokens.md')).toEqual(
    Object.entries(scopeMeanings).map(([scope, meaning]) => [
      code(scope),
      isDefault(scope) ? 'yes' : '',
      meaning,
    ]),
  );
});

test('docs/rest.md lists every route with its methods', () => {
  const rows = tableOf('rest.md').map(([path = '', methods = '']) => {
    const sample = path.replaceAll('`', '').replace(/<[^>]+>/, 'logs.all');
    return [matchRoute(sample).name, methods];
  });
  const expected = Object.entries(routes).map(([name, { methods }]) => [name, methods.join(', ')]);
  expect(new Map(rows.map(([name, methods]) => [name, methods]))).toEqual(
    new Map(expected as [string, string][]),
  );
  expect(rows.filter(([name]) => name === 'rest')).toHaveLength(3);
});

test('docs/saved-queries.md lists the keys of a header with their defaults', () => {
  const least = { id: '00000000-0000-0000-0000-000000000000', name: 'a', description: 'A.' };
  const column = { n: { type: 'INT64', description: 'N.' } };
  const shown = (value: unknown) =>
    value === undefined || typeof value === 'object' ? 'none' : String(value);
  const defaults: Record<string, unknown> = headerSchema.parse({ ...least, columns: column });
  const rows = tableOf('saved-queries.md').map(cells => [cells[0], cells.at(-1)]);
  expect(rows).toEqual(
    Object.entries(headerSchema.shape).map(([key]) => {
      const isGiven = key in least || key === 'columns';
      return [code(key), isGiven ? '' : shown(defaults[key])];
    }),
  );
});

test('docs/performance.md lists the variables that the benches read', () => {
  const root = new URL('../..', import.meta.url);
  const read = globSync('bench/**/*.ts', { cwd: root }).flatMap(file => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const taken = text.matchAll(/process\.env\.([A-Z_]+)|\{ ([A-Z_]+)[^}]*\} = process\.env/g);
    return [...taken].map(([, name = '', other]) => other ?? name);
  });
  // Of Node, and of a bench for its own processes.
  const others = ['NODE_OPTIONS', 'LOOP_DELAY_FILE'];
  const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8');
  const [, section = ''] = page.split('## What a bench takes');
  const listed = [...section.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
  expect(new Set(listed)).toEqual(new Set(read.filter(name => !others.includes(name))));
});
