import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import type { Explanation, Statement } from '../../src/engine/engine.ts';
import { checkPruning } from '../real-project/check-pruning.ts';
import { tableReads } from '../real-project/pruning-shapes.ts';

const read = (file: string) => readFileSync(new URL(`../../sql/${file}`, import.meta.url), 'utf8');

describe('contract 1.10: every table of a saved query is read within bounds that BigQuery can prune by', () => {
  test.each([
    ['logs.all.sql', 9, ['>', '<=']],
    ['usage.api-counts.sql', 1, ['>=']],
    ['usage.api-counts.batch.sql', 1, ['>=']],
  ])('%s', (file, count, bounds) => {
    const reads = tableReads(read(file));
    expect(reads.map(({ table, line, bounds: own }) => [table, line, own])).toEqual(
      reads.map(({ table, line }) => [table, line, bounds]),
    );
    expect(reads).toHaveLength(count);
  });

  test.each([
    ["timestamp > '2026-01-01'", ['>']],
    ['timestamp = current_timestamp()', ['=']],
    ['@since < t.timestamp', ['>']],
    ['id = @id and (timestamp between @since and current_timestamp())', ['>=', '<=']],
    ["timestamp > case @i when 'a' then timestamp_sub(current_timestamp(), interval 1 hour) end", ['>']],
    [
      "timestamp > coalesce(cast(nullif(@since, '') as timestamp), timestamp '0001-01-01 00:00:00+00')",
      ['>'],
    ],
    // A subquery, another column, or a function of the column is no constant bound of it; nor is what OR leaves open.
    ['timestamp > (select max(a.timestamp) from audit as a where a.timestamp > @since)', []],
    ['timestamp > other', []],
    ['timestamp > timestamp_sub(other, interval 1 hour)', []],
    ['timestamp_add(timestamp, interval 1 hour) > @since', []],
    ['date(timestamp) = @day', []],
    ['timestamp > @since or @since is null', []],
    ['not timestamp > @since', []],
    [
      'timestamp between (select max(a.timestamp) from audit as a where a.timestamp > @since) and @until',
      ['<='],
    ],
    ['timestamp > timestamp_seconds(cast(rand() * 10 as int64))', []],
    ['true', []],
  ])('%s', (where, bounds) => {
    expect(tableReads(`select id from logs as t where ${where}`)[0]!.bounds).toEqual(bounds);
  });

  test('subsets and array paths are no tables, wherever the query stands', () => {
    const sql = `with a as (select id, items from \`x.y\` where timestamp > @since), b as (select id from a)
      select id, (select count(*) from z) as n from b, a, a.items where id in (select id from q where timestamp <= @until)
      union all select id, 1 from (select id from w)`;
    expect(tableReads(sql).map(({ table, bounds }) => [table, ...bounds])).toEqual([
      ['x.y', '>'],
      ['z'],
      ['q', '<='],
      ['w'],
    ]);
  });
});

describe('the check of the optional suite', () => {
  const definitions = [
    parseDefinition('logs.all.sql', read('logs.all.sql')),
    parseDefinition('usage.api-counts.sql', read('usage.api-counts.sql'), read('usage.api-counts.batch.sql')),
  ];
  const nowMs = Date.parse('2026-01-15T12:00:00Z');

  /** Dry runs over tables of ten days, of ten bytes each: a bound leaves one day where the text lets BigQuery prune by it. */
  function explainOver({ prunes = true, isPartitioned = true, says = true, mapped = true }) {
    return async ({ sql, callerSql, parameters, endpoint }: Statement): Promise<Explanation> => {
      if (!mapped && endpoint === 'logs.all')
        throw new GatewayError('engine_failed', 'Source a has no table');
      const values = parameters.map(({ value }) => value);
      const isLiteral = endpoint === 'pruning';
      const isNarrow = isLiteral
        ? /'20(?:26-01-1[45]|00)/.test(sql)
        : values.includes('hourly') ||
          values.includes('minutely') ||
          values.some(value => /^20/.test(String(value)));
      const isPruned = isNarrow && isPartitioned && (prunes || isLiteral);
      const bytes = { estimatedBytes: isPruned ? 10 : 100 };
      const source = callerSql?.includes('postgres_logs') ? 'postgres.logs' : 'cloudflare.logs.prod';
      return { columns: [], sources: [source], ...(says ? bytes : {}) };
    };
  }
  const verdicts = async (warehouse: Parameters<typeof explainOver>[0]) => {
    const findings = await checkPruning(explainOver(warehouse), definitions, nowMs);
    expect(findings).toHaveLength(9 * 2 + 3);
    return [...new Set(findings.map(({ verdict }) => verdict))];
  };

  test.each([
    ['a warehouse that prunes', {}, ['prunes']],
    [
      'one that prunes by literals, and not by what the saved queries say',
      { prunes: false },
      ['reads everything'],
    ],
    ['tables without partitions', { isPartitioned: false }, ['cannot tell']],
    ['a server that does not count bytes', { says: false }, ['cannot tell']],
    ['sources without a table', { mapped: false }, ['no table', 'prunes']],
  ])('%s', async (_, warehouse, expected) => {
    expect(await verdicts(warehouse)).toEqual(expected);
  });

  test('asks for both saved queries, both bounds of each subset, and the batch form', async () => {
    const findings = await checkPruning(explainOver({}), definitions, nowMs);
    expect(findings.map(({ query, bound }) => `${query}: ${bound}`)).toEqual(
      expect.arrayContaining([
        'edge_logs: iso_timestamp_start',
        'pgbouncer_logs: iso_timestamp_end',
        'usage.api-counts: minutely',
        'usage.api-counts: hourly',
        'usage.api-counts, batch: hourly',
      ]),
    );
  });
});
