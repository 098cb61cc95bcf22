import type { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';

/**
 * A process that writes the results of `gigabyte-warehouse.ts` to connections that it is handed, so that small requests are not
 * answered late because large ones are. Every piece is made before: writing a gigabyte costs little more than the copies.
 * With the argument `yielding` it takes only the time that nobody else wants: a real warehouse is other machines.
 */
if (process.argv.includes('yielding')) setPriority(constants.priority.PRIORITY_LOW);

const megabyte = 'x'.repeat(1024 * 1024);
const head = '{"kind":"bigquery#getQueryResultsResponse","schema":{"fields":[{"name":"x","type":"STRING"}]},';
const rows = 1000;

type Form = { readonly head: Buffer; readonly row: Buffer; readonly tail: Buffer; readonly coding?: string };

function openForm(separator: string): Form {
  const [first, row, tail] = [
    `${head}"totalRows":"${rows}","rows":[{"f":[{"v":"${megabyte}`,
    separator + megabyte,
    '"}]}],"jobComplete":true}',
  ];
  return { head: Buffer.from(first), row: Buffer.from(row), tail: Buffer.from(tail) };
}

/** Members of gzip one after the other are one gzip text. */
function packed({ head, row, tail }: Form): Form {
  const pack = (piece: Buffer) => gzipSync(piece, { level: 1 });
  return { head: pack(head), row: pack(row), tail: pack(tail), coding: 'gzip' };
}

const cells = openForm('"}]},{"f":[{"v":"');
const forms: Readonly<Record<string, Form>> = { rows: cells, packed: packed(cells), value: openForm('') };

function* answer({ head, row, tail, coding }: Form): Generator<Buffer> {
  const lines = ['HTTP/1.1 200 OK', 'content-type: application/json', 'connection: close'];
  if (coding) lines.push(`content-encoding: ${coding}`);
  yield Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  yield head;
  for (let written = 1; written < rows; written++) yield row;
  yield tail;
}

process.on('message', (name: string, socket?: Socket) => {
  const form = forms[name];
  // A reader may have left before its connection came here.
  if (!form || !socket) return;
  // Readers leave before the end: that is the point.
  socket.on('error', () => undefined);
  pipeline(answer(form), socket).catch(() => undefined);
});
