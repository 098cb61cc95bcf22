import fc from 'fast-check';
import { expect, test } from 'vitest';
import { finishRow } from '../../../src/googlesql/printer/finish-row.ts';
import { arrayOf, type SqlType, scalar } from '../../../src/googlesql/tree/types.ts';
import { finalShape, storedRecordShape, type WireShape } from '../../../src/googlesql/tree/wire-shape.ts';

/** A value of a shape twice: as DuckDB's to_json writes it, and as the wire has it. */
type Twice = { readonly stored: string; readonly wire: string };

const same = (json: string): Twice => ({ stored: json, wire: json });

/** JSON that must be copied byte for byte, whatever looks like structure inside it. */
const scalarJson = fc.oneof(
  fc.string({ unit: 'binary' }).map(text => JSON.stringify(text.toWellFormed())),
  fc.constantFrom('"{\\"_p\\":true,"', '"\\\\"', '"\\\\\\""', '"]},{["', '""', '"null"'),
  fc.constantFrom('null', 'true', 'false', '9223372036854775807', '-0', '1768471200123456', '-1.5e-300'),
);

const key = fc.string({ minLength: 1 }).map(text => JSON.stringify(text));

/** A record's keys and values under a shape. */
const fieldsOf = (shapes: readonly WireShape[]): fc.Arbitrary<Twice> =>
  fc.tuple(...shapes.map(shape => fc.tuple(key, valuesOf(shape)))).map(fields => ({
    stored: fields.map(([name, { stored }]) => `${name}:${stored}`).join(','),
    wire: fields.map(([name, { wire }]) => `${name}:${wire}`).join(','),
  }));

function valuesOf(shape: WireShape): fc.Arbitrary<Twice> {
  const none = fc.constant({ stored: 'null', wire: '[]' });
  switch (shape.kind) {
    case 'final':
      return fc.oneof(scalarJson.map(same), fc.constant(same('[{"a":[1,"]"]},{}]')));
    case 'list':
      return fc.oneof(
        none,
        fc.array(scalarJson).map(items => same(`[${items.join(',')}]`)),
      );
    case 'record':
      return fc.oneof(
        none,
        fieldsOf(shape.fields).map(({ stored, wire }) => ({
          stored: `{"_p":true,${stored}}`,
          wire: `[{${wire}}]`,
        })),
      );
    case 'records':
      return fc.oneof(
        none,
        fc.array(fieldsOf(shape.fields), { maxLength: 3 }).map(list => ({
          stored: `[${list.map(({ stored }) => `{"_p":true,${stored}}`).join(',')}]`,
          wire: `[${list.map(({ wire }) => `{${wire}}`).join(',')}]`,
        })),
      );
  }
}

const shapes: fc.Arbitrary<WireShape> = fc.letrec<{ shape: WireShape }>(tie => ({
  shape: fc.oneof(
    { maxDepth: 3 },
    fc.constant(finalShape),
    fc.constant<WireShape>({ kind: 'list' }),
    fc.record({
      kind: fc.constantFrom('record' as const, 'records' as const),
      fields: fc.array(tie('shape'), { minLength: 1, maxLength: 4 }),
    }),
  ),
})).shape;

test('unwraps stored records at any depth and copies all else byte for byte', () => {
  const row = fc
    .array(shapes, { minLength: 1, maxLength: 4 })
    .chain(columns => fc.tuple(fc.constant(columns), fieldsOf(columns)));
  fc.assert(
    fc.property(row, ([columns, { stored, wire }]) => {
      expect(finishRow(`{${stored}}`, columns)).toBe(`{${wire}}`);
    }),
    { numRuns: 500 },
  );
});

const record = (single: boolean, ...types: SqlType[]): SqlType => ({
  kind: 'ARRAY',
  single,
  element: { kind: 'STRUCT', presence: true, fields: types.map((type, n) => ({ name: `f${n}`, type })) },
});

test('a stored record whose leaves DuckDB writes as the wire has them is left to DuckDB', () => {
  const type = record(true, scalar('STRING'), arrayOf(scalar('INT64')), record(false, scalar('BOOL')));
  expect(storedRecordShape(type)).toEqual({
    kind: 'record',
    fields: [finalShape, { kind: 'list' }, { kind: 'records', fields: [finalShape] }],
  });
});

test.each<[string, SqlType]>([
  ['a timestamp', record(true, scalar('TIMESTAMP'))],
  ['a float, which may be NaN', record(true, record(true, scalar('FLOAT64')))],
  ['bytes in a list', record(true, arrayOf(scalar('BYTES')))],
  ['a record without its presence leaf', arrayOf({ kind: 'STRUCT', presence: false, fields: [] })],
  ['no record at all', arrayOf(scalar('STRING'))],
  ['a scalar', scalar('STRING')],
])('%s is converted in SQL', (_what, type) => {
  expect(storedRecordShape(type)).toBeUndefined();
});
