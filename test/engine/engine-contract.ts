import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, RunOptions, Statement } from '../../src/engine/engine.ts';
import { startLoopClock } from '../support/loop-clock.ts';

export type OpenedEngine = { readonly engine: Engine; close(): Promise<void> };

/** Edge rows that every engine under test has: the project `ours` at three minutes, `theirs` at one. */
export const contractRows = [
  { id: 'a', timestamp: '2026-01-15T10:00:00.000001Z', project: 'ours' },
  { id: 'b', timestamp: '2026-01-15T10:01:00.999999Z', project: 'ours' },
  { id: 'c', timestamp: '2026-01-15T10:02:00Z', project: 'ours' },
  { id: 'd', timestamp: '2026-01-15T10:02:00Z', project: 'theirs' },
];

const saved = `with logs as (
  select id, timestamp, metadata from \`cloudflare.logs.prod\` where project = @project -- of one project
)
select id from logs order by id`;

/** What every engine does for the gateway, whatever runs behind it. */
export function engineContract(open: () => Promise<OpenedEngine>): void {
  let opened: OpenedEngine;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.close());

  const project = { name: 'project', value: 'ours' };
  function run(sql: string, more: Partial<Statement> = {}, options: Partial<RunOptions> = {}) {
    const statement = { endpoint: 'contract', sql, parameters: [], maxRows: 1000, ...more };
    const signal = new AbortController().signal;
    return opened.engine.run(statement, { signal, timeoutMs: 20_000, ...options });
  }
  const rowsOf = async (...asked: Parameters<typeof run>) => {
    const text = (await run(...asked)).rowsJson.toString();
    // The bytes are compared, and they are JSON.
    JSON.parse(text);
    return text;
  };
  const caller = (callerSql: string) => rowsOf(saved, { callerSql, parameters: [project] });

  test.each([
    ['INT64', 'cast(9007199254740993 as int64)', '9007199254740993'],
    ['INT64, the least', '-9223372036854775807 - 1', '-9223372036854775808'],
    ['FLOAT64', 'cast(1.5 as float64)', '1.5'],
    ['FLOAT64 that is none', "cast('nan' as float64)", '"NaN"'],
    ['FLOAT64 without end', "cast('-inf' as float64)", '"-Infinity"'],
    ['BOOL', 'true', 'true'],
    ['STRING', "'ä\"\\n\\\\'", '"ä\\"\\n\\\\"'],
    ['BYTES', "b'\\x00\\xff'", '"AP8="'],
    ['NUMERIC', "numeric '1.50'", '"1.5"'],
    ['DATE', "date '2026-01-15'", '"2026-01-15"'],
    ['TIME', "time '10:00:00.5'", '"10:00:00.500000"'],
    ['DATETIME', "datetime '2026-01-15 10:00:00'", '"2026-01-15T10:00:00"'],
    ['TIMESTAMP', "timestamp '2026-01-15 10:00:00.000001+00'", '1768471200000001'],
    ['TIMESTAMP before 1970', "timestamp '1969-12-31 23:59:59.999999+00'", '-1'],
    ['NULL', 'cast(null as string)', 'null'],
    ['ARRAY', '[1, 2]', '[1,2]'],
    ['empty ARRAY', 'array<string>[]', '[]'],
    ['STRUCT', "struct(1 as a, 'x' as b)", '{"a":1,"b":"x"}'],
    ['ARRAY of STRUCT', "[struct(1 as a, ['x'] as b)]", '[{"a":1,"b":["x"]}]'],
  ])('contract 2.12: %s has its wire form', async (_, sql, json) => {
    expect(await rowsOf(`select ${sql} as v`)).toBe(`[{"v":${json}}]`);
  });

  test('contract 2.11, 2.13: nested records of a log row are arrays, and absent fields are there as null', async () => {
    const rows = JSON.parse(
      await rowsOf(`${saved.replace('select id from', 'select id, metadata from')} limit 1`, {
        parameters: [project],
      }),
    );
    expect(rows[0].metadata[0].request[0]).toMatchObject({ method: 'GET', search: null, headers: [] });
    expect(rows[0].metadata[0].response[0].status_code).toBe(200);
  });

  test('parameters are bound as they are: text, NULL, lists', async () => {
    const parameters = [
      { name: 'text', value: 'it\'s `@x` \\ "ä"' },
      { name: 'none', value: null },
      { name: 'list', value: ['b', "'", ''] },
    ];
    const sql =
      'select @text as t, @none is null as n, array(select x from unnest(@list) as x order by x) as l';
    expect(JSON.parse(await rowsOf(sql, { parameters }))).toEqual([
      { t: parameters[0]!.value, n: true, l: ['', "'", 'b'] },
    ]);
  });

  test.each([
    ['STRING', 'ä', 'upper(@v)', '"Ä"'],
    ['BYTES', 'AP8=', '@v', '"AP8="'],
    ['BOOL', 'false', 'not @v', 'true'],
    ['INT64', '-9223372036854775808', '@v + 1', '-9223372036854775807'],
    ['FLOAT64', '0.1', '@v', '0.1'],
    ['FLOAT64', '-Infinity', '@v', '"-Infinity"'],
    ['NUMERIC', '-99999999999999999999999999999.999999999', '@v', '"-99999999999999999999999999999.999999999"'],
    ['BIGNUMERIC', '0.000000001', '@v', '"0.000000001"'],
    ['TIMESTAMP', '0001-01-01T00:00:00.000000Z', '@v', '-62135596800000000'],
    ['DATETIME', '9999-12-31T23:59:59.999999', '@v', '"9999-12-31T23:59:59.999999"'],
    ['DATE', '2024-02-28', 'date_add(@v, interval 1 day)', '"2024-02-29"'],
    ['TIME', '23:59:59.5', '@v', '"23:59:59.500000"'],
    ['JSON', '{"a":[1,"x"]}', 'json_value(@v, \'$.a[1]\')', '"x"'],
  ] as const)('contract 10.3: a %s parameter is a value of its type, alone and in an array', async (type, value, sql, json) => {
    const one = [{ name: 'v', type, value }];
    expect(await rowsOf(`select ${sql} as v`, { parameters: one })).toBe(`[{"v":${json}}]`);
    const many = [{ name: 'vs', type, value: [value, value] }, { name: 'none', type, value: [] }];
    const each = `select ${sql.replaceAll('@v', 'v')} as v from unnest(@vs) as v`;
    expect(await rowsOf(each, { parameters: many })).toBe(`[{"v":${json}},{"v":${json}}]`);
    expect(await rowsOf('select array_length(@none) as n', { parameters: many })).toBe('[{"n":0}]');
    const nothing = [{ name: 'v', type, value: null }];
    expect(await rowsOf('select @v is null as v', { parameters: nothing })).toBe('[{"v":true}]');
  }); // biome-ignore format: a table

  test('max rows cut off what is beyond, over pages too', async () => {
    const sql = 'select n from unnest(generate_array(1, 25)) as n order by n';
    const { rowsJson, rowCount, isTruncated } = await run(sql, { maxRows: 17 });
    expect([rowCount, JSON.parse(rowsJson.toString()).length, isTruncated]).toEqual([17, 17, true]);
    expect(JSON.parse(await rowsOf(sql)).map(({ n }: { n: number }) => n)).toEqual(
      Array.from({ length: 25 }, (_, n) => n + 1),
    );
  });

  test.each([
    [24, true],
    [25, false],
    [26, false],
  ])('contract 2.14: 25 rows of which at most %i are wanted: cut is %s', async (maxRows, isCut) => {
    const { rowCount, isTruncated } = await run('select n from unnest(generate_array(1, 25)) as n', {
      maxRows,
    });
    expect([rowCount, isTruncated]).toEqual([Math.min(maxRows, 25), isCut]);
  });

  describe("a caller's SQL", () => {
    test.each([
      ['reads a subset', 'select id from logs order by id', '[{"id":"a"},{"id":"b"},{"id":"c"}]'],
      [
        'has subsets of its own',
        'with last as (select max(id) as id from logs) select id from last',
        '[{"id":"c"}]',
      ],
      ['hides a saved subset', "with logs as (select 'mine' as id) select id from logs", '[{"id":"mine"}]'],
      ['ends with a semicolon and a comment', 'select count(*) as n from logs; -- that is all', '[{"n":3}]'],
    ])('%s', async (_, callerSql, rows) => {
      expect(await caller(callerSql)).toBe(rows);
    });

    test.each([
      ['a source', 'select id from `cloudflare.logs.prod`'],
      ['a table of the warehouse', 'select id from `acme.logs.edge`'],
      ['another statement', 'select 1; select 2'],
    ])('is refused for %s', async (_, callerSql) => {
      await expect(caller(callerSql)).rejects.toMatchObject({ status: 400 });
    });

    test('gets line and column of its own text', async () => {
      await expect(caller('select id,\n  nope\nfrom logs')).rejects.toMatchObject({
        code: 'invalid_query',
        position: { line: 2, column: 3 },
      });
    });
  });

  test('contract 11.2: a text that was refused is not compiled again, whoever sends it', async () => {
    const refusal = (sql: string, caller: string) =>
      run(sql, {}, { caller }).then(
        () => undefined,
        (error: unknown) => error,
      );
    const first = await refusal('select nope', 'one');
    expect(first).toMatchObject({ code: 'invalid_query' });
    // One and the same error: it was kept.
    expect(await refusal('select nope', 'other')).toBe(first);
    const { signal } = new AbortController();
    const check = opened.engine.check({ sql: 'select nope', parameters: [] }, { signal, caller: 'one' });
    await expect(check).rejects.toMatchObject({ code: 'invalid_query' });
    expect(await refusal('select nope2', 'one')).not.toBe(first);
  });

  test('a query that fails while it runs is a failure of the query', async () => {
    await expect(run("select cast('x' as int64) as n")).rejects.toMatchObject({ status: 400 });
  });

  const endless =
    'select count(*) as n from unnest(generate_array(1, 100000)) as a, unnest(generate_array(1, 100000)) as b, unnest(generate_array(1, 1000)) as c where a + b + c > 0';

  test('a deadline ends a query in time', async () => {
    const tookMs = startLoopClock();
    await expect(run(endless, {}, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'deadline_exceeded' });
    expect(tookMs()).toBeLessThan(300 + 2000);
  });

  test('a caller that leaves ends its query', async () => {
    const caller = new AbortController();
    const running = run(endless, {}, { signal: caller.signal });
    setTimeout(() => caller.abort(new Error('gone')), 50);
    await expect(running).rejects.toThrow();
  });

  test('a statement is described and explained without being run', async () => {
    const sql = 'select id, timestamp from `cloudflare.logs.prod` where project = @project';
    const columns = [
      { name: 'id', type: 'STRING', mode: 'NULLABLE' },
      { name: 'timestamp', type: 'TIMESTAMP', mode: 'NULLABLE' },
    ];
    expect(await opened.engine.describe({ sql, parameters: [project] })).toEqual(columns);
    const statement = { endpoint: 'contract', sql, parameters: [project], maxRows: 1 };
    const options = { signal: new AbortController().signal, timeoutMs: 5000 };
    expect(await opened.engine.explain(statement, options)).toMatchObject({
      columns,
      sources: ['cloudflare.logs.prod'],
    });
  });
}
