/** Milliseconds of work after which others get their turn, by default. */
const defaultSliceMs = 8;

/** Long work in slices: between two of them, the event loop serves everybody else. */
export type Turns = {
  /** Whether this slice is over; then `await next()`, and ask again. So waiting costs a promise only when it is due. */
  isOver(): boolean;
  /** Lets the event loop run what waits. All who wait go on in the same new slice. */
  next(): Promise<void>;
};

/** Starts work that is done in slices; a piece between two calls of `isOver` must be short itself. */
export function takeTurns(sliceMs = defaultSliceMs): Turns {
  let endMs = performance.now() + sliceMs;
  let turn: Promise<void> | undefined;
  return {
    isOver: () => performance.now() >= endMs,
    next() {
      turn ??= new Promise(resolve => {
        setImmediate(() => {
          turn = undefined;
          endMs = performance.now() + sliceMs;
          resolve();
        });
      });
      return turn;
    },
  };
}
