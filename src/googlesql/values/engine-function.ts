/** Maximum characters or bytes of a value that a function makes. BigQuery's own limit. */
export const maxOutputLength = 1_048_576;

/** Maximum elements of an array that a function makes. BigQuery's own limit. */
export const maxElements = 1_048_575;

/** Maximum characters of the format of a CAST: what BigQuery's FORMAT takes. */
export const maxFormatLength = 1_048_576;

/** A type of DuckDB that goes in or comes out: NUMERIC as a whole number of billionths, BYTES as they are. */
export type ValueType = ScalarType | `ARRAY<${Exclude<ScalarType, 'BOOL'>}>`;

type ScalarType = 'STRING' | 'BYTES' | 'BOOL' | 'INT64' | 'FLOAT64' | 'NUMERIC';

/** A value of such a type. */
export type EngineValue = string | Uint8Array | boolean | bigint | number | null | readonly EngineValue[];

/**
 * Functions that run in the engine process, by signature: `bq_numeric_divide(NUMERIC, NUMERIC) NUMERIC`. They are pure, throw an Error
 * with BigQuery's message, and are not called where an argument is NULL.
 */
// A caller passes what the signature says; TypeScript cannot read it.
export type EngineFunctions = Readonly<Record<string, (...values: never[]) => EngineValue>>;
