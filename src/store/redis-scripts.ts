import { versionBytes } from './store.ts';

/** Returns unless the token holds the lease. It precedes all writes, because Redis does not roll back. */
const fence = `if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end`;

// Parts of the scripts below; the numbers are those of ARGV.
const setValue = (value: number, milliseconds: number) =>
  `redis.call('SET', KEYS[1], ARGV[${value}], 'PX', ARGV[${milliseconds}])`;
const endLease = `redis.call('DEL', KEYS[2])`;
/** The channel is the argument before the message. */
const publish = (message: number) => `redis.call('PUBLISH', ARGV[${message - 1}], ARGV[${message}]) return 1`;

const script = (numberOfKeys: number, ...steps: string[]) => ({ numberOfKeys, lua: steps.join('\n') });

/** The atomic operations in Redis: each a script, which also publishes the message about it. KEYS: value, lease; or generation. */
export const redisScripts = {
  /**
   * Reads values in order as long as they fit, and always the first; values that do not fit are 0. KEYS: any number;
   * ARGV: maximum bytes.
   */
  sqgRead: {
    lua: `
      local room = tonumber(ARGV[1])
      local found = {}
      for at, key in ipairs(KEYS) do
        room = room - redis.call('STRLEN', key)
        if at == 1 or room >= 0 then found[at] = redis.call('GET', key) else found[at] = 0 end
      end
      return found`,
  },
  /** ARGV: token, milliseconds, known version or ''. Reads before it writes, so that a full Redis still answers `held`. */
  sqgClaim: {
    numberOfKeys: 2,
    lua: `
      local version = redis.call('GETRANGE', KEYS[1], 0, ${versionBytes - 1})
      if version ~= '' and version ~= ARGV[3] then return {'changed', redis.call('GET', KEYS[1])} end
      if redis.call('EXISTS', KEYS[2]) == 1 then return {'held', redis.call('PTTL', KEYS[2])} end
      redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
      return {'granted'}`,
  },
  /** ARGV: token, milliseconds. */
  sqgExtend: script(2, fence, `return redis.call('PEXPIRE', KEYS[2], ARGV[2])`),
  /** ARGV: token, value, milliseconds, channel, message. */
  sqgPublish: script(2, fence, setValue(2, 3), endLease, publish(5)),
  /** ARGV: token, channel, message. */
  sqgRelease: script(2, fence, endLease, publish(3)),
  /** ARGV: tombstone, milliseconds, channel, message. */
  sqgRemove: script(2, setValue(1, 2), endLease, publish(4)),
  /** ARGV: generation, milliseconds, channel, message. */
  sqgBumpGeneration: script(1, setValue(1, 2), publish(4)),
};

/** The scripts as a client's methods: keys first, then arguments. */
export type RedisScripts = {
  /** A value, null where there is none, or 0 where it did not fit. */
  sqgReadBuffer(
    ...args: [keyCount: number, ...keys: string[], maxBytes: number]
  ): Promise<(Buffer | null | 0)[]>;
  /** `changed` and the value, `held` and milliseconds, or `granted`. */
  sqgClaimBuffer(
    ...args: [...keys: KeyPair, token: string, leaseMs: number, knownVersion: Buffer]
  ): Promise<[state: Buffer, detail?: Buffer | number]>;
  sqgExtend(...args: [...keys: KeyPair, token: string, leaseMs: number]): Promise<0 | 1>;
  sqgPublish(
    ...args: [...keys: KeyPair, token: string, value: Buffer, ttlMs: number, ...message: Message]
  ): Promise<0 | 1>;
  sqgRelease(...args: [...keys: KeyPair, token: string, ...message: Message]): Promise<0 | 1>;
  sqgRemove(...args: [...keys: KeyPair, tombstone: Buffer, ttlMs: number, ...message: Message]): Promise<1>;
  sqgBumpGeneration(key: string, generation: string, ttlMs: number, ...message: Message): Promise<1>;
};

type Message = [channel: string, text: string];

type KeyPair = [value: string, lease: string];
