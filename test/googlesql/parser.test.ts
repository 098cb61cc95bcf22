import { expect, it } from 'vitest';
import { parseQuery } from '../../src/googlesql/syntax/parse-query.ts';

it('binds AND tighter than OR, and NOT tighter than both', () => {
  const { body } = parseQuery('select not a and b or c');
  expect(body).toMatchObject({
    items: [
      {
        expression: {
          operator: 'OR',
          left: { operator: 'AND', left: { kind: 'unary', operator: 'NOT' } },
        },
      },
    ],
  });
});

it('tells a parenthesised join from a derived table', () => {
  const kinds = [
    '(a join b on true)',
    '(select 1)',
    '((select 1) x join b on true)',
    '((select 1) union all (select 2))',
  ];
  const found = kinds.map(text => {
    const { body } = parseQuery(`select 1 from ${text}`);
    return body.kind === 'select' ? body.from?.kind : undefined;
  });
  expect(found).toEqual(['join', 'derived', 'join', 'derived']);
});

it('takes a comma after the last item and one semicolon', () => {
  expect(() => parseQuery('select a, from t;')).not.toThrow();
});

it('reads a table name with dashes', () => {
  const { body } = parseQuery('select 1 from my-project.data.logs');
  expect(body).toMatchObject({
    from: { path: [{ name: 'my-project' }, { name: 'data' }, { name: 'logs' }] },
  });
});

it.each([
  ['', 'Syntax error: Unexpected end of script at [1:1]'],
  ['select', 'Syntax error: Unexpected end of script at [1:7]'],
  ['select 1 from', 'Syntax error: Expected table name but got end of script at [1:14]'],
  ['select (1', 'Syntax error: Expected ")" but got end of script at [1:10]'],
  ['select a = b = c', 'Syntax error: Unexpected "=" at [1:14]'],
  ['select 1 from a pivot (x)', 'Syntax error: Expected keyword FOR but got ")" at [1:25]'],
  ["select '1'::int64", 'Type not found: int64 at [1:13]'],
  ['select (k).grouping() from t', 'Function GROUPING does not support chained function calls at [1:12]'],
  ['select (a).count(*) from t', 'Syntax error: Unexpected "*" at [1:18]'],
  ['select (a).(b) from t', 'Syntax error: Expected "(" but got keyword FROM at [1:16]'],
  ['select (a).( ) from t', 'Syntax error: Expected identifier but got ")" at [1:14]'],
  [
    "select now - interval '1 day' as t",
    'Syntax error: Expected a part such as DAY after the value of INTERVAL but got keyword AS at [1:31]',
  ],
  ['select a: :text from t', 'Syntax error: Expected end of input but got ":" at [1:9]'],
  ['select cast(a as geography)', 'Type not found: geography at [1:18]'],
])('refuses %j with what it met and where', (text, message) => {
  expect(() => parseQuery(text)).toThrow(expect.objectContaining({ code: 'invalid_query', message }));
});

it.each([
  ['select 1;\nselect 2', 'Only one statement is allowed at [2:1]'],
  ['with a as (select 1) delete from t', 'Only a query is allowed, not DELETE at [1:22]'],
  ['select 1 from t for system_time as of x', 'FOR SYSTEM_TIME AS OF is not supported at [1:17]'],
  ['select 1 from t_*', 'Wildcard tables are not supported at [1:15]'],
  ['select 1 from f(1)', 'Table-valued function not found: f at [1:15]'],
  ['select @@project_id', 'System variables are not supported: @@project_id at [1:8]'],
])('refuses %j as a reach out of the query', (text, message) => {
  expect(() => parseQuery(text)).toThrow(expect.objectContaining({ code: 'sandbox_refused', message }));
});

it('refuses nesting without end, however it nests, in an instant', () => {
  for (const open of ['(', 'not ', '- ', 'select (', 'select 1 from (']) {
    const text = `${open.startsWith('select') ? '' : 'select '}${open.repeat(5000)}1`;
    expect(() => parseQuery(text)).toThrow(/nested too deeply/);
  }
});

it('finds where brackets close behind a type that closes two at once', () => {
  const type = 'array<struct<a array<int64>>>';
  const inner = `((select 1 as v) z join ((select cast([] as ${type})) union all (select [])) q on true)`;
  const text = `select 1 from ((select cast([] as ${type}) as x) y join ${inner} on true)`;
  expect(parseQuery(text).body).toMatchObject({
    from: {
      kind: 'join',
      left: { kind: 'derived', alias: { name: 'y' } },
      right: {
        kind: 'join',
        left: { kind: 'derived', alias: { name: 'z' } },
        right: { kind: 'derived', alias: { name: 'q' }, query: { body: { kind: 'setOperation' } } },
      },
    },
  });
});
