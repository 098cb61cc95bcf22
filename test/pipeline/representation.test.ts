import { expect, test } from 'vitest';
import { type Rendered, representationOf } from '../../src/pipeline/representation.ts';
import type { Redactor } from '../../src/redaction/redactor.ts';

const kinds = ['ipv4'] as const;
const by = ({ signal }: AbortController) => ({ caller: 'a', signal });
const long = (): Rendered => ({
  body: Buffer.alloc(100_000, ' '),
  columns: [],
  rowCount: 0,
  isTruncated: false,
  createdAtMs: 0,
});

/** A redactor whose work the test ends. */
function openRedactor() {
  const runs: { end: (redacted: Buffer) => void; signal: AbortSignal }[] = [];
  const redactor: Redactor = {
    claim: () => () => undefined,
    redact(_body, _options, { signal }) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      runs.push({ end: resolve, signal });
      return promise;
    },
    close: async () => undefined,
  };
  return { redactor, runs };
}

test('contract 11.6: nobody waits for a redaction beyond the deadline, and others who wait get it', async () => {
  const { redactor, runs } = openRedactor();
  const rows = long();
  const [first, second] = [new AbortController(), new AbortController()];
  const left = representationOf(rows, kinds, redactor, by(first));
  const other = representationOf(rows, kinds, redactor, by(second));
  first.abort(new Error('The time is over'));
  await expect(left).rejects.toThrow('The time is over');
  expect(runs.map(({ signal }) => signal.aborted)).toEqual([false]);
  const redacted = Buffer.from('{}');
  runs[0]?.end(redacted);
  expect((await other).body).toBe(redacted);
  // It is there for all who come later.
  expect(await representationOf(rows, kinds, redactor, by(second))).toBe(await other);
  expect(runs).toHaveLength(1);
});

test('contract 11.5: the work ends when the last caller leaves, and begins again for the next one', async () => {
  const { redactor, runs } = openRedactor();
  const rows = long();
  const caller = new AbortController();
  const both = [1, 2].map(() => representationOf(rows, kinds, redactor, by(caller)));
  caller.abort(new Error('left'));
  for (const left of both) await expect(left).rejects.toThrow('left');
  expect(runs.map(({ signal }) => signal.aborted)).toEqual([true]);
  void representationOf(rows, kinds, redactor, by(new AbortController()));
  expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});

test('contract 11.3: what is redacted is kept without other memory', async () => {
  const rows = { ...long(), body: Buffer.from('{"result":[{"a":"203.0.113.7"}]}') };
  const { body } = await representationOf(rows, kinds, openRedactor().redactor, by(new AbortController()));
  expect(String(body)).toBe('{"result":[{"a":"REDACTED"}]}');
  expect(body.buffer.byteLength).toBe(body.length);
});
