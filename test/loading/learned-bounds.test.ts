import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databasePath } from '../../src/composition/compose-engine.ts';
import type { SourceFields } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { learningLimits, recordOf } from '../../src/loading/events/growing-fields.ts';
import { learnedFile } from '../../src/loading/events/learned-fields.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const source = 'deno-relay-logs';

let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway({
    environment: { COMPAT: 'logflare', LOGFLARE_PRIVATE_ACCESS_TOKEN: 'private' },
  });
});

afterAll(() => gateway.close());

const send = async (event: object) => {
  const answer = await gateway.send(`/api/logs?source_name=${source}`, {
    method: 'POST',
    body: JSON.stringify([event]),
  });
  expect([answer.status, answer.body.events]).toEqual([200, 1]);
};

/** What the source has learned, as a process finds it that starts now. */
async function learned(): Promise<SourceFields> {
  const file = learnedFile(databasePath({ DATA_DIR: gateway.directory }));
  return JSON.parse(await readFile(file, 'utf8'))[source];
}

/** Dotted paths of all fields that are no records. */
function leaves(fields: SourceFields, above = ''): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const own = recordOf(field);
    return own ? leaves(own, `${above}${name}.`) : [above + name];
  });
}

/** The answer of a query over the subset, once its event can be seen. */
const sees = (columns: string, message: string, row: object) =>
  expect
    .poll(async () => {
      const sql = `select ${columns} from function_edge_logs t, unnest(t.metadata) m where t.event_message = '${message}'`;
      const path = `/api/endpoints/query/logs.all?project=default&iso_timestamp_end=&sql=${encodeURIComponent(sql)}`;
      return (await gateway.get(path)).body;
    })
    .toEqual({ result: [row] });

describe('over HTTP', () => {
  test('a name of 128 characters is learned, a longer one is not', async () => {
    const [kept, long] = ['k'.repeat(128), 'l'.repeat(129)];
    await send({ event_message: 'names', metadata: { [kept]: 1, [long]: 2 } });
    await sees(`m.${kept} as n`, 'names', { n: 1 });
    expect(leaves(await learned())).toContain(`metadata.${kept}`);
    expect(JSON.stringify(await learned())).not.toContain(long);
  });

  test('a field of a record that is named as a column makes that column ambiguous for nobody', async () => {
    await send({ event_message: 'named', metadata: { id: 5, Event_Message: 'x', timestamp: 't' } });
    await sees('id is not null as has_id, event_message, m._id, m.timestamp as own', 'named', {
      has_id: true,
      event_message: 'named',
      _id: 5,
      own: 't',
    });
  });

  test('objects below the eighth level are text', async () => {
    const deep = { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } };
    await send({ event_message: 'depth', metadata: { a: deep } });
    await sees(
      '(select max(f.g) from unnest(m.a) a, unnest(a.b) b, unnest(b.c) c, unnest(c.d) d, unnest(d.e) e, unnest(e.f) f) as text',
      'depth',
      { text: '{"h":{"i":1}}' },
    );
    const paths = leaves(await learned());
    expect(Math.max(...paths.map(path => path.split('.').length))).toBe(learningLimits.depth);
  });

  test('no more than 200 fields are learned, also by a process that starts later, and each event is kept', async () => {
    const wide = (letter: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${letter}${n}`, n]));
    await send({ event_message: 'wide', metadata: wide('w', learningLimits.fields + 100) });
    await sees('m.w0 as first', 'wide', { first: 0 });
    const before = leaves(await learned());
    // The seven records of the test before count twice; the column of the original text is there in any case.
    expect(before.length + 14).toBeGreaterThanOrEqual(200);
    expect(before.length).toBeLessThanOrEqual(200 + 1);
    // Each call reads what was learned from the disk.
    const path = databasePath({ DATA_DIR: gateway.directory });
    const taken = await acceptEvents({
      databasePath: path,
      folder: rowsFolderOf(path),
      source: readSources().find(({ name }) => name === source)!,
      body: Buffer.from(JSON.stringify([{ event_message: 'late', metadata: { w1: 5, ...wide('z', 3) } }])),
      nowMs: Date.now(),
    });
    expect(taken).toMatchObject({ events: 1, lostValues: 3 });
    await sees('m.w1 as known', 'late', { known: 5 });
    expect(leaves(await learned())).toEqual(before);
  });
});
