import { expect, test } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import { checkRedisUrl, parseRedisUrl } from '../../src/store/redis-url.ts';

const sentinelUnlocked = { sentinelUsername: undefined, sentinelPassword: undefined };
const plain = { username: undefined, password: undefined, ...sentinelUnlocked, tls: undefined };

test.each([
  [
    'redis://localhost',
    { ...plain, topology: { type: 'single', db: 0 }, hosts: [{ host: 'localhost', port: 6379 }] },
  ],
  [
    'rediss://u%3A:p%40@[::1]:7000/2?ca=%2Fetc%2Fca.pem',
    {
      topology: { type: 'single', db: 2 },
      hosts: [{ host: '::1', port: 7000 }],
      username: 'u:',
      password: 'p@',
      ...sentinelUnlocked,
      tls: { caFile: '/etc/ca.pem' },
    },
  ],
  [
    'redis://:secret@10.0.0.1/',
    {
      ...plain,
      topology: { type: 'single', db: 0 },
      hosts: [{ host: '10.0.0.1', port: 6379 }],
      password: 'secret',
    },
  ],
  [
    'redis+sentinel://a,b:26380/my%20master/4',
    {
      ...plain,
      topology: { type: 'sentinel', masterName: 'my master', db: 4 },
      hosts: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_380 },
      ],
    },
  ],
  [
    'rediss+sentinel://:p@a/m?sentinel-password=s%26t%2Bu&ca=/ca.pem&sentinel-user=gate%20way',
    {
      username: undefined,
      password: 'p',
      topology: { type: 'sentinel', masterName: 'm', db: 0 },
      hosts: [{ host: 'a', port: 26_379 }],
      sentinelUsername: 'gate way',
      sentinelPassword: 's&t+u',
      tls: { caFile: '/ca.pem' },
    },
  ],
  [
    'rediss+cluster://a:1,b',
    {
      ...plain,
      topology: { type: 'cluster' },
      hosts: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
      ],
      tls: { caFile: undefined },
    },
  ],
])('reads %s', (url, address) => {
  expect(parseRedisUrl(url)).toEqual(address);
  expect(checkRedisUrl(url)).toBeUndefined();
});

test.each([
  ['', /not a Redis URL/],
  ['localhost:6379', /not a Redis URL/],
  ['http://localhost', /not a Redis URL/],
  ['redis+ring://localhost', /not a Redis URL/],
  ['redis://', /not a Redis URL/],
  ['redis://u:p@ss@localhost', /not a Redis URL/],
  ['redis://localhost:0', /host:port/],
  ['redis://localhost:70000', /host:port/],
  ['redis+cluster://a:1,', /host:port/],
  ['redis://a,b', /several hosts/],
  ['redis://localhost/x', /database/],
  ['redis://localhost/1/2', /database/],
  ['redis+sentinel://a', /master's name/],
  ['redis+sentinel://a//1', /master's name/],
  ['redis+cluster://a/1', /database/],
  ['rediss://localhost?cert=x', /parameter that is not known/],
  ['redis://localhost?sentinel-password=x', /parameter that is not known/],
  ['redis+sentinel://a/m?sentinel-pass=x', /allowed: ca, sentinel-user, sentinel-password/],
  ['redis://localhost?ca=x', /needs rediss/],
  ['redis://u:%zz@localhost', /percent-encoded/],
])('says what is wrong with %s', (url, problem) => {
  expect(checkRedisUrl(url)).toMatch(problem);
  expect(() => createRedisStore({ url })).toThrow(problem);
});

test('says what is wrong without the password', () => {
  for (const url of [
    'redis://u:secret@a,b',
    'redis://u:secret@a/x',
    'redis://u:secret%@a',
    'redis://u:sec@ret@a',
    'redis+sentinel://a?sentinel-password=secret',
    'redis+sentinel://a/m?sentinel-password=secret&b=1',
  ]) {
    expect(checkRedisUrl(url)).not.toContain('sec');
  }
});
