import fc from 'fast-check';

const hourMs = 3_600_000;

/** One thing to be done to the fleet, and how long it lasts. */
export type Deed = {
  readonly type:
    | 'pause redis'
    | 'kill redis'
    | 'pause a gateway'
    | 'pause a gateway that holds a lease'
    | 'kill a gateway'
    | 'move a clock';
  readonly gateway: number;
  readonly forMs: number;
  /** Of a clock. */
  readonly offsetMs: number;
  /** Quiet time before it. */
  readonly afterMs: number;
};

/**
 * Draws what is done to a fleet: in each round everything once, in any order, with quiet times between in which what was
 * broken must be whole again.
 * @param seed the same one gives the same schedule
 */
export function drawSchedule(seed: number, rounds: number, gateways: number): readonly Deed[] {
  const deed = (type: Deed['type'], leastMs: number, mostMs: number, offsets: readonly number[] = [0]) =>
    fc.record({
      type: fc.constant(type),
      gateway: fc.nat(gateways - 1),
      forMs: fc.integer({ min: leastMs, max: mostMs }),
      offsetMs: fc.constantFrom(...offsets),
      afterMs: fc.integer({ min: 4500, max: 6500 }),
    });
  const round = fc
    .tuple(
      deed('pause redis', 500, 4000),
      deed('kill redis', 200, 3000),
      deed('pause a gateway', 500, 3000),
      // Longer than a lease lasts.
      deed('pause a gateway that holds a lease', 3800, 5000),
      deed('kill a gateway', 200, 1000),
      // Within what clocks may differ by, and far beyond.
      deed('move a clock', 5000, 9000, [-1000, 1000]),
      deed('move a clock', 5000, 9000, [-hourMs]),
      deed('move a clock', 5000, 9000, [hourMs]),
    )
    .chain(deeds => fc.shuffledSubarray([...deeds], { minLength: deeds.length }));
  return fc.sample(round, { seed, numRuns: rounds }).flat();
}
