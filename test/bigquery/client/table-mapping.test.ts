import { expect, test } from 'vitest';
import { readTableMapping } from '../../../src/bigquery/client/table-mapping.ts';

test('reads assignments of tables to sources, dots and dashes included', () => {
  expect(readTableMapping(['storage.logs.prod.2=acme.com:prod.logs.storage-2', 'a = b-1.c.d'])).toEqual(
    new Map([
      ['storage.logs.prod.2', { project: 'acme.com:prod', dataset: 'logs', table: 'storage-2' }],
      ['a', { project: 'b-1', dataset: 'c', table: 'd' }],
    ]),
  );
});

test.each(['logs', 'logs=', 'logs=dataset.table', 'logs=p.d.t`; drop table x', '=p-1.d.t'])(
  'says what an assignment is: %s',
  text => {
    expect(() => readTableMapping([text])).toThrow('allowed: source=project.dataset.table');
  },
);

test('refuses two tables for one source', () => {
  expect(() => readTableMapping(['a=proj.d.t', 'a=proj.d.u'])).toThrow('a is assigned twice');
});
