import type { SpecialFunction } from './bind-context.ts';
import type { BoundExpression } from './bound-tree.ts';
import { constantText } from './constant-text.ts';
import { bindRow, type FunctionRow, row } from './function-row.ts';
import { invalidQuery } from './sql-error.ts';
import type { CallSyntax } from './syntax-tree.ts';
import { scalar } from './types.ts';

export const jsonRows = [row('PARSE_JSON(STRING) JSON', 'cast($1 as json)')];

/** Text that is no JSON answers NULL, never an error. */
const valueRows = [
  row('JSON_VALUE(STRING, STRING) STRING', 'bq_json_value($1, $2)'),
  row('JSON_VALUE(JSON, STRING) STRING', 'bq_json_value(cast($1 as varchar), $2)'),
];
const queryRows = [
  row('JSON_QUERY(STRING, STRING) STRING', 'bq_json_query($1, $2)'),
  row('JSON_QUERY(JSON, STRING) JSON', 'json_extract($1, $2)'),
];
const valueArrayRows = [
  row('JSON_VALUE_ARRAY(STRING, STRING) ARRAY<STRING>', 'bq_json_value_array($1, $2)'),
  row('JSON_VALUE_ARRAY(JSON, STRING) ARRAY<STRING>', 'bq_json_value_array(cast($1 as varchar), $2)'),
];
const queryArrayRows = [row('JSON_QUERY_ARRAY(STRING, STRING) ARRAY<STRING>', 'bq_json_query_array($1, $2)')];

export const jsonFunctions: Readonly<Record<string, SpecialFunction>> = {
  JSON_VALUE: jsonFunction('JSON_VALUE', valueRows),
  JSON_EXTRACT_SCALAR: jsonFunction('JSON_EXTRACT_SCALAR', valueRows),
  JSON_QUERY: jsonFunction('JSON_QUERY', queryRows),
  JSON_EXTRACT: jsonFunction('JSON_EXTRACT', queryRows),
  JSON_VALUE_ARRAY: jsonFunction('JSON_VALUE_ARRAY', valueArrayRows),
  JSON_EXTRACT_STRING_ARRAY: jsonFunction('JSON_EXTRACT_STRING_ARRAY', valueArrayRows),
  JSON_QUERY_ARRAY: jsonFunction('JSON_QUERY_ARRAY', queryArrayRows),
  JSON_EXTRACT_ARRAY: jsonFunction('JSON_EXTRACT_ARRAY', queryArrayRows),
  TO_JSON_STRING: toJsonString,
};

function jsonFunction(name: string, rows: readonly FunctionRow[]): SpecialFunction {
  return (context, call) => {
    const [value, path] = call.arguments;
    if (!value || call.arguments.length > 2)
      throw invalidQuery(`${name} takes a value and a JSONPath`, call.at);
    const text = path ? constantText(`The JSONPath of ${name}`, path, call.at) : '$';
    const literal = { kind: 'literal', type: scalar('STRING'), value: duckDbPath(name, text, call) } as const;
    return bindRow(rows, `function ${name}`, [context.binder.expression(context, value), literal], call.at);
  };
}

/** BigQuery's JSONPath in DuckDB's spelling: every member quoted. */
function duckDbPath(name: string, path: string, { at }: CallSyntax): string {
  const step =
    /\.([\w\-\u0080-\uffff]+)|\."((?:[^"\\]|\\.)*)"|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;
  let printed = '$';
  let index = 1;
  if (!path.startsWith('$')) throw invalidQuery(`JSONPath must start with '$': ${path}`, at);
  while (index < path.length) {
    step.lastIndex = index;
    const match = step.exec(path);
    const isBracketed = match?.[4] !== undefined || match?.[5] !== undefined;
    if (!match || (isBracketed && !name.includes('EXTRACT')))
      throw invalidQuery(`Invalid token in JSONPath at: ${path.slice(index)}`, at);
    const member = match[1] ?? match[2] ?? match[4]?.replaceAll('"', '\\"') ?? match[5];
    printed += match[3] === undefined ? `."${member}"` : `[${match[3]}]`;
    index += match[0].length;
  }
  return printed;
}

/** The printer renders a value as JSON anyway, for the rows themselves; this is the same text. */
function toJsonString(context: Parameters<SpecialFunction>[0], call: CallSyntax): BoundExpression {
  const [value] = call.arguments;
  if (!value || call.arguments.length !== 1)
    throw invalidQuery('TO_JSON_STRING is supported with one argument', call.at);
  const of = context.binder.expression(context, value);
  if (of.type.kind !== 'STRING' && of.type.kind !== 'BOOL' && of.type.kind !== 'INT64') {
    throw invalidQuery('TO_JSON_STRING is supported for STRING, BOOL and INT64 only', call.at);
  }
  const template =
    of.type.kind === 'INT64'
      ? 'bq_json_integer($1)'
      : "coalesce(bq_json_separators(cast(to_json($1) as varchar)), 'null')";
  return { kind: 'call', name: 'TO_JSON_STRING', template, arguments: [of], type: scalar('STRING') };
}
