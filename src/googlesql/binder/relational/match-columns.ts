import type { BindContext } from '../../tree/bind-context.ts';
import type { BoundBody, BoundExpression, OutputColumn } from '../../tree/bound-tree.ts';
import { foldName } from '../../tree/scope.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { SetOperation } from '../../tree/syntax-tree.ts';

/** One branch of a set operation. */
export type BoundPart = { readonly body: BoundBody; readonly columns: readonly OutputColumn[] };

type Match = NonNullable<SetOperation['match']>;

/**
 * Brings the columns of branches that match by name into one order; missing columns of a branch are NULL.
 * @throws GatewayError `invalid_query` if names do not fit the mode
 */
export function matchColumns(
  context: BindContext,
  { match, at }: Pick<SetOperation, 'at'> & { readonly match: Match },
  parts: readonly BoundPart[],
): readonly BoundPart[] {
  const indexes = parts.map(part => indexOf(part, match, at));
  const sought = match.columns?.length ?? new Set(indexes.flatMap(index => [...index.keys()])).size;
  context.statement.count('columns', sought * parts.length, at);
  const names = match.columns
    ? listedNames({ columns: match.columns, mode: match.mode }, indexes)
    : commonNames(match, parts, indexes, at);
  return parts.map((part, i) => arranged(context, part, names, indexes[i]!));
}

type Index = ReadonlyMap<string, number>;

/** The position of each column name in a branch; only names that matter must be unique. */
function indexOf({ columns }: BoundPart, { mode, columns: list }: Match, at: SetOperation['at']): Index {
  const listed = list && new Set(list.map(({ name }) => foldName(name)));
  const index = new Map<string, number>();
  for (const [i, { name, anonymous }] of columns.entries()) {
    if (anonymous && mode !== 'INNER' && !listed)
      throw invalidQuery('Columns of a set operation that matches by name must have names', at);
    const key = foldName(name);
    if (anonymous || (listed && !listed.has(key))) continue;
    if (index.has(key))
      throw invalidQuery(`Duplicate column name ${name} in a set operation that matches by name`, at);
    index.set(key, i);
  }
  return index;
}

type Names = readonly { readonly key: string; readonly name: string }[];

function listedNames(
  { columns, mode }: { readonly columns: NonNullable<Match['columns']>; readonly mode: Match['mode'] },
  indexes: readonly Index[],
): Names {
  const seen = new Set<string>();
  for (const { name, at } of columns) {
    const key = foldName(name);
    if (seen.has(key)) throw invalidQuery(`Duplicate column name ${name} in the list of a set operation`, at);
    seen.add(key);
    const isThere =
      mode === 'FULL'
        ? indexes.some(index => index.has(key))
        : (mode === 'LEFT' ? indexes.slice(0, 1) : indexes).every(index => index.has(key));
    if (!isThere)
      throw invalidQuery(`Column ${name} of the list is not in every query that must have it`, at);
  }
  return columns.map(({ name }) => ({ key: foldName(name), name }));
}

function commonNames(
  { mode }: Match,
  parts: readonly BoundPart[],
  indexes: readonly Index[],
  at: SetOperation['at'],
): Names {
  const all = new Map<string, string>();
  for (const part of parts)
    for (const { name, anonymous } of part.columns)
      if (!anonymous && !all.has(foldName(name))) all.set(foldName(name), name);
  const first = indexes[0]!;
  const isEverywhere = (key: string) => indexes.every(index => index.has(key));
  const keys = [...all.keys()];
  if (mode === 'STRICT' && !keys.every(isEverywhere))
    throw invalidQuery('The queries of the set operation do not have the same column names', at);
  const kept =
    mode === 'FULL' ? keys : keys.filter(key => (mode === 'LEFT' ? first.has(key) : isEverywhere(key)));
  const isShared =
    mode === 'LEFT' ? indexes.slice(1).every(index => kept.some(key => index.has(key))) : kept.length > 0;
  if (!isShared) throw invalidQuery('The queries of the set operation have no column name in common', at);
  return kept.map(key => ({ key, name: all.get(key)! }));
}

/** The branch with these columns in this order. */
function arranged(context: BindContext, part: BoundPart, names: Names, index: Index): BoundPart {
  const { body, columns } = part;
  const positions = names.map(({ key }) => index.get(key));
  if (positions.length === columns.length && positions.every((position, i) => position === i)) return part;
  const missing = { kind: 'null', type: { kind: 'NULL' } } as const;
  const arrangedColumns = names.map(({ name }, i) => {
    const position = positions[i];
    return position === undefined
      ? { name, type: missing.type, anonymous: false }
      : { ...columns[position]!, name };
  });
  // DISTINCT depends on the columns that a query selects.
  const isPlain = body.kind === 'select' && !body.distinct;
  if (isPlain) {
    const items = positions.map(position => (position === undefined ? missing : body.items[position]!));
    return { body: { ...body, items }, columns: arrangedColumns };
  }
  const relation = context.statement.nextId();
  const items = positions.map(
    (position): BoundExpression =>
      position === undefined
        ? missing
        : { kind: 'column', type: columns[position]!.type, relation, index: position },
  );
  const query = { subsets: [], body, orderBy: [], columns };
  return {
    body: { kind: 'select', distinct: false, items, from: { kind: 'derived', relation, query } },
    columns: arrangedColumns,
  };
}
