import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { EngineGoneError } from '../../src/duckdb/engine-child.ts';
import { toCallersError } from '../../src/duckdb/engine-errors.ts';
import type { EngineEvent } from '../../src/duckdb/engine-events.ts';

function translate(error: unknown) {
  const events: EngineEvent[] = [];
  const translated = toCallersError(error, 'logs.all', event => events.push(event));
  return { translated, events };
}

test.each([
  [
    "Conversion Error: Could not convert string 'abc' to INT64\n\nLINE 1: select secret\n   ^",
    'Bad int64 value: abc',
  ],
  [
    "Conversion Error: Could not convert string 'x' to INT64 when casting from source column hidden",
    'Bad int64 value: x',
  ],
  [
    "Conversion Error: Could not convert string '! Bad bool value: it's' to INT32\n\nLINE 1: select secret",
    "Bad bool value: it's",
  ],
  ['Invalid Input Error: ! Invalid time zone: Nowhere/Land', 'Invalid time zone: Nowhere/Land'],
  ['Out of Range Error: Overflow in addition of INT64 (1 + 2)!', 'int64 overflow: 1 + 2'],
  [
    'Out of Range Error: words of a later DuckDB',
    'A value is out of range, or is not one that its function accepts',
  ],
  [
    'Binder Error: Non-inner join on correlated columns not supported',
    'A correlated subquery of this kind is not supported',
  ],
  [
    'Not implemented Error: Cannot perform non-inner join on subquery!',
    'A correlated subquery of this kind is not supported',
  ],
  ['Invalid Input Error: missing ): (', 'Cannot parse regular expression: missing ): ('],
])("a fault of the query's own values is the caller's: %s", (message, expected) => {
  const { translated, events } = translate(new Error(message));
  expect(translated).toMatchObject({ code: 'invalid_query', message: expected });
  expect(events).toEqual([]);
});

test.each([
  ["Conversion Error: Could not convert string '$' to INT64", 'Bad int64 value: '],
  ['Invalid Input Error: ! $', ''],
  ['Invalid Input Error: missing ): $', 'Cannot parse regular expression: missing ): '],
])(
  'contract 11.4: a message repeats the beginning of a long value, whole words of it: %s',
  (message, start) => {
    const said = (value: string) =>
      (translate(new Error(message.replace('$', value))).translated as GatewayError).message;
    const unbroken = said('1:'.repeat(500_000));
    expect(unbroken.startsWith(`${start}1:1:`)).toBe(true);
    expect(unbroken).toHaveLength(1001);
    expect(said(`${'word '.repeat(180)}${'x'.repeat(120)}@example.com`)).toBe(
      `${start}${'word '.repeat(180).trimEnd()}…`,
    );
  },
);

test.each([
  'Binder Error: Referenced column "hidden" not found in FROM clause!',
  'Catalog Error: Table with name cloudflare.logs.prod does not exist!',
  'Permission Error: Cannot access file "/etc/passwd" - file system operations are disabled by configuration',
  'Invalid Input Error: Cannot execute statement of type "INSERT" on database "logs"',
  'IO Error: Could not read /data/logs.duckdb',
])('a fault of the engine shows nothing to the caller, and is an event: %s', message => {
  const { translated, events } = translate(new Error(message));
  expect(translated).toMatchObject({ code: 'engine_failed', message: 'The engine refused the query' });
  expect(events).toEqual([{ type: 'engine.bug', endpoint: 'logs.all', message }]);
});

test.each([
  [new Error('Out of Memory Error: could not allocate block'), 'engine_failed'],
  [new EngineGoneError('out of memory', 'out of memory'), 'engine_failed'],
  [new EngineGoneError('SIGKILL', 'crash'), 'engine_failed'],
  [new EngineGoneError('exit code 1', 'no start'), 'unavailable'],
  [new DOMException('aborted', 'AbortError'), 'cancelled'],
  [new GatewayError('deadline_exceeded', 'late'), 'deadline_exceeded'],
])('%s answers %s', (error, code) => {
  const { translated, events } = translate(error);
  expect(translated).toMatchObject({ code });
  expect(events).toEqual([]);
});
