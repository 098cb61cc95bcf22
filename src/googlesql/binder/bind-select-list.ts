import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { coerce } from '../tree/coercion.ts';
import { impliedName } from '../tree/implied-name.ts';
import { columnsOf, foldName, type NamedValue, resolveName, type Scope } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Expression, Identifier, Select, SelectItem } from '../tree/syntax-tree.ts';
import { leavesOf, scalar, typeName } from '../tree/types.ts';
import { bindExpression } from './bind-expression.ts';

export type SelectedItem = {
  readonly name: string;
  readonly anonymous: boolean;
  readonly value: BoundExpression;
  readonly at: Expression['at'];
};

/** Maximum columns of one SELECT. BigQuery: 10,000. */
const maxColumns = 1000;

/** @throws GatewayError `invalid_query` if these are more columns than a query may have */
export function refuseManyColumns(count: number, at: Expression['at']): void {
  if (count > maxColumns)
    throw invalidQuery(`The query selects too many columns; the limit is ${maxColumns}`, at);
}

/**
 * Binds the SELECT list, stars expanded, with BigQuery's output names.
 * @throws GatewayError `invalid_query` also if the list has more columns than a query may have
 */
export function bindSelectList(context: BindContext, select: Select): readonly SelectedItem[] {
  const items: SelectedItem[] = [];
  let unnamed = 0;
  for (const item of select.items) {
    if (item.kind === 'star') {
      if (!item.of && !select.from) throw invalidQuery('SELECT * must have a FROM clause', item.at);
      for (const { name, value } of expandStar(context, item)) {
        items.push({ name: name || `f${unnamed++}_`, anonymous: name === '', value, at: item.at });
      }
    } else {
      const value = bindColumn(context, item.expression);
      const written = item.alias?.name ?? impliedName(item.expression);
      const name = written ?? `f${unnamed++}_`;
      items.push({ name, anonymous: written === undefined, value, at: item.expression.at });
    }
    refuseManyColumns(items.length, item.kind === 'star' ? item.at : item.expression.at);
  }
  context.statement.count('columns', items.length, select.at);
  context.statement.count(
    'leaves',
    items.reduce((sum, { value }) => sum + leavesOf(value.type), 0),
    select.at,
  );
  return items;
}

/** Binds an expression that becomes a column. ERROR has no type, and would otherwise become a constant NULL column. */
export function bindColumn(context: BindContext, expression: Expression): BoundExpression {
  const value = bindExpression(context, expression);
  const fails = value.type.kind === 'NULL' && value.kind !== 'null';
  return fails ? coerce(value, scalar('INT64'), expression.at) : value;
}

function expandStar(
  context: BindContext,
  star: Extract<SelectItem, { kind: 'star' }>,
): readonly NamedValue[] {
  const all = star.of ? columnsUnder(context, star.of) : everyColumn(context.scope);
  const names = new Set(all.map(column => foldName(column.name)));
  const excepted = new Set(star.except.map(({ name }) => foldName(name)));
  for (const { name, at } of star.except) {
    if (!names.has(foldName(name)))
      throw invalidQuery(`Column ${name} in SELECT * EXCEPT list does not exist`, at);
  }
  refuseTwice(star.except, 'EXCEPT');
  refuseTwice(
    star.replace.map(({ name }) => name),
    'REPLACE',
  );
  const kept = all.filter(column => !excepted.has(foldName(column.name)));
  if (kept.length === 0) throw invalidQuery('SELECT * expands to zero columns', star.at);
  const replaced = new Map(star.replace.map(item => [foldName(item.name.name), item]));
  for (const { name } of star.replace) {
    if (!names.has(foldName(name.name)) || excepted.has(foldName(name.name)))
      throw invalidQuery(`Column ${name.name} in SELECT * REPLACE list does not exist`, name.at);
  }
  return kept.map(column => {
    const replacement = replaced.get(foldName(column.name));
    return replacement
      ? { name: replacement.name.name, value: bindColumn(context, replacement.expression) }
      : column;
  });
}

function refuseTwice(names: readonly Identifier[], list: 'EXCEPT' | 'REPLACE'): void {
  const seen = new Set<string>();
  for (const { name, at } of names) {
    if (seen.has(foldName(name))) throw invalidQuery(`Duplicate column ${name} in SELECT * ${list} list`, at);
    seen.add(foldName(name));
  }
}

/** `t.*` of a table, or the fields of a STRUCT. */
function columnsUnder(context: BindContext, of: Expression): readonly NamedValue[] {
  const target =
    of.kind === 'path' && of.parts.length === 1 ? resolveName(context.scope, of.parts[0]!) : undefined;
  if (target?.kind === 'table') return target.variable.columns;
  const value = target?.value ?? bindExpression(context, of);
  if (value.type.kind !== 'STRUCT') {
    throw invalidQuery(`Dot-star is not supported for type ${typeName(value.type)}`, of.at);
  }
  return columnsOf({ kind: 'value', name: undefined, value });
}

/** `*`: columns merged by USING once and first, then all others in FROM order. */
export function everyColumn(scope: Scope): readonly NamedValue[] {
  const rest = scope.variables.flatMap(variable => {
    if (variable.hidden) return [];
    const isWhole = variable.kind === 'value' && variable.value.type.kind !== 'STRUCT';
    if (isWhole) return [{ name: variable.name ?? '', value: variable.value }];
    const { mergedNames } = variable;
    const columns = columnsOf(variable);
    return mergedNames ? columns.filter(({ name }) => !mergedNames.has(foldName(name))) : columns;
  });
  return [...scope.merged, ...rest];
}
