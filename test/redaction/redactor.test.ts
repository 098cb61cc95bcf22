import { afterEach, beforeEach, expect, test } from 'vitest';
import { redactRowsJson } from '../../src/redaction/redact-rows-json.ts';
import { redactionKinds } from '../../src/redaction/redaction-kinds.ts';
import { createRedactor, type Redactor } from '../../src/redaction/redactor.ts';
import { longestTurn } from '../support/longest-turn.ts';

let redactor: Redactor;
beforeEach(() => {
  redactor = createRedactor();
});
afterEach(() => redactor.close());

const rowsOf = (text: string, count: number) => Buffer.from(JSON.stringify(Array(count).fill({ text })));

test('redacts as the function does, several bodies at once, long and short, changed or not', async () => {
  const bodies = [rowsOf('a@b.com', 5000), rowsOf('nothing', 5000), rowsOf('::1', 1), Buffer.from('[]')];
  const redacted = await Promise.all(bodies.map(body => redactor.redact(body, redactionKinds)));
  expect(redacted.map(String)).toEqual(bodies.map(body => String(redactRowsJson(body))));
  expect(redacted[1]).toBe(bodies[1]);
  const [ipOnly] = await Promise.all([redactor.redact(rowsOf('a@b.com ::1', 1), ['ipv6'])]);
  expect(String(ipOnly)).toBe('[{"text":"a@b.com REDACTED"}]');
});

test('contract 11.2: megabytes of hostile text, in many strings or in one, hold the event loop for less than 100 ms', async () => {
  await redactor.redact(rowsOf('warm', 1), redactionKinds);
  for (const body of [rowsOf('1:'.repeat(16_000), 200), rowsOf('aaaaa:'.repeat(1_000_000), 1)]) {
    const { result, turnMs } = await longestTurn(() => redactor.redact(body, redactionKinds));
    expect(result.length).toBeGreaterThan(0);
    expect(turnMs).toBeLessThan(100);
  }
}, 60_000);

test('a short body does not wait for the end of a long one', async () => {
  const order: string[] = [];
  const long = redactor
    .redact(rowsOf('1:'.repeat(1000), 5000), redactionKinds)
    .then(() => order.push('long'));
  const short = redactor.redact(rowsOf('::1', 2000), redactionKinds).then(() => order.push('short'));
  await Promise.all([long, short]);
  expect(order).toEqual(['short', 'long']);
});

test('refuses what would pile up, and takes bodies again when there is room', async () => {
  const large = rowsOf('x'.repeat(1_000_000), 70);
  const taken = redactor.redact(large, redactionKinds);
  await expect(redactor.redact(large, redactionKinds)).rejects.toMatchObject({ code: 'overloaded' });
  await taken;
  expect(await redactor.redact(large, redactionKinds)).toBe(large);
}, 60_000);

test('a thread that ends fails what it had, and the next body has another one', async () => {
  const body = rowsOf('1:'.repeat(1000), 1000);
  const lost = expect(redactor.redact(body, redactionKinds)).rejects.toMatchObject({ code: 'unavailable' });
  await redactor.close();
  await lost;
  expect(String(await redactor.redact(rowsOf('::1', 1), redactionKinds))).toBe('[{"text":"REDACTED"}]');
});
