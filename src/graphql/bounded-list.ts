import type { GraphQLResolveInfo } from 'graphql';
import type { OperationBudget } from './operation-budget.ts';
import { selectedFields } from './selected-fields.ts';

/** How the items of a list become those of a field. */
export type ListOptions<From, To> = {
  /** Bytes of all items as JSON, at most. */
  readonly bytes: number;
  /** Brings an item into the form that its fields are read from. */
  readonly convert: (item: From) => To;
  /** Called once an item's fields were read; what it throws is the error of the whole list. */
  readonly check?: (() => void) | undefined;
};

/**
 * Gives a list within the budget of its operation: its fields are counted before any is read, and those of a long list are read
 * in slices.
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
  // The executor takes either; Pothos has no type for a field that may give one or the other.
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
