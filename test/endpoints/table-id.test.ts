import { expect, test } from 'vitest';
import { parseTableId } from '../../src/endpoints/table-id.ts';

test.each([
  ['acme-logs.prod.edge', { project: 'acme-logs', dataset: 'prod', table: 'edge' }],
  ['example.com:logs.prod.edge-1', { project: 'example.com:logs', dataset: 'prod', table: 'edge-1' }],
  ['prod.edge', undefined],
  ['acme.prod-1.edge', undefined],
  ['acme.prod.edge.', undefined],
  ['Acme.prod.edge', undefined],
])('the table %j', (text, expected) => {
  expect(parseTableId(text)).toEqual(expected);
});
