import { expect, test } from 'vitest';
import { BigQueryFailure } from '../../src/bigquery/answers/bigquery-failure.ts';
import { missingColumn } from '../../src/bigquery/missing-column.ts';
import { sourceCatalog } from '../../src/bigquery/source-catalog.ts';

const catalog = sourceCatalog([
  {
    name: 'edge',
    columns: {
      id: 'STRING',
      timestamp: 'TIMESTAMP',
      metadata: [{ id: 'STRING', path: 'STRING', request: [{ path: 'STRING', 'user-agent': 'STRING' }] }],
    },
  },
  { name: 'audit', columns: { id: 'STRING', timestamp: 'TIMESTAMP', who: 'STRING' } },
]);
const reads = [
  { source: 'edge', lines: { first: 1, last: 4 } },
  { source: 'audit', lines: { first: 5, last: Infinity } },
];
const find = (message: string, reason = 'invalidQuery') =>
  missingColumn(new BigQueryFailure(reason, message), { catalog, reads });

// Messages of GoogleSQL's analyzer.
test.each([
  ['Unrecognized name: who at [7:3]', 'audit', 'who'],
  ['Unrecognized name: WHO; Did you mean why? at [7:3]', 'audit', 'who'],
  ['Unrecognized name: `user-agent` at [2:3]', 'edge', 'metadata.request.user-agent'],
  ['Name request not found inside m at [2:3]', 'edge', 'metadata.request'],
  ['Field name id does not exist in STRUCT<path STRING> at [2:3]', 'edge', 'metadata.id'],
  ['Field name path does not exist in STRUCT<id STRING> at [2:3]', 'edge', 'path'],
  ['Column id in USING clause not found on left side of join at [6:3]', 'audit', 'id'],
  // A subset shows it by `select *`, and the statement behind misses it.
  ['Unrecognized name: request at [9:1]', 'edge', 'metadata.request'],
  ['Unrecognized name: id at [2:3]', 'edge', 'id'],
  ['Unrecognized name: id at [6:3]', 'audit', 'id'],
])('%s', (message, source, column) => {
  expect(find(message)).toEqual({ source, column });
});

test.each([
  'Unrecognized name: nobody_has_it at [1:1]',
  'Syntax error: Unexpected identifier "who" at [1:1]',
  'No matching signature for operator > for argument types: STRING, TIMESTAMP at [1:1]',
])('says nothing of other failures: %s', message => {
  expect(find(message)).toBeUndefined();
});
