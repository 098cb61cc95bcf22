import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { createRowFormatter } from '../../src/formats/row-formatter.ts';
import { writeRows } from '../../src/formats/write-rows.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { bodyOf } from './every-type.ts';

const number: Column = { name: 'n', type: 'INT64', mode: 'NULLABLE' };

/** Too long to be written on the event loop. */
const long = (rows = 20_000) => ({
  columns: [number],
  body: bodyOf(Array.from({ length: rows }, (_, n) => `{"n":${n}}`)),
});

function openFormatter() {
  const formatter = createRowFormatter();
  onTestFinished(formatter.close);
  return formatter;
}

/** So long that it is written part by part. */
const longer = () => long(200_000);

const asked = (signal = new AbortController().signal, caller = 'one') => ({ caller, signal, isKept: false });

test('the thread writes what would be written at once', async () => {
  const formatter = openFormatter();
  const rows = long();
  for (const format of ['csv', 'ndjson', 'arrow', 'parquet'] as const) {
    const written = await formatter.format(format, rows, asked());
    expect(written.equals(await writeRows(format, rows.columns, rows.body))).toBe(true);
  }
});

test('equal JSON of other types is written for itself', async () => {
  const formatter = openFormatter();
  const body = bodyOf(['{"n":1}']);
  const kept = { ...asked(), isKept: true };
  const of = (type: Column['type']) => ({ columns: [{ ...number, type }], body: Buffer.from(body) });
  const whole = await formatter.format('parquet', of('INT64'), kept);
  const part = await formatter.format('parquet', of('FLOAT64'), kept);
  expect(whole.equals(part)).toBe(false);
});

test('the same rows are written once, and kept where they may be asked for again', async () => {
  const formatter = openFormatter();
  const rows = long();
  const kept = { ...asked(), isKept: true };
  const [one, other] = await Promise.all([
    formatter.format('csv', rows, kept),
    formatter.format('csv', rows, asked(undefined, 'another')),
  ]);
  expect(other).toBe(one);
  expect(await formatter.format('csv', rows, asked())).toBe(one);
});

test.each(['csv', 'ndjson', 'arrow', 'parquet'] as const)(
  'contract 11.3: what is kept of %s holds no memory beside its bytes',
  async format => {
    const rows = { columns: [number], body: bodyOf(['{"n":1}']) };
    const written = await openFormatter().format(format, rows, { ...asked(), isKept: true });
    expect(written.buffer.byteLength).toBe(written.length);
  },
);

test('a job that nobody waits for any more is left at once, and the next one is done', async () => {
  const formatter = openFormatter();
  const caller = new AbortController();
  const given = formatter.format('parquet', long(80_000), asked(caller.signal));
  await setImmediate();
  caller.abort(new Error('gone'));
  await expect(given).rejects.toThrow('gone');
  const next = await formatter.format('csv', long(), asked());
  expect(next.toString().startsWith('n\r\n0\r\n1\r\n')).toBe(true);
});

describe('a long result is written part by part', () => {
  test.each(['csv', 'ndjson', 'arrow', 'parquet'] as const)(
    '%s: its parts are what would be written at once',
    async format => {
      const rows = longer();
      const parts = await Array.fromAsync(await openFormatter().open(format, rows, asked()));
      expect(parts.length).toBeGreaterThan(10);
      expect(Buffer.concat(parts).equals(await writeRows(format, rows.columns, rows.body))).toBe(true);
    },
  );

  test('a reader that takes nothing holds up nobody, and goes on where it stopped (contract 11.1)', async () => {
    const formatter = openFormatter();
    const rows = longer();
    const idle = await Promise.all(
      Array.from({ length: 10 }, () => formatter.open('parquet', rows, asked())),
    );
    const others = await Array.fromAsync(await formatter.open('parquet', rows, asked()));
    const [first, ...rest] = idle;
    await Promise.all(rest.map(parts => parts.return()));
    expect(await Array.fromAsync(first!)).toEqual(others);
  });

  test('one that is left while a part is being written ends, and the thread goes on', async () => {
    const formatter = openFormatter();
    const parts = await formatter.open('csv', longer(), asked());
    await parts.next();
    const next = parts.next();
    await parts.return();
    await expect(next).rejects.toThrow();
    expect(await parts.next()).toMatchObject({ done: true });
    expect(await Array.fromAsync(await formatter.open('csv', longer(), asked()))).not.toEqual([]);
  });

  test('a caller who leaves before the first part is no longer waited for', async () => {
    const formatter = openFormatter();
    const caller = new AbortController();
    const given = formatter.open('csv', longer(), asked(caller.signal));
    await setImmediate();
    caller.abort(new Error('gone'));
    await expect(given).rejects.toThrow('gone');
  });

  test('of one caller sixteen wait for their first part, and more are refused', async () => {
    const formatter = openFormatter();
    // All of them together are within one caller's bytes.
    const rows = long(100_000);
    const opened = await Promise.allSettled(
      Array.from({ length: 24 }, () => formatter.open('csv', rows, asked())),
    );
    const refused = opened.filter(({ status }) => status === 'rejected');
    // Four are being opened, one of which leaves its place to another caller.
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ reason: { code: 'too_many_requests' } });
  });

  test('the end of the thread is an error for those who are in the middle, and not for the next', async () => {
    const formatter = openFormatter();
    const parts = await formatter.open('csv', longer(), asked());
    await parts.next();
    await formatter.close();
    await expect(parts.next()).rejects.toMatchObject({ code: 'unavailable' });
    // A loop over the parts does not end them then.
    expect(await parts.next()).toEqual({ done: true, value: undefined });
    await expect((await formatter.open('csv', longer(), asked())).next()).resolves.toMatchObject({
      done: false,
    });
  });
});

test.each(['parquet', 'arrow'] as const)(
  '%s of many columns is not written on the event loop (contract 11.2)',
  async format => {
    const names = Array.from({ length: 3000 }, (_, n) => `c${n}`);
    const columns = names.map(name => ({ ...number, name }));
    const body = bodyOf([JSON.stringify(Object.fromEntries(names.map(name => [name, 1])))]);
    expect(body.length).toBeLessThan(64 * 1024);
    const formatter = openFormatter();
    await formatter.format(format, { columns, body: Buffer.from(body) }, asked());
    const inline = await longestTurn(() => writeRows(format, columns, body));
    // The collector may fall into one of them.
    const handed: number[] = [];
    for (let n = 0; n < 3; n++) {
      const fresh = { columns, body: Buffer.from(body) };
      const { result, turnMs } = await longestTurn(() => formatter.format(format, fresh, asked()));
      expect(result.equals(inline.result)).toBe(true);
      handed.push(turnMs);
    }
    expect(Math.min(...handed)).toBeLessThan(inline.turnMs / 2);
  },
);

test('a short job does not wait for a long one of another caller (contract 11.1)', async () => {
  const formatter = openFormatter();
  const order: string[] = [];
  await Promise.all([
    formatter
      .open('parquet', longer(), asked())
      .then(parts => Array.fromAsync(parts))
      .then(() => order.push('long')),
    formatter.format('parquet', long(8000), asked(undefined, 'another')).then(() => order.push('short')),
  ]);
  expect(order).toEqual(['short', 'long']);
});

test.each(['csv', 'parquet', 'arrow'] as const)(
  'contract 11.3: a row of over 2 MiB is refused in %s, before the first part',
  async format => {
    const body = bodyOf(['{"n":0}', `{"n":1,"x":"${'x'.repeat(2 * 1024 * 1024)}"}`]);
    const refused = openFormatter().open(format, { columns: [number], body }, asked());
    await expect(refused).rejects.toMatchObject({ name: 'GatewayError', code: 'result_too_large' });
  },
);

test('contract 11.1: a job that another caller waits for too does not wait for the others of the first', async () => {
  const formatter = openFormatter();
  const order: string[] = [];
  const note = (name: string, job: Promise<Buffer>) => job.then(() => order.push(name));
  const others = Array.from({ length: 6 }, (_, n) =>
    note('other', formatter.format('parquet', long(20_000 + n), asked())),
  );
  const rows = long();
  const first = note('first', formatter.format('csv', rows, asked()));
  const second = note('second', formatter.format('csv', rows, asked(undefined, 'another')));
  await Promise.all([...others, first, second]);
  expect(order.indexOf('second')).toBeLessThan(4);
});

test('one caller’s jobs wait for each other, and too many are refused', async () => {
  const formatter = openFormatter();
  const jobs = Array.from({ length: 20 }, () => formatter.format('csv', long(10_000), asked()));
  const [mine, another] = await Promise.all([
    Promise.allSettled(jobs),
    formatter.format('csv', long(), asked(undefined, 'another')),
  ]);
  const refused = mine.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(3);
  expect(refused[0]).toMatchObject({ reason: { code: 'too_many_requests' } });
  expect(another.length).toBeGreaterThan(0);
});
