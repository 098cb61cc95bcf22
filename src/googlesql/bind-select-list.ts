import type { BindContext } from './bind-context.ts';
import { bindExpression } from './bind-expression.ts';
import type { BoundExpression } from './bound-tree.ts';
import { impliedName } from './implied-name.ts';
import { columnsOf, type NamedValue, resolveName, sameName } from './scope.ts';
import { invalidQuery } from './sql-error.ts';
import type { Expression, Identifier, Select, SelectItem } from './syntax-tree.ts';
import { typeName } from './types.ts';

export type SelectedItem = {
  readonly name: string;
  readonly anonymous: boolean;
  readonly value: BoundExpression;
  readonly at: Expression['at'];
};

/** Binds the SELECT list, stars expanded, with BigQuery's output names. */
export function bindSelectList(context: BindContext, select: Select): readonly SelectedItem[] {
  let unnamed = 0;
  return select.items.flatMap((item): SelectedItem[] => {
    if (item.kind === 'star') {
      if (!item.of && !select.from) throw invalidQuery('SELECT * must have a FROM clause', item.at);
      return expandStar(context, item).map(column => ({
        ...column,
        name: column.name || `f${unnamed++}_`,
        anonymous: column.name === '',
        at: item.at,
      }));
    }
    const value = bindExpression(context, item.expression);
    const written = item.alias?.name ?? impliedName(item.expression);
    const name = written ?? `f${unnamed++}_`;
    return [{ name, anonymous: written === undefined, value, at: item.expression.at }];
  });
}

function expandStar(
  context: BindContext,
  star: Extract<SelectItem, { kind: 'star' }>,
): readonly NamedValue[] {
  const all = star.of ? columnsUnder(context, star.of) : everyColumn(context);
  for (const { name, at } of star.except) {
    if (!all.some(column => sameName(column.name, name))) {
      throw invalidQuery(`Column ${name} in SELECT * EXCEPT list does not exist`, at);
    }
  }
  refuseTwice(star.except, 'EXCEPT');
  refuseTwice(
    star.replace.map(({ name }) => name),
    'REPLACE',
  );
  const kept = all.filter(column => !star.except.some(({ name }) => sameName(name, column.name)));
  if (kept.length === 0) throw invalidQuery('SELECT * expands to zero columns', star.at);
  for (const { name } of star.replace) {
    if (!kept.some(column => sameName(column.name, name.name))) {
      throw invalidQuery(`Column ${name.name} in SELECT * REPLACE list does not exist`, name.at);
    }
  }
  return kept.map(column => {
    const replacement = star.replace.find(({ name }) => sameName(name.name, column.name));
    return replacement ? { ...column, value: bindExpression(context, replacement.expression) } : column;
  });
}

function refuseTwice(names: readonly Identifier[], list: 'EXCEPT' | 'REPLACE'): void {
  const twice = names.find((one, i) => names.slice(0, i).some(({ name }) => sameName(name, one.name)));
  if (twice) throw invalidQuery(`Duplicate column ${twice.name} in SELECT * ${list} list`, twice.at);
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
function everyColumn({ scope }: BindContext): readonly NamedValue[] {
  const isMerged = (column: NamedValue) => scope.merged.some(m => sameName(m.name, column.name));
  const rest = scope.variables.flatMap(variable => {
    const isWhole = variable.kind === 'value' && variable.value.type.kind !== 'STRUCT';
    return isWhole ? [{ name: variable.name ?? '', value: variable.value }] : columnsOf(variable);
  });
  return [...scope.merged, ...rest.filter(column => !isMerged(column))];
}
