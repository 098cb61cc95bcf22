/** Runs of a block: sides alternate by block, so that a slow second slows them all. */
const blockRuns = 2;

/**
 * Times several sides of one comparison.
 * @param blocks of each side
 * @returns the median milliseconds of each side
 */
export async function timeBlocks<Side extends string>(
  sides: Record<Side, () => Promise<unknown>>,
  blocks = 15,
): Promise<Record<Side, number>> {
  const names = Object.keys(sides) as Side[]; // its own keys
  const times = new Map<Side, number[]>(names.map(name => [name, []]));
  for (let block = 0; block < blocks; block++) {
    for (const name of names) times.get(name)?.push(...(await timeBlock(sides[name])));
  }
  return Object.fromEntries(names.map(name => [name, median(times.get(name) ?? [])])) as Record<Side, number>;
}

/** The middle one of some values. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** The times of a block's runs, after two that warm the caches which the other side has just used. */
async function timeBlock(run: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = -2; n < blockRuns; n++) {
    const startedMs = performance.now();
    await run();
    if (n >= 0) times.push(performance.now() - startedMs);
  }
  return times;
}
