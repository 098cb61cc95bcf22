import { expect, test } from 'vitest';
import { didYouMean, nearestName } from '../../src/base/nearest-name.ts';

test.each([
  ['prject', ['project', 'path'], 'project'],
  ['Projcet', ['project'], 'project'],
  ['EVENT_MESAGE', ['id', 'event_message'], 'event_message'],
  ['ip', ['id'], undefined],
  ['idd', ['id'], 'id'],
  ['nothing', ['id', 'timestamp'], undefined],
  ['abcdef', ['abcxyz'], undefined],
  ['abcdef', ['abxyef', 'abcdeg'], 'abcdeg'],
  ['x'.repeat(65), ['x'.repeat(64)], undefined],
])('%s among %j', (name, candidates, nearest) => {
  expect(nearestName(name, candidates)).toBe(nearest);
  expect(didYouMean(name, candidates)).toBe(nearest === undefined ? '' : `; Did you mean ${nearest}?`);
});

test('looks at so many names and no further', () => {
  let looked = 0;
  function* endless() {
    for (;;) yield `column_${looked++}`;
  }
  expect(nearestName('something_else', endless())).toBeUndefined();
  expect(looked).toBeLessThan(1100);
});
