import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { DuckDBConnection } from '@duckdb/node-api';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import type { Source } from '../../src/endpoints/source.ts';
import { ownSources, readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf, senderMark } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { createLoader } from '../../src/loading/loader.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const sources = readSources();
const source = sources.find(({ name }) => name === 'gotrue.logs.prod')!;

const nested = (depth: number, [open, close]: [string, string]) =>
  `${open.repeat(depth)}1${close.repeat(depth)}`;
const records: [string, string] = ['{"a":', '}'];
const lists: [string, string] = ['[', ']'];
const metadata = (text: string) => `{"metadata":${text}}`;
const times = [
  ...[
    '""',
    '0',
    '-1',
    '1e20',
    '1e400',
    '"infinity"',
    '"epoch"',
    '"0000-00-00"',
    '"-0001-01-01"',
    'true',
    '[]',
    '{}',
  ],
  ...['"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59.999999Z"', '"2026-02-30"', '"2026-01-01T25:00:00Z"'],
  ...[
    '["2026-01-01T00:00:00Z"]',
    '1737000000',
    '1737000000000000000',
    '"1737000000.123"',
    '253402300799999999',
  ],
];
const values = [
  '1',
  '"s"',
  'true',
  '{"a":1}',
  '[1,"a"]',
  '[[1],[2]]',
  '[{"a":1},5]',
  '1.5',
  '[]',
  '{}',
  '[null]',
  '[{"a":[{}]},{"b":{"c":"x"}}]',
];

/** Bodies of one event each, whose odd part is in the name; one after the other, in one database. */
const odd: Record<string, readonly string[]> = {
  'NUL characters': ['{"event_message":"a\\u0000b","metadata":{"level":"\\u0000","neu":"\\u0000"}}'],
  'halves of surrogate pairs': [
    '{"id":"\\ud800","event_message":"a\\ud800b","metadata":{"k\\ud800":"\\udc00","o":{"z":["\\udfff"]}}}',
  ],
  'names that every object of JavaScript has': [
    '{"constructor":"x","toString":"y","valueOf":1,"toJSON":"z","then":2,"length":3,"__proto__":{"a":1},"metadata":{"constructor":"z","toString":2,"hasOwnProperty":true,"__proto__":5}}',
  ],
  'names that SQL gives': [
    '{"rowid":1,"place":2,"r":"x","list":[1],"select":1,"_stored":1,"_p":1,"metadata":{"_p":true,"rowid":1}}',
  ],
  'columns in another letter case': [
    '{"Timestamp":"garbage","ID":{"a":1},"Event_Message":5,"METADATA":{"LEVEL":"x"}}',
    '{"TIMESTAMP":"2020-01-01T00:00:00Z","timestamp":"2021-01-01T00:00:00Z","Id":"own"}',
  ],
  'names of no letters': [
    JSON.stringify({
      '': 1,
      ' ': 2,
      '.': 3,
      'a.b': 4,
      a_b: 5,
      '"': 6,
      "'; drop table x; --": 7,
      sélect: 8,
      '💥': 9,
      ['k'.repeat(5000)]: 10,
    }),
  ],
  'ids of every kind': ['1e400', 'true', '{}', '[1]', '-0', '""', `"${'x'.repeat(300)}"`, '5', 'null'].map(
    id => `{"id":${id}}`,
  ),
  'numbers beyond their types': [
    metadata(
      '{"status":1e400,"f":-1e400,"b":123456789012345678901234567890,"c":9223372036854775807,"d":9223372036854775808,"e":1e-400,"g":5e-324,"h":-0.0}',
    ),
    metadata('{"f":12345678901234567890,"g":" ","c":1.5,"h":[]}'),
  ],
  'every type in one field, after the other': [...values, ...values.toReversed()].map(
    value => `{"top":${value},"metadata":{"mixed":${value}}}`,
  ),
  'nothing at all': [
    '{}',
    '{"event_message":null,"timestamp":null,"metadata":null,"id":null,"project":null}',
    metadata('[null,{},[]]'),
    metadata('{"auth_event":[null]}'),
  ],
  'a megabyte': [
    `{"event_message":"${'é'.repeat(1_000_000)}","metadata":{"level":5}}`,
    `{"event_message":"${'\\u0001'.repeat(160_000)}","metadata":{"auth_event":"x"}}`,
  ],
  'times of every kind': times.map(time => `{"timestamp":${time},"metadata":{"timestamp":${time}}}`),
  'deep nesting': [
    metadata(nested(3000, records)),
    metadata(`{"deep":${nested(3000, lists)}}`),
    metadata(nested(500, lists)),
    `{"timestamp":${nested(2000, lists)},"id":${nested(2000, lists)}}`,
  ],
  'very many records': [metadata(`[${Array(100_000).fill('{}').join()}]`)],
};

test('whatever an event holds, it is stored, and so are those that come with it', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  const events: LoadingEvent[] = [];
  const accept = (body: string) =>
    acceptEvents({ databasePath, folder, source, body: Buffer.from(body), nowMs: Date.now() });
  let expected = 0;
  for (const [what, bodies] of Object.entries(odd)) {
    for (const body of bodies) {
      const plain = JSON.stringify({ id: `plain-${expected}`, event_message: what });
      expect(await accept(`[${plain},${body}]`), what).toMatchObject({ events: 2, rejected: 0 });
      expected += 2;
    }
  }
  while (await storeAccepted({ databasePath, sources, emit: event => void events.push(event) }));
  expect(events).toEqual([]);
  expect((await readdir(folder)).filter(name => name.endsWith('.rows'))).toEqual([]);
  const found = await askFile(
    readCurrent(databasePath).path,
    `SELECT count(*)::INT, count(DISTINCT id)::INT, count(*) FILTER (starts_with(id, 'plain-'))::INT,
      count(*) FILTER (timestamp IS NULL OR id IS NULL)::INT, max(length(event_message))::INT FROM "${source.name}"`,
  );
  expect(found).toEqual([[expected, expected, expected / 2, 0, 1_000_000]]);
});

/** A database of its own, into which events come, and what is in it once all are stored. */
async function openDatabase(own: Source = source) {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  return {
    accept: (event: object | string, to = own) => {
      const body = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event));
      return acceptEvents({ databasePath, folder, source: to, body, nowMs: Date.now() });
    },
    async ask(sql: string, from = own) {
      const failures: LoadingEvent[] = [];
      const emit = (event: LoadingEvent) => void failures.push(event);
      while (await storeAccepted({ databasePath, sources: [from], emit }));
      expect(failures).toEqual([]);
      return askFile(readCurrent(databasePath).path, sql);
    },
  };
}

test('where two processes learn one field as two types at the same time, the value that does not fit is kept', async () => {
  const database = await openDatabase();
  // Each of them reads what was learned before the other one writes.
  await Promise.all([
    database.accept({ id: 'number', Fresh: 5 }),
    database.accept({ id: 'text', fresh: 'five' }),
  ]);
  // The table gets `_original` with the first value that does not fit.
  const found = await database.ask(
    `SELECT id, fresh::VARCHAR, to_json(t)->>'_original' IS NOT NULL FROM "${source.name}" t ORDER BY id`,
  );
  const [number, text] = found;
  expect([
    [
      ['number', '5', false],
      ['text', null, true],
    ],
    // A number is a text as well.
    [
      ['number', '5', false],
      ['text', 'five', false],
    ],
  ]).toContainEqual([number, text]);
});

test('an event whose id is a number beyond 2^53 is the same one when it is sent again', async () => {
  const database = await openDatabase();
  const event = '{"id":1234567890123456789,"event_message":"once"}';
  for (let times = 0; times < 2; times++)
    expect(await database.accept(event)).toMatchObject({ events: 1, lostValues: 0 });
  expect(await database.ask(`SELECT id FROM "${source.name}"`)).toEqual([['1234567890123456789']]);
});

test('an event of 1970 has no more looked at for those that came before than one of today', async () => {
  const database = await openDatabase();
  const today = new Date().toISOString();
  const events = ['1970-01-01T00:00:01Z', '1970-01-02T12:00:00Z', '2001-01-01T00:00:00Z', today].map(
    (timestamp, id) => ({ id: `${id}`, timestamp }),
  );
  const run = vi.spyOn(DuckDBConnection.prototype, 'run');
  onTestFinished(() => void run.mockRestore());
  for (let times = 0; times < 2; times++) {
    await database.accept(JSON.stringify([...events, ...events]));
    expect(await database.ask(`SELECT count(*)::INT FROM "${source.name}"`)).toEqual([[4]]);
  }
  const spans = run.mock.calls.flatMap(([sql]) => {
    const [, from, to] = /BETWEEN '([^']+)'::TIMESTAMPTZ - .*AND '([^']+)'::TIMESTAMPTZ \+/.exec(sql) ?? [];
    return from && to ? [(Date.parse(to) - Date.parse(from)) / 86_400_000] : [];
  });
  expect(spans.length).toBeGreaterThanOrEqual(6);
  expect(Math.max(...spans)).toBeLessThan(2);
  // Too many times far from each other are one span again.
  await database.accept(
    JSON.stringify(
      Array.from({ length: 20 }, (_, year) => ({
        id: `far ${year}`,
        timestamp: `${2000 + year}-06-01T00:00:00Z`,
      })),
    ),
  );
  expect(await database.ask(`SELECT count(*)::INT FROM "${source.name}"`)).toEqual([[24]]);
});

test('integers with more digits than a FLOAT64 stay whole, whatever another sender puts into their field', async () => {
  const database = await openDatabase();
  const large = '9007199254740993';
  const events = [
    '{"id":"1","metadata":{"ref":7,"share":7}}',
    `{"id":"2","metadata":{"ref":${large}}}`,
    '{"id":"3","metadata":{"ref":1.5,"share":1.5}}',
    `{"id":"4","metadata":{"ref":${large},"share":${large}}}`,
    `{"id":"5","metadata":{"ref":"${large}","share":9007199254740992}}`,
  ];
  const lost: number[] = [];
  for (const event of events) lost.push((await database.accept(event)).lostValues);
  expect(lost).toEqual([0, 0, 1, 1, 0]);
  const asked = `SELECT id, metadata.ref::VARCHAR, metadata.share::VARCHAR, _original FROM "${source.name}" ORDER BY id`;
  expect(await database.ask(asked)).toEqual([
    ['1', '7', '7.0', null],
    ['2', large, null, null],
    ['3', null, '1.5', events[2]],
    ['4', large, null, events[3]],
    ['5', large, '9007199254740992.0', null],
  ]);
});

test('decimals of events are exact where their column is', async () => {
  const own = parseSource(
    'calls.yaml',
    'name: calls\ncolumns: { price: NUMERIC, prices: { type: NUMERIC, repeated: true }, note: STRING }\n',
    '/',
  );
  const database = await openDatabase(own);
  const long = '12345678901234567890.123456789';
  await database.accept(`{"price":${long},"prices":[${long}],"note":${long},"other":${long},"n":5}`);
  await database.accept(`{"price":1,"other":1,"n":${long}}`);
  const asked =
    'SELECT price::VARCHAR, prices::VARCHAR, note, other::VARCHAR, n::VARCHAR FROM calls ORDER BY price DESC';
  expect(await database.ask(asked)).toEqual([
    [long, `[${long}]`, long, '1.2345678901234567e+19', '5.0'],
    ['1.000000000', null, null, '1.0', '1.2345678901234567e+19'],
  ]);
});

test.each(['gotrue.logs.prod', 'deno-relay-logs'])(
  'an id belongs to its project: that of another one is another event, in %s',
  async name => {
    const own = sources.find(each => each.name === name)!;
    const database = await openDatabase(own);
    for (const project of ['a', 'b', 'a', undefined, undefined]) {
      await database.accept({ id: '1', project, event_message: `of ${project}` });
      await database.ask('SELECT 1');
    }
    // In one body as well.
    await database.accept(JSON.stringify(['a', 'b', 'c', 'c'].map(project => ({ id: '2', project }))));
    const found = await database.ask(`SELECT id, event_message FROM "${name}" ORDER BY ALL`);
    expect(found).toEqual([
      ['1', 'of a'],
      ['1', 'of b'],
      ['1', 'of undefined'],
      ['2', null],
      ['2', null],
      ['2', null],
    ]);
  },
);

test("the first instant of all, Go's word for no time, is none", async () => {
  const database = await openDatabase();
  const zero = '0001-01-01T00:00:00Z';
  await database.accept({ id: 'a', timestamp: zero, metadata: { timestamp: '2025-01-16T04:00:00Z' } });
  await database.accept({ id: 'b', timestamp: zero, metadata: { timestamp: zero } });
  const asked = `SELECT id, timestamp::VARCHAR, _original IS NOT NULL FROM "${source.name}" ORDER BY id`;
  const [first, second] = await database.ask(asked);
  expect(first).toEqual(['a', '2025-01-16 04:00:00+00', true]);
  expect(Date.parse(String(second?.[1]))).toBeGreaterThan(Date.parse('2026-01-01'));
});

test('a list named batch is the own one of an event that has a message', async () => {
  const database = await openDatabase();
  await database.accept(
    '{"batch":[1,2],"event_message":"own"}\n{"Message":"too","batch":[{"event_message":"x"}]}',
  );
  await database.accept('{"source":"x","batch":[{"event_message":"one"},{"event_message":"two"}]}');
  expect(await database.ask(`SELECT event_message, batch FROM "${source.name}" ORDER BY 1`)).toEqual([
    ['one', null],
    ['own', ['1', '2']],
    ['too', []],
    ['two', null],
  ]);
});

test('columns of JSON and times are what events say, and nobody has an empty name', async () => {
  const own = parseSource(
    'calls.yaml',
    'name: calls\nproject: project\ncolumns: { n: INT64, project: STRING, raw: JSON, at: TIMESTAMP, day: DATE, times: { type: TIMESTAMP, repeated: true } }\n',
    '/',
  );
  const database = await openDatabase(own);
  const events = [
    {
      n: 1,
      project: '',
      raw: ['a'],
      at: 1737000000,
      day: 1737000000,
      times: [1737000000123, '2025-01-16T04:00:00Z'],
    },
    { n: 2, project: 'p', raw: [{ b: 1 }], at: 1737000000123456, times: 1737000000 },
  ];
  for (const event of events)
    expect(await database.accept(event)).toMatchObject({ events: 1, lostValues: 0 });
  const asked =
    'SELECT project, raw::VARCHAR, calls.at::VARCHAR, day::VARCHAR, times::VARCHAR FROM calls ORDER BY n';
  expect(await database.ask(asked)).toEqual([
    ['default', '["a"]', '2025-01-16 04:00:00+00', '2025-01-16', "['2025-01-16 04:00:00.123+00', '2025-01-16 04:00:00+00']"],
    ['p', '[{"b":1}]', '2025-01-16 04:00:00.123456+00', null, "['2025-01-16 04:00:00+00']"],
  ]); // biome-ignore format: a table
});

test('events with ids are stored beside rows from before there were any', async () => {
  const calls = (id: string) =>
    parseSource(
      'calls.yaml',
      `name: calls\ntime: timestamp\ncolumns: { ${id}, timestamp: TIMESTAMP, event_message: STRING }\n`,
      '/',
    );
  const before = calls('n: INT64');
  const database = await openDatabase(before);
  await database.accept({ event_message: 'old' });
  expect(await database.ask('SELECT event_message FROM calls')).toEqual([['old']]);
  const after = calls('id: { type: STRING, generated: true }');
  for (const id of ['a', 'b', 'a']) await database.accept({ id, event_message: id }, after);
  expect(await database.ask('SELECT event_message FROM calls ORDER BY 1', after)).toEqual([
    ['a'],
    ['b'],
    ['old'],
  ]);
});

test('a body of too many events is refused, and nothing of it is there', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  const body = Buffer.from('[{},{},{}]');
  const taken = acceptEvents({ databasePath, folder, source, body, nowMs: Date.now(), maxEvents: 2 });
  await expect(taken).rejects.toMatchObject({ code: 'body_too_large' });
  expect(await readdir(folder)).toEqual([]);
});

test('where too many rows wait, those of a sender that has few of them get in', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  const body = Buffer.from(JSON.stringify({ event_message: 'm'.repeat(1000) }));
  await acceptEvents({ databasePath, folder, sender: senderMark('loud'), source, body, nowMs: Date.now() });
  const options = { databasePath, sourcesDirectory: ownSources, maxWaitingBytes: 1000 };
  const loader = createLoader({ ...options, emit: () => undefined });
  const send = (caller: string) =>
    loader.loadEvents(source.name, { body: Readable.from([body]), encoding: undefined }, caller);
  await expect(send('loud')).rejects.toThrow('Too many rows wait');
  expect(await send('quiet')).toMatchObject({ events: 1 });
  await loader.close();
});

test('senders get 503 with a time where more comes than may wait, and each acknowledged event is there once', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const options = { databasePath, sourcesDirectory: ownSources, maxWaitingBytes: 1000 };
  const loader = createLoader({ ...options, emit: () => undefined });
  onTestFinished(() => loader.close());
  const acknowledged: number[] = [];
  const send = async (n: number) => {
    const body = Buffer.from(JSON.stringify({ event_message: `${n}`, metadata: { text: 'm'.repeat(2000) } }));
    await loader.loadEvents(source.name, { body: Readable.from([body]), encoding: undefined });
    acknowledged.push(n);
  };
  // All of them come while nothing waits.
  const answers = await Promise.allSettled(Array.from({ length: 30 }, (_none, n) => send(n)));
  const refusals = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason] : []));
  expect(refusals.length).toBeGreaterThan(0);
  for (const reason of refusals) expect(reason).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
  const stored = async () => {
    const rows = await askFile(readCurrent(databasePath).path, `SELECT event_message FROM "${source.name}"`);
    return rows.map(([text]) => Number(text)).sort((a, b) => a - b);
  };
  await expect.poll(stored, { timeout: 30_000 }).toEqual(acknowledged.toSorted((a, b) => a - b));
  await expect
    .poll(
      () =>
        send(30).then(
          () => 'taken',
          error => error.code,
        ),
      { timeout: 30_000 },
    )
    .toBe('taken');
});

test('senders that send byte by byte make way for one that comes when all places are taken', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const loader = createLoader({ databasePath, sourcesDirectory: ownSources, emit: () => undefined });
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const never = Promise.withResolvers<Buffer>();
  const broken = Promise.withResolvers<Buffer>();
  for (const { promise } of [never, broken]) promise.catch(() => undefined);
  broken.reject(new Error('read'));
  const slow = Array.from({ length: 32 }, () =>
    loader.loadEvents(source.name, { body: dripping(never.promise), encoding: undefined }).then(
      () => 'taken',
      error => error.code,
    ),
  );
  // A body that fails at once says that it was read.
  const failing = { body: dripping(broken.promise), encoding: undefined };
  await expect(loader.loadEvents(source.name, failing)).rejects.toThrow('Too many requests are sending rows');
  // Whoever brings nothing yet gets in.
  const event = { body: dripping(Promise.resolve(Buffer.from('{}]'))), encoding: undefined };
  expect(await loader.loadEvents(source.name, event, 'another token')).toMatchObject({ events: 1 });
  now.mockReturnValue(2001);
  await expect(loader.loadEvents(source.name, failing)).rejects.toThrow('can not be written');
  expect(await slow[0]).toBe('overloaded');
  now.mockRestore();
  never.reject(new Error('gone'));
  expect(new Set(await Promise.all(slow.slice(1)))).toEqual(new Set(['unavailable']));
  await loader.close();
});

async function* dripping(next: Promise<Buffer>): AsyncGenerator<Buffer> {
  yield Buffer.from('[');
  yield await next;
}
