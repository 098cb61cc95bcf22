import { expect, test } from 'vitest';
import { convertLayout, firstLayout, listLayout } from '../../src/duckdb/layout.ts';
import type { SourceFields } from '../../src/endpoints/source.ts';

test('a list that becomes a single record is named once, however many fields it has: each name would be another copy of it', () => {
  const names = Array.from({ length: 20 }, (_, n) => `f${n}`);
  const inner = Object.fromEntries(names.map(name => [name, 'STRING' as const]));
  const fields: SourceFields = { outer: [{ ...inner, within: [inner] }] };
  const [[from], [to]] = [listLayout(fields), firstLayout(fields)];
  const sql = convertLayout('r.outer', from!.type, to!.type, { isExact: true });
  expect(sql.match(/r\.outer/g)).toHaveLength(1);
  expect(sql.match(/"within"/g)).toHaveLength(1);
});
