import { expect, it } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { assembleSql } from '../../src/bigquery/assemble-sql.ts';
import { bindStatement } from '../../src/googlesql/binder/bind-statement.ts';
import { parseQuery } from '../../src/googlesql/syntax/parse-query.ts';
import { attacks, innocents } from './attacks.ts';
import { catalog, compileCaller, parameterNames, savedSql } from './compile-caller.ts';

/** A table for every source, `acme.logs.t0` and so on; the secrets have one too. */
const mapping = new Map(
  [...catalog.keys()].map((source, at) => [source, { project: 'acme', dataset: 'logs', table: `t${at}` }]),
);
const tableOf = (source: string) => `acme.logs.${mapping.get(source)!.table}`;

/** The sources as a warehouse has them: by its own names alone. */
const warehouse = new Map(
  [...catalog].map(([source, table]) => [tableOf(source), { ...table, name: tableOf(source) }]),
);

function assemble(callerSql: string) {
  return assembleSql({ sql: savedSql, callerSql, catalog, mapping, parameterNames, arrayParameterNames: [] });
}

it.each(attacks.flatMap(({ statements }) => [...statements]))(
  'contract 4.5: assembles no text for %j',
  callerSql => {
    expect(() => assemble(callerSql)).toThrow(GatewayError);
  },
);

it.each(innocents)('assembles a text that reads no more than the embedded engine does for %j', callerSql => {
  const { text, sources, linesBefore } = assemble(callerSql);
  const { tables } = compileCaller(callerSql);
  // The embedded engine leaves more out: subsets that a caller's text names without need.
  expect(sources).toEqual(expect.arrayContaining([...tables]));
  const bound = bindStatement({ sql: text, catalog: warehouse, parameterNames });
  expect(new Set(bound.tables.map(({ name }) => name))).toEqual(new Set(sources.map(tableOf)));
  const saved = parseQuery(text).with.filter(({ name }) => name.at.line <= linesBefore);
  expect(saved).toHaveLength(sources.length);
});
