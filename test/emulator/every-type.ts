/** Values of one type. */
type TypedValues = {
  readonly type: string;
  /** As callers send them. */
  readonly texts: readonly string[];
  /** As REST shows them (contract 2.12), in JSON. */
  readonly rest: readonly string[];
};

const same = (type: string, texts: readonly string[]): TypedValues => ({
  type,
  texts,
  rest: texts.map(text => JSON.stringify(text)),
});

/** By column; the ends of each type's range among them, and no JSON: the emulator answers no query of such a column. Source: BigQuery, "Data types". */
export const typedValues = {
  string: same('STRING', ['ä "q"\n007, 😀', ' spaces ', "it's"]),
  bytes: same('BYTES', ['AP8=', '/w==']),
  bool: { type: 'BOOL', texts: ['true', 'false'], rest: ['true', 'false'] },
  int64: {
    type: 'INT64',
    texts: ['-9007199254740993', '9223372036854775807', '-9223372036854775808'],
    rest: ['-9007199254740993', '9223372036854775807', '-9223372036854775808'],
  },
  float64: { type: 'FLOAT64', texts: ['0.1', 'NaN', '-Infinity', '5e-324'], rest: ['0.1', '"NaN"', '"-Infinity"', '5e-324'] },
  numeric: same('NUMERIC', ['-12345678901234567890123456789.123456789', '0.000000001', '1.5']),
  bignumeric: same('BIGNUMERIC', ['-12345678901234567890123456789.123456789', '0.00000000000000000000000000000000000001']),
  timestamp: {
    type: 'TIMESTAMP',
    texts: ['2026-01-15T10:00:00.123456Z', '9999-12-31T23:59:59.999999Z', '0001-01-01T00:00:00Z'],
    rest: ['1768471200123456', '253402300799999999', '-62135596800000000'],
  },
  datetime: {
    type: 'DATETIME',
    texts: ['2026-01-15T10:00:00.5', '9999-12-31T23:59:59.999999', '0001-01-01T00:00:00'],
    rest: ['"2026-01-15T10:00:00.500000"', '"9999-12-31T23:59:59.999999"', '"0001-01-01T00:00:00"'],
  },
  date: same('DATE', ['2026-01-15', '9999-12-31', '0001-01-01']),
  time: { type: 'TIME', texts: ['10:00:00.5', '23:59:59.999999', '00:00:00'], rest: ['"10:00:00.500000"', '"23:59:59.999999"', '"00:00:00"'] },
} as const satisfies Record<string, TypedValues>; // biome-ignore format: a table

export type TypedColumn = keyof typeof typedValues;

/** A value that the emulator, version as in `emulator-binary.ts`, gets wrong: as what it shows one that was stored, and one that was sent. */
type Fault = { readonly stored?: string | 'refused'; readonly sent?: string | 'refused' };

/** Its faults by column and place; we pass its answers on. */
export const faults: { readonly [column in TypedColumn]?: Readonly<Record<number, Fault>> } = {
  float64: { 1: { stored: 'null', sent: 'null' }, 2: { stored: 'refused' } },
  // A parameter comes back as a TIMESTAMP.
  datetime: {
    0: { stored: '"2026-01-15T10:00:00.5"', sent: '1768471200500000' },
    1: { sent: '253402300799999999' },
    2: { sent: '-62135596800000000' },
  },
  time: { 0: { stored: '"10:00:00.5"', sent: '"10:00:00.5"' } },
};
