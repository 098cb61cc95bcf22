/** By column: its type, and its values in three rows, as JSON lines have them. Sources: BigQuery, "Data types", for the ends of ranges. */
const given = {
  s: ['STRING', 'ä "q"\n007, 😀', ' spaces ', 'NULL'],
  b: ['BYTES', 'AP8=', '/w==', 'AA=='],
  o: ['BOOL', true, false, true],
  i: ['INT64', '-9007199254740993', '9223372036854775807', '-9223372036854775808'],
  f: ['FLOAT64', 0.1, 'NaN', '-Infinity'],
  g: ['FLOAT64', -1.7976931348623157e308, 5e-324, 2],
  n: ['NUMERIC', '-12345678901234567890123456789.123456789', '99999999999999999999999999999.999999999', '0.000000001'],
  m: ['BIGNUMERIC', '1.5', '-12345678901234567890123456789.123456789', '0'],
  t: ['TIMESTAMP', '2026-01-15T10:00:00.123456Z', '9999-12-31T23:59:59.999999Z', '0001-01-01T00:00:00Z'],
  d: ['DATETIME', '2026-01-15T10:00:00.5', '9999-12-31T23:59:59.999999', '0001-01-01T00:00:00'],
  y: ['DATE', '2026-01-15', '9999-12-31', '0001-01-01'],
  c: ['TIME', '10:00:00.5', '23:59:59.999999', '00:00:00'],
  j: ['JSON', { a: [1, null], b: 'x' }, [], { n: 1.5 }],
} as const; // biome-ignore format: a table

/** The same values as REST shows them, where that differs (contract 2.12). */
const shownByRest: Readonly<Record<string, readonly string[]>> = {
  i: ['-9007199254740993', '9223372036854775807', '-9223372036854775808'],
  t: ['1768471200123456', '253402300799999999', '-62135596800000000'],
  d: ['"2026-01-15T10:00:00.500000"', '"9999-12-31T23:59:59.999999"', '"0001-01-01T00:00:00"'],
  c: ['"10:00:00.500000"', '"23:59:59.999999"', '"00:00:00"'],
  j: [String.raw`"{\"a\":[1,null],\"b\":\"x\"}"`, '"[]"', String.raw`"{\"n\":1.5}"`],
};

/** And as GraphQL shows them. */
const shownByGraphql: Readonly<Record<string, readonly string[]>> = {
  t: ['"2026-01-15T10:00:00.123456Z"', '"9999-12-31T23:59:59.999999Z"', '"0001-01-01T00:00:00Z"'],
  d: ['"2026-01-15T10:00:00.500000Z"', '"9999-12-31T23:59:59.999999Z"', '"0001-01-01T00:00:00Z"'],
  j: ['{"a":[1,null],"b":"x"}', '[]', '{"n":1.5}'],
};

export const typedColumns = Object.keys(given) as (keyof typeof given)[];

const typeOf = (name: keyof typeof given) => given[name][0];
const givenValue = (name: keyof typeof given, at: number) => given[name][at + 1];

/** The columns of a source that has each type alone, as an array, and within records. */
export const typedSource = (name: string, more = '') => `name: ${name}
${more}columns:
  id: { type: INT64, required: true, description: Its number. }
${typedColumns.map(column => `  ${column}: ${typeOf(column)}`).join('\n')}
${typedColumns.map(column => `  ${column}_list: { type: ${typeOf(column)}, repeated: true }`).join('\n')}
  one: { type: STRUCT, fields: { x: DATE, y: { type: NUMERIC, repeated: true } } }
  many: { type: STRUCT, repeated: true, fields: { x: DATE, in: { type: STRUCT, fields: { z: INT64 } } } }
`;

/** A saved query that shows all of such a source. */
export const typedQuery = (name: string, source: string, digit: number) => `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b5d0${digit}
name: ${name}
description: Rows.
columns:
  id: { type: INT64, required: true, description: Its number. }
${typedColumns.map(column => `  ${column}: { type: ${typeOf(column)}, description: One. }`).join('\n')}
${typedColumns.map(column => `  ${column}_list: { type: ${typeOf(column)}, repeated: true, description: Many. }`).join('\n')}
  one: { type: STRUCT, description: A record. }
  many: { type: STRUCT, repeated: true, description: Records. }
*/
select * from \`${source}\` order by id`;

/** Three rows with values, and one with none. */
export const typedRows: readonly object[] = [
  ...[0, 1, 2].map(at => ({
    id: at + 1,
    ...Object.fromEntries(typedColumns.map(name => [name, givenValue(name, at)])),
    ...Object.fromEntries(
      typedColumns.map(name => [`${name}_list`, [givenValue(name, at), givenValue(name, 0)]]),
    ),
    one: { x: '2026-01-15', y: ['1.5', '2'] },
    many: [
      { x: '2026-01-15', in: { z: at } },
      { x: null, in: null },
    ],
  })),
  { id: 4 },
];

const shown = (forms: typeof shownByRest, name: keyof typeof given, at: number) =>
  (forms[name] ?? shownByRest[name])?.[at] ?? JSON.stringify(givenValue(name, at));

/** A row as one handler shows it, as JSON text: integers have digits that no number of JavaScript has. */
function rowText(forms: typeof shownByRest, at: number): string {
  const scalars = typedColumns.map(name => `"${name}":${shown(forms, name, at)}`);
  const lists = typedColumns.map(
    name => `"${name}_list":[${shown(forms, name, at)},${shown(forms, name, 0)}]`,
  );
  const records = `"one":{"x":"2026-01-15","y":["1.5","2"]},"many":[{"x":"2026-01-15","in":{"z":${at}}},{"x":null,"in":null}]`;
  return `{"id":${at + 1},${[...scalars, ...lists].join(',')},${records}}`;
}

const emptyText = `{"id":4,${typedColumns.map(name => `"${name}":null`).join(',')},${typedColumns.map(name => `"${name}_list":[]`).join(',')},"one":null,"many":[]}`;

/** The rows as REST and GraphQL show them. */
export const restRows = [...[0, 1, 2].map(at => rowText({}, at)), emptyText];
export const graphqlRows = [...[0, 1, 2].map(at => rowText(shownByGraphql, at)), emptyText].map(row =>
  row.replaceAll('_list"', 'List"'),
);

/** All fields of the saved query, in its columns' order. */
export const graphqlFields = [
  'id',
  ...typedColumns,
  ...typedColumns.map(name => `${name}List`),
  'one',
  'many',
].join(' ');
