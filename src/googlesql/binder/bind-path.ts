import { jsonMember } from '../functions/functions-json.ts';
import { isNested } from '../functions/nested-comparison.ts';
import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { whereElse } from '../tree/deeper-field.ts';
import {
  columnsInScope,
  columnsOfName,
  foldName,
  namesInScope,
  namesOf,
  resolveName,
  rowValue,
} from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import { type Identifier, plainCall } from '../tree/syntax-tree.ts';
import { pathSteps, type SqlType, type StructField, type StructType, typeName } from '../tree/types.ts';
import { sizeOf } from '../tree/walk-bound-tree.ts';
import { bindCall } from './bind-call.ts';

/** `a.b.c`: a name in scope, then fields of it. */
export function bindPath(context: BindContext, parts: readonly Identifier[]): BoundExpression {
  const value = pathValue(context, parts);
  // A name may stand for a large expression: an alias of the list, or columns merged by FULL JOINs.
  context.statement.count('expressions', sizeOf(value) - 1, parts[0]!.at);
  if (isNested(value.type)) context.statement.count('records', pathSteps(value.type), parts[0]!.at);
  return value;
}

function pathValue(context: BindContext, parts: readonly Identifier[]): BoundExpression {
  const [first, second] = parts;
  const found = resolveName(context.scope, first!);
  if (!found) {
    const isClock =
      parts.length === 1 && !first!.quoted && /^current_(timestamp|date|datetime|time)$/i.test(first!.name);
    if (isClock) return bindCall(context, plainCall(parts, []));
    const written = parts.map(part => part.name).join('.');
    const { scope } = context;
    const hint = whereElse(first!.name, columnsInScope(scope), namesInScope(scope));
    throw invalidQuery(`Unrecognized name: ${written}${hint}`, first!.at);
  }
  if (found.kind === 'value') return parts.slice(1).reduce(fieldOf, found.value);
  const { columns } = found.variable;
  if (!second) return rowValue(columns, first!.at);
  const [column, ...others] = columnsOfName(columns, second.name);
  if (!column) {
    const fields = columns.map(({ name, value }) => ({ name, type: value.type }));
    const hint = whereElse(second.name, fields, namesOf(columns));
    throw invalidQuery(`Name ${second.name} not found inside ${first!.name}${hint}`, second.at);
  }
  if (others.length > 0) throw invalidQuery(`Column name ${second.name} is ambiguous`, second.at);
  return parts.slice(2).reduce(fieldOf, column.value);
}

/** Shortens a record's type, which may be longer than a message, so that the text after it is shown too. */
function shownType(type: SqlType): string {
  const name = typeName(type);
  return name.length > 300 ? `${name.slice(0, 300).toWellFormed()}…` : name;
}

const fieldIndexes = new WeakMap<StructType, ReadonlyMap<string, readonly StructField[]>>();

function fieldsOfName(type: StructType, name: string): readonly StructField[] {
  let index = fieldIndexes.get(type);
  if (!index) {
    index = Map.groupBy(type.fields, field => foldName(field.name));
    fieldIndexes.set(type, index);
  }
  return index.get(foldName(name)) ?? [];
}

/** A field of a record, or a member of a JSON value. */
export function fieldOf(of: BoundExpression, { name, at }: Identifier): BoundExpression {
  if (of.type.kind === 'JSON') return jsonMember(of, name);
  if (of.type.kind !== 'STRUCT') {
    const hint = of.type.kind === 'ARRAY' ? '; UNNEST gives the elements of an array' : '';
    throw invalidQuery(`Cannot access field ${name} on a value with type ${shownType(of.type)}${hint}`, at);
  }
  const [field, ...others] = fieldsOfName(of.type, name);
  if (!field) {
    const hint = whereElse(name, of.type.fields, namesOf(of.type.fields));
    throw invalidQuery(`Field name ${name} does not exist in ${shownType(of.type)}${hint}`, at);
  }
  if (others.length > 0) throw invalidQuery(`Struct field name ${name} is ambiguous`, at);
  return { kind: 'field', type: field.type, of, name: field.name };
}
