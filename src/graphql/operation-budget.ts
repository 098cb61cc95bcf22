import { GatewayError } from '../base/errors.ts';
import { type Turns, takeTurns } from '../base/turns.ts';

/** Fields of one result, those of lists counted for each item. Documented in `docs/graphql.md`. */
export const maxResultFields = 250_000;

/** Bytes of one result, and of the rows that it is made of. Documented in `docs/graphql.md`. */
export const maxResultBytes = 16 * 1024 * 1024;

/** Up to these an operation runs in one go: slicing it would cost more than it gives others. */
const unsliced = { fields: 5_000, bytes: 256 * 1024 };

/** Above these an operation is large: few of them run at the same time. */
const large = { fields: 20_000, rowsBytes: 512 * 1024, bytes: 2 * 1024 * 1024 };

/** A place among the large operations that run: resolves with what gives it back, which is called once. */
export type TakePlace = (signal: AbortSignal) => Promise<() => void>;

/** What one operation may cost: counted while it executes, so that no fragment or alias hides anything. */
export type OperationBudget = {
  /** Aborted with the error as soon as the budget is exceeded: whatever still runs for the operation is useless. */
  readonly signal: AbortSignal;
  /** Shared by all that is done for the operation. */
  readonly turns: Turns;
  /** Whether the operation so far can run in one go. */
  isSmall(): boolean;
  /**
   * Counts fields of the result, and an upper bound of the bytes they are written with.
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
