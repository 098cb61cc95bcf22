import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import type { Column } from '../src/base/rows.ts';
import { composeGateway } from '../src/composition/composition-root.ts';
import { readConfig } from '../src/composition/config.ts';
import { growingTexts, textOfLength } from '../test/googlesql/growing-texts.ts';
import type { StallInput } from './stall-input.ts';

const header = (name: string, digit: number, settings: string) => `/*
id: 57a11000-0000-4000-8000-00000000000${digit}
name: ${name}
description: Rows that the bench makes.
columns:
  id: { type: STRING, description: A text. }
  n: { type: INT64, description: A number. }
sandbox: true
${settings}*/
select 1 as id, 2 as n`;

type Answered = { readonly columns: readonly Column[]; readonly rowsJson: Buffer; readonly rowCount: number };

const columns: readonly Column[] = [
  { name: 'id', type: 'STRING', mode: 'NULLABLE' },
  { name: 'n', type: 'INT64', mode: 'NULLABLE' },
];

/** Thousand rows. */
function rowsOf(value: (n: number) => unknown, number = '1'): Answered {
  const rows = Array.from({ length: 1000 }, (_, n) => `{"id":${JSON.stringify(value(n))},"n":${number}}`);
  return { columns, rowsJson: Buffer.from(`[${rows.join(',')}]`), rowCount: rows.length };
}

const times = (count: number, make: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ');
const aliases = (count: number, field: string) => times(count, n => `a${n}: ${field}`);

/** Results by the caller's SQL. */
const results: Record<string, () => Answered> = {
  short: () => rowsOf(() => 'x'),
  exact: () => rowsOf(() => 'x'.repeat(200), '9007199254740993'),
  wide: () => rowsOf(n => `${n}${'x'.repeat(15_500)}`),
  huge: () => rowsOf(n => `${n}${'x'.repeat(60_000)}`),
};

const token = 'bench';
let opened: Promise<number> | undefined;

/**
 * Opens a gateway over an engine that has its rows ready; never closed, the bench ends with its process.
 * @returns its port
 */
function open(): Promise<number> {
  opened ??= (async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bench-stalls-'));
    process.once('exit', () => rmSync(directory, { recursive: true }));
    await writeFile(join(directory, 'rows.sql'), header('rows', 1, ''));
    await writeFile(join(directory, 'kept.sql'), header('kept', 2, 'cacheSeconds: 60\n'));
    const made = new Map(Object.entries(results).map(([sql, make]) => [sql, make()]));
    const engine = {
      describe: async () => columns,
      subsets: async () => [],
      tablesVersion: async () => '',
      check: async () => [],
      explain: async () => ({ columns, sources: [] }),
      run: async ({ callerSql = 'short' }) => made.get(callerSql) ?? made.get('short')!,
      usage: () => ({ waiting: 0, memoryBytes: 0 }),
      close: async () => undefined,
    };
    const config = readConfig({ DATA_DIR: directory, SQL_DIR: directory });
    const deps = { clock: systemClock, emit: () => undefined, accessToken: token, engine };
    const { server } = await composeGateway(config, deps);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    server.unref();
    return (server.address() as AddressInfo).port; // it listens on TCP
  })();
  return opened;
}

/** Asks as a client that throws away what it reads, for it shares the event loop that is measured. */
async function send(path: string, headers: Record<string, string>, body: object): Promise<void> {
  const port = await open();
  const sent = request({
    port,
    path,
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', ...headers },
  });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let start = '';
  response.on('data', (part: Buffer) => {
    if (start.length < 200) start += part.toString('utf8', 0, 200);
  });
  await once(response, 'end');
  if (response.statusCode !== 200 || start.startsWith('{"errors"')) throw new Error(start);
}

const graphql = (name: string, query: string): StallInput => ({
  name: `graphql: ${name}`,
  run: () => send('/graphql', {}, { query }),
});

const rest = (name: string, endpoint: string, sql: string, encoding: string): StallInput => ({
  name: `rest: ${name}`,
  run: () => send(`/api/endpoints/query/${endpoint}`, { 'accept-encoding': encoding }, { sql }),
});

/** What makes large answers, and what asks for larger ones. */
export async function answerStalls(): Promise<StallInput[]> {
  await open();
  const texts = Object.values(growingTexts);
  return [
    graphql('249 aliases of 1,000 rows, the most there may be', `{ rows(sql: "short") { ${aliases(249, 'id')} } }`),
    graphql('50 fields of 5 of 1,000 rows', `{ ${times(50, f => `f${f}: rows(sql: "short") { ${aliases(4, 'id')} }`)} }`),
    graphql('60 fields of 1,100 aliases through a fragment', `{ ${times(60, f => `f${f}: rows(sql: "short") { ...F }`)} } fragment F on RowsRow { ${aliases(1100, 'id')} }`),
    graphql('15 MB of rows', '{ rows(sql: "wide") { id } }'),
    graphql('15 MB of rows with 3 aliases', '{ rows(sql: "wide") { a: id b: id c: id } }'),
    graphql('exact integers', '{ rows(sql: "exact") { id n } }'),
    graphql('introspection near the limit', `{ __schema { ${aliases(30, 'types { fields { ...F } }')} } } fragment F on __Field { ${aliases(25, 'name')} }`),
    graphql('introspection beyond it', `{ __schema { ${aliases(150, 'types { fields { ...F } }')} } } fragment F on __Field { ${aliases(900, 'name')} }`),
    graphql('450 equal fields', `{ ${times(450, () => 'rows(sql: "short") { id }')} }`),
    graphql('100 aliases of one field', `{ ${aliases(100, 'rows(sql: "short") { id n }')} }`),
    graphql('a chain of 99 fragments', `{ rows { ...F0 } } ${times(99, n => `fragment F${n} on RowsRow { ${aliases(10, 'id')} ...F${n + 1} }`)} fragment F99 on RowsRow { id }`),
    graphql('fifteen fields of 60 KB of SQL', `{ ${times(15, f => `f${f}: rows(sql: ${JSON.stringify(textOfLength(texts[f % texts.length]!, 60_000))}) { id }`)} }`),
    graphql('2,500 deep', `{ ${'a { '.repeat(2500)} a ${'} '.repeat(2500)} }`),
    rest('60 MB, as it is', 'rows', 'huge', 'identity'),
    rest('60 MB, zstd', 'rows', 'huge', 'zstd'),
    rest('60 MB, brotli', 'rows', 'huge', 'br'),
    rest('60 MB, gzip', 'rows', 'huge', 'gzip'),
    rest('15 MB, kept in the cache', 'kept', 'wide', 'identity'),
    rest('60 MB, too long for the cache', 'kept', 'huge', 'identity'),
  ]; // biome-ignore format: a table
}
