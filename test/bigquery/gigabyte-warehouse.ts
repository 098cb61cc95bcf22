import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { complete, openWarehouse } from './scripted-warehouse.ts';
import type { Asked, Deed } from './warehouse-http.ts';

/**
 * A process that is a warehouse whose result has a thousand rows of a megabyte each, in one page: what the caller's SQL has a comment
 * for decides whether it comes packed, and whether it is all one value. Any other query has one small row.
 * Its arguments are those of `gigabyte-stream.ts`. It writes its URL, and on a line of input the counts of requests, as JSON.
 */
const forms = ['rows', 'packed', 'value'];

// Its own process: what saturates it delays no small answer.
const streamer = fork(new URL('gigabyte-stream.ts', import.meta.url), process.argv.slice(2), {
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
});

/** Jobs by what their text asks for. */
const formOfJob = new Map<string, string>();

function gigabyte({ path }: Asked): Deed | undefined {
  const form = formOfJob.get(path.split('/').at(-1) ?? '') ?? '';
  if (!forms.includes(form)) return undefined;
  return {
    async stream({ socket }: ServerResponse) {
      if (socket) streamer.send(form, socket);
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
streamer.kill();
