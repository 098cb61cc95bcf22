import type { FieldNode, GraphQLResolveInfo, SelectionSetNode } from 'graphql';

/** What is selected of each item of a list. */
export type SelectedFields = {
  /** Fields of the result that an item has; of a list of scalars, the item itself. */
  readonly count: number;
  /** Bytes of their names, at most. */
  readonly nameBytes: number;
};

/** By the nodes of one field, which the executor passes for all its values. */
const known = new WeakMap<readonly FieldNode[], SelectedFields>();

/**
 * Counts the fields that an operation selects of each item of the list that is being resolved, through fragments; those below
 * them are counted where they are resolved. What `@skip` or `@include` leave out counts too.
 */
export function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): SelectedFields {
  const found = known.get(fieldNodes);
  if (found) return found;
  const names = new Set<string>();
  const spread = new Set<string>();
  const collect = ({ selections }: SelectionSetNode) => {
    for (const selection of selections) {
      if (selection.kind === 'Field') {
        names.add((selection.alias ?? selection.name).value);
      } else if (selection.kind === 'InlineFragment') {
        collect(selection.selectionSet);
      } else if (!spread.has(selection.name.value)) {
        spread.add(selection.name.value);
        const fragment = fragments[selection.name.value];
        if (fragment) collect(fragment.selectionSet);
      }
    }
  };
  for (const { selectionSet } of fieldNodes) if (selectionSet) collect(selectionSet);
  let nameBytes = 0;
  // A name is ASCII; quotation marks, a colon and a comma stand around it.
  for (const name of names) nameBytes += name.length + 4;
  const fields = { count: Math.max(1, names.size), nameBytes };
  known.set(fieldNodes, fields);
  return fields;
}
