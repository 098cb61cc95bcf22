import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DECIMAL,
  DOUBLE,
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDecimalValue,
  type DuckDBListValue,
  DuckDBScalarFunction,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';
import accessors from '@duckdb/node-api/lib/vectors/dataAccessors.js';
import { messageOf } from '../base/errors.ts';
import { failureMark } from '../googlesql/functions/duckdb-macros.ts';
import type { JsonStep } from '../googlesql/json/json-path.ts';
import { readJsonText } from '../googlesql/json/json-text.ts';
import { parseJson } from '../googlesql/json/parse-json.ts';
import { readTemporal } from '../googlesql/times/read-temporal.ts';
import { needZone } from '../googlesql/times/read-zone.ts';
import { engineFunctions } from '../googlesql/values/all-values.ts';
import type { EngineValue, ValueType } from '../googlesql/values/engine-function.ts';
import { patternProblem } from '../googlesql/values/patterns.ts';

// The client's own decoder drops U+FEFF at the beginning of a text as a byte order mark.
Object.assign(accessors, { textDecoder: new TextDecoder('utf-8', { ignoreBOM: true }) });

type Read = (text: string, path: readonly JsonStep[]) => DuckDBValue;

const list = (elements: readonly (string | null)[] | null) => elements && listValue(elements);

const readers: Readonly<Record<string, readonly [returns: DuckDBType, read: Read]>> = {
  bq_read_json_value: [VARCHAR, readJsonText.value],
  bq_read_json_query: [VARCHAR, readJsonText.query],
  bq_read_json_member: [VARCHAR, readJsonText.member],
  bq_read_json_values: [LIST(VARCHAR), (text, path) => list(readJsonText.values(text, path))],
  bq_read_json_queries: [LIST(VARCHAR), (text, path) => list(readJsonText.queries(text, path))],
};

/**
 * Registers the functions that printed SQL calls because DuckDB lacks them. They run in this process's main thread, 2048 rows at a
 * time. `bq_read_temporal(text, kind)` returns a date or time in DuckDB's form, `bq_zone_…` a zone in DuckDB's form.
 * `bq_read_json_…(text, steps)` read JSON as BigQuery does, with the steps of `parseJsonPath` as JSON;
 * `bq_checked_pattern(text)` returns a regular expression unchanged, and fails for one that is too large to compile.
 */
export function registerScalarFunctions(connection: DuckDBConnection): void {
  for (const [name, [returnType, read]] of Object.entries(readers)) {
    register(connection, name, [VARCHAR, VARCHAR], returnType, rememberSteps(read));
  }
  register(connection, 'bq_read_temporal', [VARCHAR, VARCHAR], VARCHAR, needTemporal);
  register(
    connection,
    'bq_safe_read_temporal',
    [VARCHAR, VARCHAR],
    VARCHAR,
    (text, kind) => readTemporal(text, kind) ?? null,
  );
  register(connection, 'bq_zone_name', [VARCHAR], VARCHAR, zone => needZone(zone).name);
  register(connection, 'bq_zone_offset', [VARCHAR], BIGINT, zone =>
    BigInt(needZone(zone).minutes * 60_000_000),
  );
  register(connection, 'bq_parse_json', [VARCHAR], VARCHAR, parseJson);
  register(connection, 'bq_checked_pattern', [VARCHAR], VARCHAR, checkedPattern);
  for (const [signature, call] of Object.entries(engineFunctions))
    registerEngineFunction(connection, signature, call);
}

function checkedPattern(pattern: string): string {
  const problem = patternProblem(pattern);
  if (problem) throw new Error(problem);
  return pattern;
}

/** BigQuery's messages for text that is not a value of the type. */
const notTemporal: Readonly<Record<string, (text: string) => string>> = {
  TIMESTAMP: text => `Invalid timestamp: '${text}'`,
  DATE: text => `Invalid date: '${text}'`,
  DATETIME: text => `Invalid datetime string "${text}"`,
  TIME: text => `Invalid time string "${text}"`,
};

function needTemporal(text: string, kind: string): string {
  const read = readTemporal(text, kind);
  if (read === undefined) throw new Error(notTemporal[kind]!(text));
  return read;
}

/** How values of a type are passed in and out. */
type Passage = {
  readonly type: DuckDBType;
  into(value: DuckDBValue): EngineValue;
  out(value: EngineValue): DuckDBValue;
};

// DuckDB passes values of the vector's type, and a function returns the type of its signature.
const asItIs = (type: DuckDBType): Passage => ({
  type,
  into: value => value as EngineValue,
  out: value => value as DuckDBValue,
});

const bytes: Passage = {
  type: BLOB,
  into: value => (value as DuckDBBlobValue).bytes,
  out: value => new DuckDBBlobValue(value as Uint8Array),
};

const numeric: Passage = {
  type: DECIMAL(38, 9),
  into: value => (value as DuckDBDecimalValue).value,
  out: value => new DuckDBDecimalValue(value as bigint, 38, 9),
};

const listOf = ({ type, into, out }: Passage): Passage => ({
  type: LIST(type),
  into: value => (value as DuckDBListValue).items.map(element => (element === null ? null : into(element))),
  out: value =>
    listValue((value as readonly EngineValue[]).map(element => (element === null ? null : out(element)))),
});

const passages: Readonly<Record<ValueType, Passage>> = {
  STRING: asItIs(VARCHAR),
  BOOL: asItIs(BOOLEAN),
  INT64: asItIs(BIGINT),
  FLOAT64: asItIs(DOUBLE),
  BYTES: bytes,
  NUMERIC: numeric,
  'ARRAY<STRING>': listOf(asItIs(VARCHAR)),
  'ARRAY<INT64>': listOf(asItIs(BIGINT)),
  'ARRAY<FLOAT64>': listOf(asItIs(DOUBLE)),
  'ARRAY<NUMERIC>': listOf(numeric),
  'ARRAY<BYTES>': listOf(bytes),
};

function registerEngineFunction(
  connection: DuckDBConnection,
  signature: string,
  call: (...values: never[]) => EngineValue,
): void {
  const [, name = '', inside = '', returns = ''] = /^(\w+)\((.*)\) (.+)$/.exec(signature) ?? [];
  // The names of types come from the tables of googlesql/values.
  const parameters = inside.split(', ').map(type => passages[type as ValueType]);
  const { type, out } = passages[returns as ValueType];
  const types = parameters.map(passage => passage.type);
  const run = (...values: DuckDBValue[]): DuckDBValue => {
    const given = values.map((value, i) => parameters[i]!.into(value)) as never[];
    const answer = call(...given);
    return answer === null ? null : out(answer);
  };
  register(connection, name, types, type, run);
}

function register(
  connection: DuckDBConnection,
  name: string,
  parameterTypes: readonly DuckDBType[],
  returnType: DuckDBType,
  // As `parameterTypes` say.
  call: (...values: never[]) => DuckDBValue,
): void {
  const run: typeof call = (...values) => {
    try {
      return call(...values);
    } catch (error) {
      throw new Error(`${failureMark}${messageOf(error)}`);
    }
  };
  connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name,
      parameterTypes,
      returnType,
      mainFunction(_info, rows, answers) {
        const columns = parameterTypes.map((_, at) => rows.getColumnVector(at));
        for (let row = 0; row < rows.rowCount; row++) {
          const values = columns.map(column => column.getItem(row));
          answers.setItem(row, values.some(value => value === null) ? null : run(...(values as never[])));
        }
        answers.flush();
      },
    }),
  );
}

/** Parses the steps only when they change: they are a constant of the statement. */
function rememberSteps(read: Read): (text: string, steps: string) => DuckDBValue {
  let [known, path]: [string, readonly JsonStep[]] = ['[]', []];
  return (text, steps) => {
    if (steps !== known) [known, path] = [steps, JSON.parse(steps)];
    return read(text, path);
  };
}
