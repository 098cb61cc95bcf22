import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openScripted } from '../scripted-warehouse.ts';

type Field = {
  readonly name: string;
  readonly type: string;
  readonly mode: string;
  readonly fields?: readonly Field[];
};

/** A value as a page has it, and as a row of an answer has it: JSON text. */
type Value = { readonly wire: unknown; readonly json: string };

/** Values of each scalar type, which BigQuery writes as text. */
const scalars: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  STRING: fc.string({ unit: 'binary', maxLength: 12 }).map(wire => ({ wire, json: JSON.stringify(wire) })),
  INTEGER: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(n => ({ wire: `${n}`, json: `${n}` })),
  FLOAT: fc.constantFrom('0.0', '-1.5', '1.0E22', '4.9E-324').map(wire => ({ wire, json: wire })),
  BOOLEAN: fc.constantFrom('true', 'false').map(wire => ({ wire, json: wire })),
  TIMESTAMP: fc.integer().map(n => ({ wire: `${n}000000`, json: `${n}000000` })),
  NUMERIC: fc.constantFrom('1.5', '-0.000000001').map(wire => ({ wire, json: JSON.stringify(wire) })),
  JSON: fc.json({ maxDepth: 1 }).map(wire => ({ wire, json: JSON.stringify(wire) })),
  RANGE: fc.constant({ wire: '[2026-01-01, UNBOUNDED)', json: '"[2026-01-01, UNBOUNDED)"' }),
};

function fieldsOf(depth: number): fc.Arbitrary<readonly Field[]> {
  const types = fc.constantFrom(...Object.keys(scalars), ...(depth > 0 ? ['RECORD'] : []));
  const field = fc
    .tuple(types, fc.constantFrom('NULLABLE', 'REPEATED', 'REQUIRED'), fieldsBelow(depth))
    .map(([type, mode, fields]) => ({ type, mode, ...(type === 'RECORD' ? { fields } : {}) }));
  return fc
    .array(field, { minLength: 1, maxLength: 4 })
    .map(fields => fields.map((each, at) => ({ name: `c${at}`, ...each })));
}

const fieldsBelow = (depth: number) => (depth > 0 ? fieldsOf(depth - 1) : fc.constant([]));

function wireValue(field: Field): fc.Arbitrary<Value> {
  if (field.mode === 'REPEATED') {
    const elements = fc.array(wireValue({ ...field, mode: 'REQUIRED' }), { maxLength: 3 });
    return elements.map(all => ({
      wire: all.map(({ wire }) => ({ v: wire })),
      json: `[${all.map(({ json }) => json)}]`,
    }));
  }
  const value = field.fields ? recordOf(field.fields) : scalars[field.type]!;
  const none = fc.constant<Value>({ wire: null, json: 'null' });
  return field.mode === 'NULLABLE' ? fc.oneof({ weight: 4, arbitrary: value }, none) : value;
}

const recordOf = (fields: readonly Field[]): fc.Arbitrary<Value> =>
  fc.tuple(...fields.map(wireValue)).map(values => ({
    wire: { f: values.map(({ wire }) => ({ v: wire })) },
    json: `{${values.map(({ json }, at) => `"${fields[at]!.name}":${json}`)}}`,
  }));

/** What befalls a page, once or each time: its JSON, or its bytes. */
type Fault = {
  readonly page: number;
  readonly isForGood: boolean;
  readonly json?: (page: Page, pages: readonly Page[], at: number) => object;
  readonly send?: (response: ServerResponse, bytes: Buffer, at: number) => void;
};

type Page = {
  readonly schema: { readonly fields: readonly Field[] };
  readonly rows: readonly { readonly f: readonly { readonly v: unknown }[] }[];
  readonly totalRows: string;
  readonly pageToken: string | undefined;
};

const retyped = (fields: readonly Field[], at: number) =>
  fields.map((field, n) =>
    n !== at % fields.length ? field : { ...field, type: field.type === 'STRING' ? 'INTEGER' : 'STRING' },
  );

/** Ways in which the JSON of a page can be wrong. */
const wrongJson: readonly NonNullable<Fault['json']>[] = [
  // What the first page says of its columns is what they are.
  (page, pages, at) =>
    page === pages[0] ? page : { ...page, schema: { fields: retyped(page.schema.fields, at) } },
  // Of the first page that is no fault: the job runs on.
  (page, pages) => (page === pages[0] ? page : { ...page, jobComplete: false }),
  page => ({ ...page, jobComplete: undefined }),
  page => ({ ...page, rows: undefined }),
  page => ({ ...page, rows: page.rows.slice(1) }),
  page => ({ ...page, rows: [...page.rows, ...page.rows, ...page.rows] }),
  page => ({ ...page, pageToken: undefined }),
  (page, pages, at) => ({ ...page, pageToken: pages[at % pages.length]!.pageToken ?? 'p1' }),
  (_, pages) => pages[0]!,
  page => ({ ...page, totalRows: `${Number(page.totalRows) + 1}` }),
  page => ({ ...page, totalRows: 'many' }),
  page => ({ ...page, rows: page.rows.map(({ f }) => ({ f: f.slice(1) })) }),
  page => ({ ...page, rows: page.rows.map(({ f }) => ({ f: [...f, ...f] })) }),
  page => ({ ...page, rows: page.rows.map(row => ({ ...row, g: 1 })) }),
  page => ({ ...page, rows: page.rows.map(({ f }) => ({ f: f.map(() => ({ v: { v: 'x' } })) })) }),
];

const other = (status: number, text: string, headers: Record<string, string> = {}) =>
  ((response: ServerResponse) => response.writeHead(status, headers).end(text)) satisfies Fault['send'];

/** Ways in which the bytes of an answer can be wrong; they are sent under the headers of the whole one. */
const wrongBytes: readonly NonNullable<Fault['send']>[] = [
  // Cut off, and said to be whole: only what it is made of shows it.
  (response, bytes, at) => response.end(bytes.subarray(0, at % bytes.length)),
  (response, bytes, at) => {
    response.setHeader('content-length', bytes.length);
    response.write(bytes.subarray(0, at % bytes.length), () => response.socket?.end());
  },
  (response, bytes, at) => {
    // Chunked, and without its last chunk.
    response.write(bytes.subarray(0, 1 + (at % (bytes.length - 1))), () => response.socket?.destroy());
  },
  (response, bytes) => response.end(Buffer.concat([bytes, bytes])),
  other(200, '<!doctype html><title>Sign in</title>', { 'content-encoding': 'identity' }),
  other(302, '', { location: '/elsewhere', 'content-encoding': 'identity' }),
  other(304, ''),
  other(204, ''),
  other(200, ''),
  other(502, '<html>'),
];

/** A result in pages, how it is written, how much of it is wanted, and what befalls it. */
const conversations = fieldsOf(2).chain(fields =>
  fc.record({
    fields: fc.constant(fields),
    rows: fc.array(recordOf(fields), { maxLength: 9 }),
    pageRows: fc.integer({ min: 1, max: 4 }),
    maxRows: fc.constantFrom(3, 1000),
    isPacked: fc.boolean(),
    isIndented: fc.boolean(),
    hasRowsFirst: fc.boolean(),
    chunkBytes: fc.constantFrom(1, 7, 100, 100_000),
    fault: fc.option(
      fc.record({
        page: fc.nat(4),
        isForGood: fc.boolean(),
        at: fc.nat(),
        how: fc.oneof(
          fc.constantFrom(...wrongJson).map(json => ({ json })),
          fc.constantFrom(...wrongBytes).map(send => ({ send })),
        ),
      }),
      { freq: 4 },
    ),
  }),
);

/** Rows wanted at most: where not all are, nobody can tell that one is missing. */
const mostRows = ({ maxRows, fault }: Conversation) => (fault && 'json' in fault.how ? 1000 : maxRows);

type Conversation = typeof conversations extends fc.Arbitrary<infer Each> ? Each : never;

function pagesOf({ fields, rows, pageRows }: Conversation): Page[] {
  const count = Math.max(1, Math.ceil(rows.length / pageRows));
  return Array.from({ length: count }, (_, at) => ({
    schema: { fields },
    // A record is written as a row is.
    rows: rows.slice(at * pageRows, (at + 1) * pageRows).map(({ wire }) => wire as Page['rows'][number]),
    totalRows: `${rows.length}`,
    pageToken: at < count - 1 ? `p${at + 1}` : undefined,
  }));
}

/** As Google's servers write JSON: with what means something in HTML escaped, and the schema before the rows. */
function jsonOf(page: object, { isIndented, hasRowsFirst }: Conversation): string {
  const { rows, ...others } = { rows: undefined, kind: 'bigquery#getQueryResultsResponse', ...page };
  const ordered = hasRowsFirst ? { rows, ...others } : { ...others, rows };
  return JSON.stringify({ jobComplete: true, ...ordered }, null, isIndented ? 2 : 0).replace(
    /[<>&'=]/g,
    mark => `\\u00${mark.charCodeAt(0).toString(16)}`,
  );
}

let current: Conversation;
let sent: number[];

async function answer(response: ServerResponse, token: string | null): Promise<void> {
  const { isPacked, chunkBytes, fault } = current;
  const pages = pagesOf(current);
  const at = token === null ? 0 : Number(token.slice(1));
  sent[at] = (sent[at] ?? 0) + 1;
  const isFaulty = fault?.page === at && (fault.isForGood || sent[at] === 1);
  const how: Pick<Fault, 'json' | 'send'> = isFaulty ? fault.how : {};
  const text = jsonOf(how.json?.(pages[at]!, pages, fault!.at) ?? pages[at]!, current);
  const bytes = isPacked ? gzipSync(text) : Buffer.from(text);
  response.setHeader('content-type', 'application/json');
  if (isPacked) response.setHeader('content-encoding', 'gzip');
  if (how.send) return how.send(response, bytes, fault!.at);
  for (let from = 0; from < bytes.length; from += Math.max(chunkBytes, bytes.length / 50)) {
    response.write(bytes.subarray(from, from + Math.max(chunkBytes, bytes.length / 50)));
  }
  response.end();
}

/** Runs a query whose result is read so. An engine of its own has all its retries. */
async function run(conversation: Conversation) {
  current = conversation;
  sent = [];
  const opened = await openScripted({}, { retryBaseMs: 0, maxRetries: 2 });
  opened.interfere(({ what, params }) =>
    what === 'results' ? { stream: response => answer(response, params.get('pageToken')) } : undefined,
  );
  const ended = opened.run({ maxRows: mostRows(conversation) }).then(
    ({ rowsJson, isTruncated }) => [rowsJson.toString(), isTruncated],
    error => error.code,
  );
  return ended.finally(opened.close);
}

test('a result is whole and right, or an error, whatever befalls one of its pages', async () => {
  await fc.assert(
    fc.asyncProperty(conversations, async conversation => {
      const { rows, fault } = conversation;
      const maxRows = mostRows(conversation);
      const rightRows = `[${rows.slice(0, maxRows).map(({ json }) => json)}]`;
      const ended = await run(conversation);
      if (Array.isArray(ended) || !fault) expect(ended).toEqual([rightRows, rows.length > maxRows]);
      else expect(ended).toMatch(/^(unavailable|engine_failed)$/);
    }),
    { numRuns: Number(process.env.RUNS ?? 100) },
  );
});
