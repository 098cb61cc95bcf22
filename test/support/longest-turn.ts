/**
 * Does something, and watches the event loop meanwhile.
 * @returns the result, and milliseconds of processor time of the longest turn; other processes hardly change it
 */
export async function longestTurn<T>(act: () => Promise<T>): Promise<{ result: T; turnMs: number }> {
  // What it does at once is its first turn.
  let before = process.threadCpuUsage();
  const action = act();
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  void action.then(end, end);
  let turnMs = 0;
  for (; !isOver; before = process.threadCpuUsage()) {
    await new Promise(resolve => setImmediate(resolve));
    const { user, system } = process.threadCpuUsage(before);
    turnMs = Math.max(turnMs, (user + system) / 1000);
  }
  return { result: await action, turnMs };
}

/**
 * Milliseconds of processor time that a turn with a large JSON text in it may take: 100, as the contract says, or four times of what reading the text
 * takes where that is more: the processor is slower than those it is meant for.
 */
export function mostTurnMs(json: string): number {
  const readMs = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    JSON.parse(json);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max(100, 4 * Math.min(...readMs));
}
