import type { SqlPosition } from '../../base/errors.ts';
import { type JsonPathMode, type JsonStep, parseJsonPath } from '../json/json-path.ts';
import type { SpecialFunction } from '../tree/bind-context.ts';
import { type BoundExpression, type BoundJsonValue, call, literal } from '../tree/bound-tree.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { scalar } from '../tree/types.ts';
import { constantText } from './call-arguments.ts';
import { bindRow, type FunctionRow, row } from './function-row.ts';

/** Rows for text, which need not be JSON, and for values of the type JSON; `$2` is the JSONPath. */
const valueRows = [
  row('JSON_VALUE(STRING, STRING) STRING', 'bq_read_json_value($1, $2)'),
  row('JSON_VALUE(JSON, STRING) STRING', 'bq_read_json_value(cast($1 as varchar), $2)'),
];
const queryRows = [
  row('JSON_QUERY(STRING, STRING) STRING', 'bq_read_json_query($1, $2)'),
  row('JSON_QUERY(JSON, STRING) JSON', 'cast(bq_read_json_member(cast($1 as varchar), $2) as json)'),
];
const valueArrayRows = [
  row('JSON_VALUE_ARRAY(STRING, STRING) ARRAY<STRING>', 'bq_read_json_values($1, $2)'),
  row('JSON_VALUE_ARRAY(JSON, STRING) ARRAY<STRING>', 'bq_read_json_values(cast($1 as varchar), $2)'),
];
const queryArrayRows = [
  row('JSON_QUERY_ARRAY(STRING, STRING) ARRAY<STRING>', 'bq_read_json_queries($1, $2)'),
  row(
    'JSON_QUERY_ARRAY(JSON, STRING) ARRAY<JSON>',
    'cast(bq_read_json_queries(cast($1 as varchar), $2) as json[])',
  ),
];

/** By name; those of `JSON_EXTRACT…` have the older path syntax. */
const rowsOfReaders: Readonly<Record<string, readonly FunctionRow[]>> = {
  JSON_VALUE: valueRows,
  JSON_QUERY: queryRows,
  JSON_VALUE_ARRAY: valueArrayRows,
  JSON_QUERY_ARRAY: queryArrayRows,
  JSON_EXTRACT_SCALAR: valueRows,
  JSON_EXTRACT: queryRows,
  JSON_EXTRACT_STRING_ARRAY: valueArrayRows,
  JSON_EXTRACT_ARRAY: queryArrayRows,
};

export const jsonFunctions: Readonly<Record<string, SpecialFunction>> = {
  ...Object.fromEntries(
    Object.entries(rowsOfReaders).map(([name, rows]) => [name, readingFunction(name, rows)]),
  ),
};

/**
 * `j.name`, `j['name']` and `j[0]`. DuckDB's own reader handles plain names and positions; `*` is a pattern to it, the empty name an error,
 * and a negative position counts from the end.
 */
export function jsonMember(of: BoundExpression, member: string | bigint): BoundExpression {
  const isPlain = typeof member === 'bigint' || /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(member);
  const [template, path] = isPlain
    ? ['json_extract($1, $2)', typeof member === 'bigint' ? `$[${member}]` : `$."${member}"`]
    : ['cast(bq_read_json_member(cast($1 as varchar), $2) as json)', JSON.stringify([{ key: member }])];
  if (typeof member === 'bigint' && member < 0n) return { kind: 'null', type: of.type };
  return call('JSON subscript', template, [of, literal('STRING', path)], of.type);
}

function readingFunction(name: string, rows: readonly FunctionRow[]): SpecialFunction {
  const mode = name.startsWith('JSON_EXTRACT') ? 'legacy' : 'standard';
  // The path is `$` by default, but JSON_QUERY requires one.
  const needsPath = rows === queryRows;
  return (context, syntax) => {
    const [value, path] = syntax.arguments;
    if (!value || syntax.arguments.length > 2 || (needsPath && !path))
      throw invalidQuery(`${name} takes a value and a JSONPath`, syntax.at);
    const text = path ? constantText(`The JSONPath of ${name}`, path, syntax.at) : '$';
    const steps = readSteps(text, mode, syntax.at);
    const of = context.binder.expression(context, value);
    const given = [of, literal('STRING', JSON.stringify(steps))];
    const native = rows === valueRows && of.type.kind === 'STRING' ? nativePath(steps) : undefined;
    if (!native) return bindRow(rows, `function ${name}`, given, syntax.at);
    return { kind: 'jsonValue', type: scalar('STRING'), of, steps: JSON.stringify(steps), ...native };
  };
}

function readSteps(path: string, mode: JsonPathMode, at: SqlPosition): readonly JsonStep[] {
  try {
    return parseJsonPath(path, mode);
  } catch (error) {
    throw invalidQuery((error as Error).message, at);
  }
}

/** A path in DuckDB's spelling, if it has one: see `BoundJsonValue`. */
function nativePath(
  steps: readonly JsonStep[],
): Pick<BoundJsonValue, 'path' | 'passed' | 'positions'> | undefined {
  const isNative = steps.every(({ key, index }) =>
    index === undefined ? /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key) : /^\d{1,9}$/.test(key),
  );
  const positions = steps.filter(({ index }) => index !== undefined).map(({ key }) => key);
  if (!isNative || positions.length > 1 || steps.length === 0) return undefined;
  const path = steps.map(({ key, index }) => (index === undefined ? `."${key}"` : `[${index}]`)).join('');
  const passed = steps.slice(0, -1).filter(({ index }) => index === undefined);
  return { path: `$${path}`, passed: passed.map(({ key }) => key), positions };
}
