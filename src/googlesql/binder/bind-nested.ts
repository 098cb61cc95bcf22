import type { SqlPosition } from '../../base/errors.ts';
import { quantileAt } from '../functions/functions-aggregate.ts';
import { jsonMember } from '../functions/functions-json.ts';
import { jsonSubscript } from '../functions/functions-json-values.ts';
import { type BoundExpression, call } from '../tree/bound-tree.ts';
import { coerce, unify } from '../tree/coercion.ts';
import { distinctStruct } from '../tree/distinct-struct.ts';
import { fieldName } from '../tree/duckdb-type.ts';
import { impliedName } from '../tree/implied-name.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { typeAsPart } from '../tree/storage.ts';
import type { Expression, TypeSyntax } from '../tree/syntax-tree.ts';
import { arrayOf, type SqlType, type StructType, scalar, typeName } from '../tree/types.ts';

type Bind = (expression: Expression) => BoundExpression;

export function typeOfSyntax(syntax: TypeSyntax, at: SqlPosition): SqlType {
  switch (syntax.kind) {
    case 'scalar':
      return scalar(syntax.type);
    case 'array':
      return arrayOf(typeOfSyntax(syntax.element, at));
    case 'struct': {
      const fields = syntax.fields.map(({ name, type }) => ({ name, type: typeOfSyntax(type, at) }));
      return distinctStruct(fields, at);
    }
  }
}

/** `[a, b]` and `ARRAY<T>[…]`; an empty one without a type fits any array type. */
export function bindArray(bind: Bind, syntax: Extract<Expression, { kind: 'array' }>): BoundExpression {
  const elements = syntax.elements.map(bind);
  if (elements.some(e => e.type.kind === 'ARRAY')) {
    throw invalidQuery(
      'Cannot construct array with element type ARRAY because nested arrays are not supported',
      syntax.at,
    );
  }
  if (syntax.element) {
    const element = typeOfSyntax(syntax.element, syntax.at);
    return {
      kind: 'array',
      type: arrayOf(element),
      elements: elements.map(e => coerce(e, element, syntax.at)),
    };
  }
  if (elements.length === 0) return { kind: 'array', type: arrayOf(scalar('NULL')), elements };
  const { type, values } = unify(elements, 'array constructor', syntax.at);
  if (type.kind !== 'NULL') return { kind: 'array', type: arrayOf(type), elements: values };
  const element = scalar('INT64');
  return { kind: 'array', type: arrayOf(element), elements: values.map(e => coerce(e, element, syntax.at)) };
}

/** `STRUCT(a, b AS c)`, `(a, b)` and `STRUCT<x INT64>(…)`. */
export function bindStruct(bind: Bind, syntax: Extract<Expression, { kind: 'struct' }>): BoundExpression {
  if (syntax.fields.length === 0) throw invalidQuery('A STRUCT without fields is not supported', syntax.at);
  const values = syntax.fields.map(({ expression }) => bind(expression));
  const declared = syntax.type && typeOfSyntax(syntax.type, syntax.at);
  if (declared?.kind === 'STRUCT') {
    if (declared.fields.length !== values.length) {
      throw invalidQuery(
        `STRUCT type has ${declared.fields.length} fields but constructor call has ${values.length} fields`,
        syntax.at,
      );
    }
    const coerced = values.map((value, i) => coerce(value, declared.fields[i]!.type, syntax.at));
    const fields = declared.fields.map((field, i) => ({ ...field, type: typeAsPart(coerced[i]!) }));
    return { kind: 'struct', type: { ...declared, fields }, values: coerced };
  }
  const settled = values.map(value => (value.type.kind === 'NULL' ? settledNull(value, syntax.at) : value));
  const type = distinctStruct(
    settled.map((value, i) => {
      const { expression, alias } = syntax.fields[i]!;
      const implied = syntax.isTuple ? undefined : impliedName(expression);
      return { name: alias?.name ?? implied ?? '', type: typeAsPart(value) };
    }),
    syntax.at,
  );
  return { kind: 'struct', type, values: settled };
}

function settledNull(value: BoundExpression, at: Expression['at']): BoundExpression {
  const settled = coerce(value, scalar('INT64'), at);
  return settled.kind === 'null' ? { ...settled, isBare: true } : settled;
}

/** `a[0]`, `a[offset(0)]`, `a[safe_ordinal(1)]`, a field of a STRUCT by its position, and a member of JSON. */
export function bindSubscript(
  bind: Bind,
  syntax: Extract<Expression, { kind: 'subscript' }>,
): BoundExpression {
  const of = bind(syntax.of);
  const index = bind(syntax.index);
  if (of.type.kind === 'JSON' && syntax.mode === 'BARE') {
    if (index.kind !== 'literal' || !['INT64', 'STRING'].includes(index.type.kind))
      return jsonSubscript(of, index, syntax.at);
    return jsonMember(of, index.type.kind === 'INT64' ? BigInt(index.value) : index.value);
  }
  if (of.type.kind === 'STRUCT') return fieldAt(of, of.type, index, syntax);
  if (of.type.kind !== 'ARRAY') {
    throw invalidQuery(
      `Subscript access using [INT64] is not supported on values of type ${typeName(of.type)}`,
      syntax.at,
    );
  }
  if (index.type.kind !== 'INT64' && index.type.kind !== 'NULL') {
    throw invalidQuery(
      `Array position in [] must be coercible to INT64 type, but has type ${typeName(index.type)}`,
      syntax.index.at,
    );
  }
  const position = coerce(index, scalar('INT64'), syntax.index.at);
  const type = of.type.element.kind === 'NULL' ? scalar('INT64') : of.type.element;
  const fromZero = syntax.mode.endsWith('ORDINAL') ? minusOne(position) : position;
  return (
    quantileAt(of, fromZero) ?? {
      kind: 'element',
      type,
      of,
      index: fromZero,
      safe: syntax.mode.startsWith('SAFE'),
    }
  );
}

function fieldAt(
  of: BoundExpression,
  { fields }: StructType,
  index: BoundExpression,
  { mode, at }: Extract<Expression, { kind: 'subscript' }>,
): BoundExpression {
  if (index.kind !== 'literal' || index.type.kind !== 'INT64')
    throw invalidQuery('Field element access is only supported for literal INT64 positions', at);
  const position = Number(index.value) - (mode.endsWith('ORDINAL') ? 1 : 0);
  const field = fields[position];
  if (!field) throw invalidQuery(`Field ordinal ${index.value} is out of bounds in ${typeName(of.type)}`, at);
  return { kind: 'field', type: field.type, of, name: fieldName(field.name, position) };
}

/** An index counted from 0 instead of 1. One below the first stays out of range: the least INT64 wraps to the greatest. */
function minusOne(index: BoundExpression): BoundExpression {
  if (index.kind === 'literal')
    return { ...index, value: String(BigInt.asIntN(64, BigInt(index.value) - 1n)) };
  const template = '(case when $1 < 1 then -1 else $1 - 1 end)';
  return call('-', template, [index], index.type);
}
