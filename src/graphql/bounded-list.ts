import type { FieldNode, GraphQLResolveInfo, SelectionSetNode } from 'graphql';
import type { OperationBudget } from './operation-budget.ts';

/** How the items of a list become those of a field. */
export type ListOptions<From, To> = {
  /** Upper bound of the bytes of all items as JSON. */
  readonly bytes: number;
  /** Converts an item to the form from which its fields are read. */
  readonly convert: (item: From) => To;
  /** Called after an item's fields have been read; an error that it throws is the error of the whole list. */
  readonly check?: (() => void) | undefined;
};

/**
 * Resolves a list within the budget of its operation: its fields are counted before any is read, and a long list is read in slices
 * of the event loop.
 * @param signal aborts waiting
 * @throws GatewayError `result_too_large`, `overloaded`
 */
export async function boundedList<From, To>(
  budget: OperationBudget,
  items: readonly From[],
  info: GraphQLResolveInfo,
  { signal, bytes, convert, check }: ListOptions<From, To> & { readonly signal: AbortSignal },
): Promise<readonly To[]> {
  const { count, nameBytes } = selectedFields(info);
  budget.addFields(items.length * count, count * bytes + items.length * nameBytes);
  await budget.enterIfLarge(signal);
  if (budget.isSmall() && !check) return items.map(convert);
  // The executor accepts both; Pothos has no type for a field that may return either.
  return inSlices(budget, items, convert, check) as unknown as readonly To[];
}

/** The executor reads an item's fields before it asks for the next item. */
async function* inSlices<From, To>(
  { turns, signal }: OperationBudget,
  items: readonly From[],
  convert: (item: From) => To,
  check: (() => void) | undefined,
): AsyncGenerator<To> {
  for (const item of items) {
    yield convert(item);
    check?.();
    while (turns.isOver()) await turns.next();
    signal.throwIfAborted();
  }
}

/** The fields that an operation selects of each item of a list. */
type SelectedFields = {
  /** Fields of the result that an item has; of a list of scalars, the item itself. */
  readonly count: number;
  /** Upper bound of the bytes of their names. */
  readonly nameBytes: number;
};

/** Keyed by a field's array of nodes: the executor passes the same array for all values of the field. */
const known = new WeakMap<readonly FieldNode[], SelectedFields>();

/**
 * Counts the fields that an operation selects of each item of a list, those in fragments included; fields below them are counted
 * when they are resolved. Fields that `@skip` or `@include` leave out count too.
 */
function selectedFields({ fieldNodes, fragments }: GraphQLResolveInfo): SelectedFields {
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
  // A name is ASCII, with two quotation marks, a colon and a comma around it.
  for (const name of names) nameBytes += name.length + 4;
  const fields = { count: Math.max(1, names.size), nameBytes };
  known.set(fieldNodes, fields);
  return fields;
}
