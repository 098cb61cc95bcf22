import { expect, test } from 'vitest';
import { type Deed, drawSchedule } from '../histories/draw-schedule.ts';

/** The things done in one round, in the order of their names, with the direction of clocks. */
const round = [
  'kill a gateway',
  'kill redis',
  'move a clock',
  'move a clock back',
  'move a clock forward',
  'pause a gateway',
  'pause a gateway that holds a lease',
  'pause redis',
];

function nameOf({ type, offsetMs }: Deed): string {
  if (Math.abs(offsetMs) < 5000) return type;
  return `${type} ${offsetMs < 0 ? 'back' : 'forward'}`;
}

test('each round of a history pauses, kills and moves everything once, with quiet times between', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const schedule = drawSchedule(seed, 3, 3);
    for (let at = 0; at < 3; at++) {
      const deeds = schedule.slice(at * round.length, (at + 1) * round.length);
      expect(deeds.map(nameOf).sort()).toEqual(round);
    }
    expect(schedule).toHaveLength(3 * round.length);
    expect(Math.min(...schedule.map(({ afterMs }) => afterMs))).toBeGreaterThan(4000);
  }
});

test('a seed repeats the schedule of its history, and another seed has another', () => {
  expect(drawSchedule(7, 2, 3)).toEqual(drawSchedule(7, 2, 3));
  expect(drawSchedule(8, 2, 3)).not.toEqual(drawSchedule(7, 2, 3));
});

test('each thing is done to each of the gateways', () => {
  const schedule = drawSchedule(7, 40, 3);
  const gateways = (type: Deed['type']) =>
    new Set(schedule.filter(deed => deed.type === type).map(({ gateway }) => gateway));
  for (const type of ['pause a gateway', 'kill a gateway', 'move a clock'] as const)
    expect([type, gateways(type).size]).toEqual([type, 3]);
});
