import type { FieldNode, GraphQLResolveInfo, SelectionSetNode } from 'graphql';
import { GatewayError } from '../base/errors.ts';
import { createOwnTurns, type Turns, takeTurns } from '../base/turns.ts';

/** Resolves for a long request, and for introspection, in a turn of the event loop of its own. */
export const ownTurn = createOwnTurns();

/** Maximum fields of one result; those of a list count for each item. Documented in `docs/graphql.md`. */
export const maxResultFields = 250_000;

/** Maximum bytes of one result, and of the rows it is made of. Documented in `docs/graphql.md`. */
export const maxResultBytes = 16 * 1024 * 1024;

/** Up to these an operation runs in one go: slicing it would cost more than other requests gain. */
const unsliced = { fields: 5_000, bytes: 256 * 1024 };

/** Above these an operation is large: few of them run at the same time. */
const large = { fields: 20_000, rowsBytes: 512 * 1024, bytes: 2 * 1024 * 1024 };

/** Takes a place among the large operations that run; resolves with the function that gives it back, to be called once. */
export type TakePlace = (signal: AbortSignal) => Promise<() => void>;

/** Limits the cost of one operation. It is counted during execution, so that fragments and aliases hide nothing. */
export type OperationBudget = {
  /** Aborted with the error as soon as the budget is exceeded, so that nothing runs on for a failed operation. */
  readonly signal: AbortSignal;
  /** Shared by all work for the operation. */
  readonly turns: Turns;
  /** Whether the operation so far can run in one go. */
  isSmall(): boolean;
  /**
   * Counts fields of the result, and an upper bound of the bytes of their JSON.
   * @throws GatewayError `result_too_large`
   */
  addFields(count: number, bytes: number): void;
  /**
   * Counts the bytes of rows that were fetched for the operation.
   * @throws GatewayError `result_too_large`
   */
  addRows(bytes: number): void;
  /**
   * Waits until a large operation may go on: few run at the same time, because each holds all its rows in memory.
   * @throws GatewayError `too_many_requests`, `overloaded` if too many wait already; the signal's reason when it aborts first
   */
  enterIfLarge(signal: AbortSignal): Promise<void>;
  /**
   * Counts bytes of the finished result.
   * @throws GatewayError `result_too_large`
   */
  addWritten(bytes: number): void;
  /** Releases what the operation holds; call it once, at its end. */
  close(): void;
};

/** Opens the budget of one operation. */
export function openBudget(takePlace: TakePlace): OperationBudget {
  const controller = new AbortController();
  let fields = 0;
  let estimatedBytes = 0;
  let rowsBytes = 0;
  let writtenBytes = 0;
  let entered: Promise<() => void> | undefined;

  function fail(what: string, limit: number): never {
    const message = `The result has more than ${limit} ${what}; allowed: ${limit}. Ask for fewer rows or fields`;
    if (!controller.signal.aborted) controller.abort(new GatewayError('result_too_large', message));
    throw controller.signal.reason;
  }

  const isLarge = () => fields > large.fields || rowsBytes > large.rowsBytes || estimatedBytes > large.bytes;
  return {
    signal: controller.signal,
    turns: takeTurns(),
    isSmall: () => fields <= unsliced.fields && estimatedBytes + rowsBytes <= unsliced.bytes,
    addFields(count, bytes) {
      fields += count;
      estimatedBytes += bytes;
      if (fields > maxResultFields) fail('fields', maxResultFields);
    },
    addRows(bytes) {
      rowsBytes += bytes;
      if (rowsBytes > maxResultBytes) fail('bytes of rows', maxResultBytes);
    },
    async enterIfLarge(signal) {
      if (!isLarge()) return;
      entered ??= takePlace(signal);
      await entered;
    },
    addWritten(bytes) {
      writtenBytes += bytes;
      if (writtenBytes > maxResultBytes) fail('bytes', maxResultBytes);
    },
    close() {
      entered?.then(
        release => release(),
        () => undefined, // it aborted while it waited, and has no place to give back
      );
    },
  };
}

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
