import type { BoundExpression } from '../tree/bound-tree.ts';
import { columnsOf, emptyScope, type NamedValue, type RangeVariable, type Scope } from '../tree/scope.ts';

/**
 * The names of a SELECT that are still in scope after DISTINCT, which keeps only the selected values. Names of outer queries are not.
 * @param placeOf returns the new place of a value; undefined for one that was not selected
 */
export function onlySelected(
  { aliases, merged, variables }: Scope,
  placeOf: (value: BoundExpression) => BoundExpression | undefined,
): Scope {
  const left = (columns: readonly NamedValue[]) =>
    columns.flatMap(({ name, value }) => {
      const place = placeOf(value);
      return place ? [{ name, value: place }] : [];
    });
  const variableLeft = (variable: RangeVariable): RangeVariable => {
    const value = variable.kind === 'value' ? placeOf(variable.value) : undefined;
    if (value) return { kind: 'value', name: variable.name, value };
    return { kind: 'table', name: variable.name, columns: left(columnsOf(variable)) };
  };
  return {
    ...emptyScope,
    aliases: left(aliases),
    merged: left(merged),
    variables: variables.map(variableLeft),
  };
}
