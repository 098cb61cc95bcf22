/** Milliseconds of one step. */
const stepMs = 5;

/**
 * Starts a clock that goes by the timers of this process: it stands still while the machine or the process does, and is slow where other
 * processes have the processor. For upper bounds that a wall clock would break.
 * @returns gives the milliseconds so far, and stops the clock
 */
export function startLoopClock(): () => number {
  let steps = 0;
  // A step that comes late is followed by the next one after a whole step: none is made up for.
  const timer = setInterval(() => {
    steps++;
  }, stepMs);
  return () => {
    clearInterval(timer);
    return steps * stepMs;
  };
}
