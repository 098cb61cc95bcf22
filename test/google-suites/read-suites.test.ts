import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReferenceServer, startReferenceServer } from '../oracle/reference-server.ts';
import { openSmallEngine } from '../oracle/small-engine.ts';
import { judgeCase } from './judge-case.ts';
import { readFile } from './read-compliance.ts';
import { readPage } from './read-documentation.ts';
import type { SuiteCase } from './suite-case.ts';

const fence = '```';

const page = `
# Fruits
${fence}googlesql
WITH fruits AS (SELECT 'pear' AS name, 2.5 AS kilos, [1, 2] AS days UNION ALL SELECT 'a|b', NULL, [3])
SELECT * FROM fruits ORDER BY kilos DESC;

/*------+-------+--------+
 | name | kilos | days   |
 +------+-------+--------+
 | pear | 2.5   | [1, 2] |
 +------+-------+--------*/
${fence}
Later examples read the same fruits.
${fence}googlesql
SELECT name FROM fruits WHERE kilos > 2

/*------+
 | name |
 +------+
 | plum |
 +------*/
SELECT RAND() AS r

/*---+
 | r |
 +---+
 | 1 |
 +---*/
${fence}
`;

const file = `
[prepare_database]
CREATE TABLE Fruits AS
SELECT CAST(1 AS INT64) AS id, "pe\\"ar" AS name, CAST(2 AS UINT32) AS lost
--
ARRAY<STRUCT<id INT64, name STRING, lost UINT32>>[{1, "pe\\"ar", 2}]
==
# A remark.
[name=plain]
[parameters=5 as p]
SELECT id + @p, [name] AS names, TIMESTAMP '2026-01-01 00:00:00+00' AS t FROM Fruits
--
ARRAY<STRUCT<INT64, names ARRAY<>, t TIMESTAMP>>[{6, ARRAY<STRING>["pe\\"ar"], 2026-01-01 00:00:00+00}]
==
[name=lost_column]
SELECT lost FROM Fruits
--
ARRAY<STRUCT<lost INT64>>[{2}]
==
[name=failing]
SELECT DIV(id, 0) AS v FROM Fruits
--
ERROR: generic::out_of_range: division by zero
==
[name=foreign]
[required_features=UUID_TYPE]
SELECT 1
--
ARRAY<STRUCT<INT64>>[{1}]
==
[name=off_by_one]
SELECT id AS v FROM Fruits
--
ARRAY<STRUCT<v INT64>>[{2}]
==
[name=value_table]
FROM UNNEST([1]) AS v
|> WHERE v > 0
--
ARRAY<INT64>[1]
==
[name=value_table_of_others]
FROM UNNEST([1]) AS v
|> WHERE v > 0
--
ARRAY<INT64>[2]
==
[name=ranges]
SELECT RANGE<DATETIME> '[2026-01-01 10:00:00.5, UNBOUNDED)' AS d, RANGE<TIMESTAMP> '[UNBOUNDED, 2026-01-01 00:00:00+00)' AS t
--
ARRAY<STRUCT<d RANGE<DATETIME>, t RANGE<TIMESTAMP>>>[{[2026-01-01 10:00:00.500, NULL), [NULL, 2026-01-01 00:00:00+00)}]
`;

describe("readers of Google's suites", () => {
  let reference: ReferenceServer;
  beforeAll(async () => {
    reference = await startReferenceServer();
  });
  afterAll(() => reference?.stop());

  async function judgedKinds(cases: readonly SuiteCase[]): Promise<string[]> {
    const tables = cases[0]!.tables;
    const engine = await openSmallEngine(tables);
    await engine.fill(Object.fromEntries(tables.map(table => [table.name, table.rows])));
    const kinds: string[] = [];
    for (const suiteCase of cases) kinds.push((await judgeCase(suiteCase, engine, reference)).kind);
    engine.stop();
    return kinds;
  }

  it('finds queries of a page beside their drawn results, with what earlier ones define', async () => {
    const cases = readPage('fruits.md', page);
    expect(cases.map(({ at, skipped }) => [at, skipped])).toEqual([
      ['fruits.md:7', undefined],
      ['fruits.md:17', undefined],
      ['fruits.md:24', 'another answer each time'],
    ]);
    // The page leaves out a row and names another fruit: the reference says what we say.
    expect(await judgedKinds(cases)).toEqual(['like the reference', 'like the reference', 'skipped']);
    const whole = readPage('fruits.md', page.replace(/ UNION ALL SELECT 'a\|b', NULL, \[3\]/, ''));
    expect((await judgedKinds(whole)).slice(0, 2)).toEqual(['equal', 'like the reference']);
  });

  it('finds queries of a compliance file with their tables, parameters and typed results', async () => {
    const cases = readFile('fruits.test', file);
    expect(cases.map(({ skipped }) => skipped)).toEqual([
      undefined,
      'a table or column of a type that BigQuery lacks',
      undefined,
      'BigQuery lacks UUID_TYPE',
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(await judgedKinds(cases)).toEqual([
      'equal',
      'skipped',
      'equal',
      'skipped',
      'wrong',
      'equal',
      'wrong',
      'equal',
    ]);
  });
});
