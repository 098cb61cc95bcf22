import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { complete, openWarehouse } from './scripted-warehouse.ts';
import type { Asked, Deed } from './warehouse-wire.ts';

/**
 * A process that is a warehouse whose result has a thousand rows of a megabyte each, in one page: what the caller's SQL has a comment
 * for decides whether it comes packed, and whether it is all one value. Any other query has one small row.
 * It writes its URL, and on a line of input the counts of requests, as JSON.
 */
const megabyte = 'x'.repeat(1024 * 1024);
const head = '{"kind":"bigquery#getQueryResultsResponse","schema":{"fields":[{"name":"x","type":"STRING"}]},';
const rows = 1000;

function* bytesOf(separator: string): Generator<Buffer> {
  yield Buffer.from(`${head}"totalRows":"${rows}","rows":[{"f":[{"v":"`);
  for (let row = 0; row < rows; row++) yield Buffer.from((row === 0 ? '' : separator) + megabyte);
  yield Buffer.from('"}]}],"jobComplete":true}');
}

const forms: Readonly<Record<string, { readonly separator: string; readonly isPacked: boolean }>> = {
  rows: { separator: '"}]},{"f":[{"v":"', isPacked: false },
  packed: { separator: '"}]},{"f":[{"v":"', isPacked: true },
  value: { separator: '', isPacked: false },
};

/** Jobs by what their text asks for. */
const formOfJob = new Map<string, string>();

function gigabyte({ path }: Asked): Deed | undefined {
  const form = forms[formOfJob.get(path.split('/').at(-1) ?? '') ?? ''];
  if (!form) return undefined;
  return {
    async stream(response: ServerResponse) {
      const coding = form.isPacked ? { 'content-encoding': 'gzip' } : {};
      response.writeHead(200, { 'content-type': 'application/json', ...coding });
      const bytes = bytesOf(form.separator);
      // Who reads leaves before the end: that is the point.
      await (form.isPacked
        ? pipeline(bytes, createGzip({ level: 1 }), response)
        : pipeline(bytes, response)
      ).catch(() => undefined);
    },
  };
}

const small = complete(['1'], { schema: { fields: [{ name: 'x', type: 'STRING' }] } });
const warehouse = await openWarehouse({ results: [small] });
warehouse.interfere(asked => {
  if (asked.what === 'insert') {
    const { configuration, jobReference } = asked.body;
    const form = /-- (\w+)/.exec(configuration.query.query)?.[1];
    if (form) formOfJob.set(jobReference.jobId, form);
  }
  return asked.what === 'results' ? gigabyte(asked) : undefined;
});
process.stdout.write(`${warehouse.url}\n`);
process.stdin.on('data', () => process.stdout.write(`${JSON.stringify(warehouse.counts())}\n`));
await once(process.stdin.resume(), 'end');
warehouse.close();
