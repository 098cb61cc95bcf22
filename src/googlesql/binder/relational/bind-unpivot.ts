import type { BindContext, BoundSource } from '../../tree/bind-context.ts';
import {
  type BoundExpression,
  joinConditions,
  literal,
  negated,
  type OutputColumn,
} from '../../tree/bound-tree.ts';
import { columnsNamed, foldName, type NamedValue } from '../../tree/scope.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import { typeAsPart } from '../../tree/storage.ts';
import type { Identifier, Unpivot, UnpivotGroup } from '../../tree/syntax-tree.ts';
import { arrayOf, type SqlType, sameType, scalar, structOf, typeName } from '../../tree/types.ts';
import { nextRelation } from '../bind-from.ts';
import { everyColumn } from '../bind-select-list.ts';
import { derivedSource } from './bind-pivot.ts';

/** Each row once for each group of columns: the values of the group, its name, and the other columns. */
export function bindUnpivot(context: BindContext, item: Unpivot, input: BoundSource): BoundSource {
  const { values, name, groups, includesNulls, at } = item;
  const columns = groups.map(group => groupColumns(input, group, item));
  const labels = groups.map(labelOf);
  const labelType = labels[0]!.type;
  if (labels.some(label => !sameType(label.type, labelType)))
    throw invalidQuery('All labels of UNPIVOT must be of one type', at);
  const types = commonTypes(columns, at);
  const names = [...values, name];
  const type = structOf([...types, labelType].map((field, i) => ({ name: `v${i}`, type: field })));
  const elements = columns.map(
    (group, i): BoundExpression => ({
      kind: 'struct',
      type,
      values: [...group.map(({ value }) => value), labels[i]!],
    }),
  );
  const relation = nextRelation(context, item);
  const array: BoundExpression = { kind: 'array', type: arrayOf(type), elements };
  const from = {
    kind: 'unnest',
    relation,
    input: input.from,
    array,
    withOffset: false,
    outer: false,
  } as const;
  const element: BoundExpression = { kind: 'column', type, relation, index: 0 };
  const fields = type.fields.map(
    (field): BoundExpression => ({ kind: 'field', type: field.type, of: element, name: field.name }),
  );
  const gone = new Set(columns.flat().map(column => foldName(column.name)));
  const kept = everyColumn(input.scope).filter(column => !gone.has(foldName(column.name)));
  const keptColumns = kept.map(
    ({ name: own, value }): OutputColumn => ({
      name: own,
      anonymous: own === '',
      type: typeAsPart(value),
    }),
  );
  const added = names.map(
    ({ name: own }, i): OutputColumn => ({
      name: own,
      anonymous: false,
      type: type.fields[i]!.type,
    }),
  );
  const body = {
    kind: 'select',
    distinct: false,
    items: [...kept.map(({ value }) => value), ...fields],
    from,
    where: includesNulls ? undefined : someValue(fields.slice(0, -1)),
  } as const;
  return derivedSource(
    context,
    { subsets: [], body, orderBy: [], columns: [...keptColumns, ...added] },
    item,
  );
}

/** The types of the value columns: the same in every group. */
function commonTypes(columns: readonly (readonly NamedValue[])[], at: Unpivot['at']): readonly SqlType[] {
  const types = columns[0]!.map(({ value }) => value.type);
  for (const group of columns)
    for (const [i, { name: column, value }] of group.entries()) {
      if (!sameType(value.type, types[i]!))
        throw invalidQuery(
          `The datatype of column ${column} does not match with other datatypes in the IN clause. Expected ${typeName(types[i]!)}, Found ${typeName(value.type)}`,
          at,
        );
      if (['ARRAY', 'STRUCT'].includes(value.type.kind))
        throw invalidQuery(`UNPIVOT of columns of type ${typeName(value.type)} is not supported`, at);
    }
  return types;
}

function groupColumns(
  input: BoundSource,
  { columns }: UnpivotGroup,
  { values, at }: Unpivot,
): readonly NamedValue[] {
  if (columns.length !== values.length)
    throw invalidQuery(
      'The number of new columns introduced as value columns must be the same as the number of columns in the column groups of UNPIVOT IN clause',
      at,
    );
  return columns.map(column => onlyColumn(input, column));
}

function onlyColumn({ scope }: BoundSource, { name, at }: Identifier): NamedValue {
  const [column, ...others] = columnsNamed(scope, name);
  if (!column) throw invalidQuery(`Unrecognized name: ${name}`, at);
  if (others.length > 0) throw invalidQuery(`Column name ${name} is ambiguous`, at);
  return column;
}

function labelOf({ columns, label }: UnpivotGroup): BoundExpression {
  if (!label) {
    return literal('STRING', columns.map(({ name }) => name).join('_'));
  }
  if (label.kind !== 'literal' || (label.type !== 'STRING' && label.type !== 'INT64'))
    throw invalidQuery('A label of UNPIVOT must be a STRING or INT64 literal', label.at);
  return literal(label.type, label.value);
}

/** Whether not all values are NULL. */
function someValue(values: readonly BoundExpression[]): BoundExpression {
  const tests = values.map(of => negated({ kind: 'isNull', type: scalar('BOOL'), of }));
  return joinConditions('OR', tests);
}
