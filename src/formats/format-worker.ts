import { parentPort } from 'node:worker_threads';
import { GatewayError } from '../base/errors.ts';
import type { Column } from '../base/rows.ts';
import { type WrittenFormat, writeRows } from './write-rows.ts';

/** A job for the thread, which does one at a time. */
export type FormatJob = {
  readonly format: WrittenFormat;
  readonly columns: readonly Column[];
  readonly body: Uint8Array;
};

/** Its result; what crosses threads is no instance of a class of ours. */
export type FormatResult =
  | { readonly written: Uint8Array }
  | { readonly refused: Pick<GatewayError, 'code' | 'message'> }
  | { readonly failure: unknown };

parentPort!.on('message', async ({ format, columns, body }: FormatJob) => {
  parentPort!.postMessage(
    await writeRows(format, columns, Buffer.from(body.buffer, body.byteOffset, body.length)).then(
      (written): FormatResult => ({ written }),
      failedResult,
    ),
  );
});

function failedResult(failure: unknown): FormatResult {
  if (!(failure instanceof GatewayError)) return { failure };
  const { code, message } = failure;
  return { refused: { code, message } };
}
