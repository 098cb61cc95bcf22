import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembleSql } from '../../src/bigquery/assemble-sql.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { sourceCatalog } from '../../src/bigquery/source-catalog.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { bindStatement } from '../../src/googlesql/binder/bind-statement.ts';
import { parseQuery } from '../../src/googlesql/syntax/parse-query.ts';
import { openContractWarehouse } from '../engine/open-contract-engine.ts';
import '../support/seed-properties.ts';
import { openExecutingWarehouse } from './executing-warehouse.ts';
import { type RandomStatement, randomStatements } from './random-subsets.ts';

const source = 'cloudflare.logs.prod';
const table = 'acme.logs.edge';
const sources = readSources();
const catalog = sourceCatalog(sources);
const mapping = readTableMapping([`${source}=${table}`]);
const statements = randomStatements({ mapped: source, unmapped: 'postgres.logs' });

const assemble = ({ sql, callerSql }: Pick<RandomStatement, 'sql' | 'callerSql'>) =>
  assembleSql({ sql, callerSql, catalog, mapping, parameterNames: [], arrayParameterNames: [] });

/** The top-level subsets of a text, and the lines they stand on. */
function subsetsIn(text: string): [name: string, line: number][] {
  return parseQuery(text).with.map(({ name }) => [name.name, name.at.line]);
}

describe('contract 4.1: subsets that a statement does not read are left out', () => {
  test('exactly those that are reached stay, on their lines, and the text binds', () => {
    fc.assert(
      fc.property(statements, statement => {
        const { text, linesBefore } = assemble(statement);
        const isSaved = ([, line]: [string, number]) =>
          statement.callerSql === undefined || line <= linesBefore;
        const needed = subsetsIn(statement.sql).filter(([name]) => statement.needed.includes(name));
        expect(subsetsIn(text).filter(isSaved)).toEqual(needed);
        if (statement.callerSql !== undefined) {
          const own = text.split('\n').slice(linesBefore).join('\n');
          // What joins two texts: the word WITH goes blank, or a semicolon; a parenthesis stands behind.
          const changed = [...statement.callerSql].filter((sign, at) => sign !== own[at]).join('');
          expect(changed).toMatch(/^(?:with|;)?$/);
          expect(own.slice(statement.callerSql.length)).toMatch(/^(?:\n\))?$/);
        }
        const physical = { ...catalog.get(source)!, name: table };
        bindStatement({ sql: text, catalog: new Map([[table, physical]]), parameterNames: [] });
      }),
      { numRuns: 500 },
    );
  });

  let local: Engine;
  let opened: Awaited<ReturnType<typeof openContractWarehouse>>;
  beforeAll(async () => {
    opened = await openContractWarehouse(async (engine, names) => {
      local = engine;
      const sourceOf = new Map([[names.table, names.source]]);
      const { url, close } = await openExecutingWarehouse({ engine, sourceOf, pageRows: 10 });
      return { endpoint: url, close };
    });
  });
  afterAll(() => opened.close());

  test('the rows are those of the whole text', async () => {
    const options = () => ({ signal: new AbortController().signal, timeoutMs: 20_000 });
    await fc.assert(
      fc.asyncProperty(statements, async ({ sql, callerSql }) => {
        const statement = { endpoint: 'random', sql, callerSql, parameters: [], maxRows: 10 };
        const [whole, sent] = await Promise.all(
          [local, opened.engine].map(engine => engine.run(statement, options())),
        );
        expect(sent!.rowsJson.toString()).toBe(whole!.rowsJson.toString());
      }),
      { numRuns: 100 },
    );
  });
});
