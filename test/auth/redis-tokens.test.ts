import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { issueToken, revokeToken } from '../../src/auth/manage-tokens.ts';
import { openRedisTokens, type RedisTokens } from '../../src/auth/redis-tokens.ts';
import { issuedIn } from '../../src/auth/token-record.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { createStandingClock } from '../support/standing-clock.ts';

const clock = createStandingClock();

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
  return server.stop;
});

async function open(): Promise<RedisTokens> {
  const redis = openRedisTokens(server.url);
  onTestFinished(() => redis.close());
  await redis.ready(5000);
  return redis;
}

test('changes at the same time are all kept, and each is another version', async () => {
  const [one, other] = [await open(), await open()];
  const before = await one.records.version();
  const issued = await Promise.all(
    Array.from({ length: 8 }, (_, n) => issueToken((n % 2 ? one : other).records, { name: `${n}`, clock })),
  );
  expect(await one.records.read()).toHaveLength(8);
  const after = await other.records.version();
  expect(after).not.toBe(before);
  expect(await revokeToken(one.records, { id: issued[0]!.slice(4, 12), clock })).toBe(true);
  expect(await other.records.version()).not.toBe(after);
  expect(issuedIn(await other.records.read()).filter(({ revokedAt }) => revokedAt)).toHaveLength(1);
});

test('contract 8.4: whoever subscribes hears of each change by a message', async () => {
  const [one, other] = [await open(), await open()];
  let messages = 0;
  one.subscribe(() => messages++);
  await expect.poll(() => messages).toBe(1); // it is connected
  await issueToken(other.records, { name: 'x', clock });
  await expect.poll(() => messages).toBe(2);
  await other.publish();
  await expect.poll(() => messages).toBe(3);
});

test('only the hash of a token is in Redis', async () => {
  const { records } = await open();
  const token = await issueToken(records, { name: 'secret', clock });
  const text = await server.command('GET sqg:1:{tokens}:records');
  expect(text).toContain(token.slice(4, 12));
  expect(text).not.toContain(token.slice(13));
});

test('what is no list of records there is named', async () => {
  const { records } = await open();
  await server.command('SET sqg:1:{tokens}:records nonsense');
  await expect(records.read()).rejects.toThrow("The tokens in Redis can't be read");
});
