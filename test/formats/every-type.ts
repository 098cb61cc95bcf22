import type { Column } from '../../src/base/rows.ts';

const nullable = (name: string, type: Column['type'], fields?: readonly Column[]): Column => ({
  name,
  type,
  mode: 'NULLABLE',
  ...(fields && { fields }),
});
const repeated = (name: string, type: Column['type'], fields?: readonly Column[]): Column => ({
  ...nullable(name, type, fields),
  mode: 'REPEATED',
});

/** A result with a column of every type of BigQuery. */
export const columns: readonly Column[] = [
  nullable('n', 'INT64'),
  nullable('text', 'STRING'),
  nullable('whole', 'INT64'),
  nullable('part', 'FLOAT64'),
  nullable('yes', 'BOOL'),
  nullable('bytes', 'BYTES'),
  nullable('exact', 'NUMERIC'),
  nullable('longer', 'BIGNUMERIC'),
  nullable('instant', 'TIMESTAMP'),
  nullable('civil', 'DATETIME'),
  nullable('day', 'DATE'),
  nullable('hour', 'TIME'),
  nullable('json', 'JSON'),
  nullable('record', 'STRUCT', [
    nullable('least', 'INT64'),
    repeated('list', 'STRING'),
    nullable('earliest', 'TIMESTAMP'),
  ]),
  repeated('numbers', 'INT64'),
  repeated('records', 'STRUCT', [
    nullable('key', 'STRING'),
    repeated('decimals', 'NUMERIC'),
    nullable('inner', 'STRUCT', [nullable('day', 'DATE')]),
  ]),
];

/** Its rows: values with all digits that the types have, nothing but NULL, and the ends of the ranges. */
export const rowLines = [
  String.raw`{"n":1,"text":"hé\"llo,\r\n😀","whole":9007199254740993,"part":1.5,"yes":true,"bytes":"AP8=","exact":"12345678901234567890123456789.123456789","longer":"578960446186580977117854925043439539266.34992332820282019728792003956564819967","instant":1768471200123456,"civil":"2026-01-15T10:00:00.000001","day":"2026-01-15","hour":"10:00:00.5","json":"{\"a\":[1,2]}","record":{"least":-9223372036854775808,"list":["p",""],"earliest":-62135596800000000},"numbers":[1,9223372036854775807],"records":[{"key":"x","decimals":["-0.5","0"],"inner":{"day":"0001-01-01"}},{"key":null,"decimals":[],"inner":null}]}`,
  `{"n":2,"text":null,"whole":null,"part":null,"yes":null,"bytes":null,"exact":null,"longer":null,"instant":null,"civil":null,"day":null,"hour":null,"json":null,"record":null,"numbers":[],"records":[]}`,
  `{"n":3,"text":"","whole":-1,"part":"NaN","yes":false,"bytes":"","exact":"-99999999999999999999999999999.999999999","longer":"0","instant":253402300799999999,"civil":"0001-01-01T00:00:00","day":"9999-12-31","hour":"23:59:59.999999","json":"null","record":{"least":null,"list":[],"earliest":-1},"numbers":[0],"records":[{"key":"","decimals":["1.25"],"inner":{"day":null}}]}`,
];

/** `{"result":[…]}` with these rows. */
export const bodyOf = (lines: readonly string[]) => Buffer.from(`{"result":[${lines.join(',')}]}`);
