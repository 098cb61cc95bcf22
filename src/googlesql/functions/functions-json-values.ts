import type { SqlPosition } from '../../base/errors.ts';
import { parseStrictPath } from '../json/json-path.ts';
import { type BindContext, bindArguments, type SpecialFunction } from '../tree/bind-context.ts';
import { type BoundExpression, call, literal } from '../tree/bound-tree.ts';
import { coerce } from '../tree/coercion.ts';
import { letIn } from '../tree/let-in.ts';
import { invalidQuery, onlyOnWarehouse } from '../tree/sql-error.ts';
import { asComputed, refuseOuterArray } from '../tree/storage.ts';
import type { CallSyntax } from '../tree/syntax-tree.ts';
import { arrayOf, kindWithoutText, scalar } from '../tree/types.ts';
import { constantText, namedArguments, nameOf } from './call-arguments.ts';
import { bindRow, row } from './function-row.ts';

/** Rows over a value of the type JSON, which the engine process takes as its text. */
const access = (signature: string, name: string) => row(signature, `${name}(cast($1 as varchar))`);

export const jsonValueRows = [
  access('JSON_TYPE(JSON) STRING', 'bq_json_type'),
  access('BOOL(JSON) BOOL', 'bq_json_bool'),
  access('INT64(JSON) INT64', 'bq_json_int64'),
  access('LAX_BOOL(JSON) BOOL', 'bq_lax_bool'),
  access('LAX_INT64(JSON) INT64', 'bq_lax_int64'),
  access('LAX_FLOAT64(JSON) FLOAT64', 'bq_lax_float64'),
  access('LAX_STRING(JSON) STRING', 'bq_lax_string'),
];

const json = scalar('JSON');
const text = scalar('STRING');
const textLiteral = (value: string) => literal('STRING', value);
const truth = (value: boolean) => literal('BOOL', String(value));

const textOf = row('TEXT(JSON) STRING', 'cast($1 as varchar)');

export const jsonValueFunctions: Readonly<Record<string, SpecialFunction>> = {
  FLOAT64: floatOfJson,
  PARSE_JSON: parseJsonAs,
  TO_JSON: toJson,
  TO_JSON_STRING: toJsonString,
  JSON_ARRAY: jsonArray,
  JSON_OBJECT: jsonObject,
  JSON_SET: jsonSet,
  JSON_REMOVE: jsonRemove,
  JSON_ARRAY_APPEND: arrayChange('bq_json_array_append', 'append_each_element'),
  JSON_ARRAY_INSERT: arrayChange('bq_json_array_insert', 'insert_each_element'),
  JSON_STRIP_NULLS: jsonStripNulls,
  JSON_KEYS: jsonKeys,
};

/** `STRING(json)`. */
export function stringOfJson(value: BoundExpression): BoundExpression {
  return call('STRING', 'bq_json_string(cast($1 as varchar))', [value], text);
}

/** `j[name]`, where the name or position is not known. */
export function jsonSubscript(of: BoundExpression, index: BoundExpression, at: SqlPosition): BoundExpression {
  if (!['INT64', 'STRING', 'NULL'].includes(index.type.kind))
    throw invalidQuery(
      `Subscript access using [${index.type.kind}] is not supported on values of type JSON`,
      at,
    );
  const isPosition = index.type.kind === 'INT64';
  const template = `cast(${isPosition ? 'bq_json_element' : 'bq_json_member'}(cast($1 as varchar), $2) as json)`;
  return call('JSON subscript', template, [of, coerce(index, isPosition ? index.type : text, at)], json);
}

function noSignature(syntax: CallSyntax, values: readonly BoundExpression[] = []): Error {
  const types = values.map(({ type }) => type.kind).join(', ');
  return invalidQuery(
    `No matching signature for function ${nameOf(syntax)}${types && ` for argument types: ${types}`}`,
    syntax.at,
  );
}

function jsonArgument(context: BindContext, syntax: CallSyntax): BoundExpression {
  const [first] = syntax.arguments;
  if (!first) throw noSignature(syntax);
  const value = context.binder.expression(context, first);
  if (value.type.kind !== 'JSON' && value.type.kind !== 'NULL') throw noSignature(syntax, [value]);
  return bindRow([textOf], `function ${nameOf(syntax)}`, [value], syntax.at);
}

/** A value as JSON text; `form` as in the printer. */
function asJson(
  value: BoundExpression,
  form: 'jsonText' | 'jsonValue' | 'jsonWide',
  at: SqlPosition,
): BoundExpression {
  // Not a literal, which could be coerced to any type that its text fits.
  if (value.kind === 'null') return call('TO_JSON', "'null'", [], text);
  refuseOuterArray(value, 'A conversion to JSON', at);
  const kind = kindWithoutText(value.type);
  if (kind) throw onlyOnWarehouse(`${kind} in JSON`, at);
  const given = asComputed(value);
  return letIn(given, named => call('TO_JSON', `$${form}`, [named], text));
}

const asValue = (of: BoundExpression): BoundExpression => call('JSON', 'cast($1 as json)', [of], json);

function toJson(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const [value, ...others] = bindArguments(context, syntax);
  if (!value || others.length > 0) throw noSignature(syntax);
  const { stringify_wide_numbers: wide } = namedArguments(context, syntax, {
    stringify_wide_numbers: scalar('BOOL'),
  });
  const plain = () => asJson(value, 'jsonValue', syntax.at);
  if (!wide) return asValue(plain());
  const stringified = asJson(value, 'jsonWide', syntax.at);
  return asValue(
    call('TO_JSON', '(case when $1 then $2 when not $1 then $3 end)', [wide, stringified, plain()], text),
  );
}

function toJsonString(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const [value, second, ...others] = bindArguments(context, syntax);
  if (!value || others.length > 0) throw noSignature(syntax);
  const { pretty_print: named } = namedArguments(context, syntax, { pretty_print: scalar('BOOL') });
  const pretty = second ? coerce(second, scalar('BOOL'), syntax.at) : named;
  const written = asJson(value, 'jsonText', syntax.at);
  if (!pretty) return written;
  return call(
    'TO_JSON_STRING',
    '(case when $2 then bq_json_pretty($1) when not $2 then $1 end)',
    [written, pretty],
    text,
  );
}

function jsonArray(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  namedArguments(context, syntax, {});
  const values = bindArguments(context, syntax).map(value => asJson(value, 'jsonValue', syntax.at));
  return asValue(
    call(
      'JSON_ARRAY',
      values.length > 0 ? "('[' || array_to_string([$*], ',') || ']')" : "'[]'",
      values,
      text,
    ),
  );
}

function jsonObject(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  namedArguments(context, syntax, {});
  const values = bindArguments(context, syntax);
  const [names, contents] = values;
  if (names?.type.kind === 'ARRAY') {
    if (values.length !== 2 || contents?.type.kind !== 'ARRAY') throw noSignature(syntax, values);
    const keys = asComputed(coerce(names, arrayOf(text), syntax.at));
    refuseOuterArray(contents, 'JSON_OBJECT', syntax.at);
    const list = asComputed(contents);
    const members = letIn(list, named => call('JSON_OBJECT', '$jsonValue', [named], text));
    const checked = (what: string) =>
      `[bq_fail_text('Invalid input to JSON_OBJECT: The ${what} array cannot be NULL')]`;
    const template = `bq_json_object(coalesce($1, ${checked('keys')}), case when $2 is null then ${checked('values')} else list_transform(cast(cast($3 as json) as json[]), lambda e: coalesce(cast(e as varchar), 'null')) end)`;
    return asValue(call('JSON_OBJECT', template, [keys, list, members], text));
  }
  if (values.length % 2 !== 0) throw noSignature(syntax, values);
  if (values.length === 0) return asValue(textLiteral('{}'));
  const keys = values
    .filter((_, i) => i % 2 === 0)
    .map(key => {
      if (key.type.kind !== 'STRING' && key.type.kind !== 'NULL') throw noSignature(syntax, values);
      return coerce(key, text, syntax.at);
    });
  const members = values.filter((_, i) => i % 2 === 1).map(value => asJson(value, 'jsonValue', syntax.at));
  const place = (from: number) => keys.map((_, i) => `\${${from + i}}`).join(', ');
  const template = `bq_json_object([${place(1)}], [${place(1 + keys.length)}])`;
  return asValue(call('JSON_OBJECT', template, [...keys, ...members], text));
}

/** A constant path in the form for the engine process; undefined for NULL. */
function stepsOf(syntax: CallSyntax, index: number): string | undefined {
  const argument = syntax.arguments[index];
  if (argument?.kind === 'literal' && argument.type === 'NULL') return undefined;
  const path = constantText(`The JSONPath of ${nameOf(syntax)}`, argument, syntax.at);
  try {
    return JSON.stringify(parseStrictPath(path));
  } catch (error) {
    throw invalidQuery(`Invalid input to ${nameOf(syntax)}: ${(error as Error).message}`, argument!.at);
  }
}

/** Applies pairs of a path and a value, each to the result of the one before. */
function changes(
  context: BindContext,
  syntax: CallSyntax,
  change: (of: BoundExpression, steps: string, value: BoundExpression) => BoundExpression,
): BoundExpression {
  let value = jsonArgument(context, syntax);
  const pairs = syntax.arguments.length - 1;
  if (pairs < 2 || pairs % 2 !== 0) throw noSignature(syntax);
  let isNull = false;
  for (let at = 1; at < pairs; at += 2) {
    const steps = stepsOf(syntax, at);
    const added = context.binder.expression(context, syntax.arguments[at + 1]!);
    if (steps === undefined) isNull = true;
    else value = change(value, steps, added);
  }
  return isNull ? { kind: 'null', type: json } : asValue(value);
}

function jsonSet(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const { create_if_missing: creates = truth(true) } = namedArguments(context, syntax, {
    create_if_missing: scalar('BOOL'),
  });
  return changes(context, syntax, (of, steps, value) =>
    call(
      'JSON_SET',
      'bq_json_set($1, $2, $3, $4)',
      [of, textLiteral(steps), asJson(value, 'jsonValue', syntax.at), creates],
      text,
    ),
  );
}

function arrayChange(name: string, option: string): SpecialFunction {
  return (context, syntax) => {
    const { [option]: each = truth(true) } = namedArguments(context, syntax, { [option]: scalar('BOOL') });
    return changes(context, syntax, (of, steps, value) =>
      call(
        nameOf(syntax),
        `${name}($1, $2, $3, $4)`,
        [
          of,
          textLiteral(steps),
          asJson(value, 'jsonValue', syntax.at),
          value.type.kind === 'ARRAY' ? each : truth(false),
        ],
        text,
      ),
    );
  };
}

function jsonRemove(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  namedArguments(context, syntax, {});
  let value = jsonArgument(context, syntax);
  if (syntax.arguments.length < 2) throw noSignature(syntax);
  let isNull = false;
  for (let at = 1; at < syntax.arguments.length; at++) {
    const steps = stepsOf(syntax, at);
    if (steps === '[]')
      throw invalidQuery("Invalid input to JSON_REMOVE: The JSONPath cannot be '$'", syntax.at);
    if (steps === undefined) isNull = true;
    else value = call('JSON_REMOVE', 'bq_json_remove($1, $2)', [value, textLiteral(steps)], text);
  }
  return isNull ? { kind: 'null', type: json } : asValue(value);
}

function jsonStripNulls(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const bool = scalar('BOOL');
  const { include_arrays: arrays = truth(true), remove_empty: empty = truth(false) } = namedArguments(
    context,
    syntax,
    {
      include_arrays: bool,
      remove_empty: bool,
    },
  );
  const value = jsonArgument(context, syntax);
  if (syntax.arguments.length > 2) throw noSignature(syntax);
  const steps = syntax.arguments.length === 2 ? stepsOf(syntax, 1) : '[]';
  if (steps === undefined) return { kind: 'null', type: json };
  return asValue(
    call(
      'JSON_STRIP_NULLS',
      'bq_json_strip_nulls($1, $2, $3, $4)',
      [value, textLiteral(steps), arrays, empty],
      text,
    ),
  );
}

function jsonKeys(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const { mode = textLiteral('strict') } = namedArguments(context, syntax, { mode: text });
  const value = jsonArgument(context, syntax);
  const [, second, ...others] = bindArguments(context, syntax);
  if (others.length > 0) throw noSignature(syntax);
  const depth = second ? coerce(second, scalar('INT64'), syntax.at) : unlimitedDepth;
  return call('JSON_KEYS', 'bq_json_keys($1, $2, $3)', [value, depth, mode], arrayOf(text));
}

/** Deeper than any JSON value. */
const unlimitedDepth = literal('INT64', '1000000');

function floatOfJson(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const { wide_number_mode: mode = textLiteral('round') } = namedArguments(context, syntax, {
    wide_number_mode: text,
  });
  if (syntax.arguments.length !== 1) throw noSignature(syntax);
  return call('FLOAT64', 'bq_json_float64($1, $2)', [jsonArgument(context, syntax), mode], scalar('FLOAT64'));
}

function parseJsonAs(...[context, syntax]: Parameters<SpecialFunction>): BoundExpression {
  const { wide_number_mode: mode } = namedArguments(context, syntax, { wide_number_mode: text });
  const values = bindArguments(context, syntax);
  const parsed = bindRow(
    [row('PARSE_JSON(STRING) JSON', 'cast(bq_parse_json($1) as json)')],
    'function PARSE_JSON',
    values,
    syntax.at,
  );
  if (!mode || parsed.kind !== 'call') return parsed;
  return {
    ...parsed,
    template: 'cast(bq_parse_json_as($1, $2) as json)',
    arguments: [...parsed.arguments, mode],
  };
}
