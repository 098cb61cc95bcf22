/**
 * The store's steps that must be one, as Lua for Redis 7. KEYS: value, lease. Each tells its news on the channel of `ARGV[1]`
 * itself, so that nobody hears of what did not happen.
 */
export const redisScripts = {
  /** ARGV: token, lease ms, known version. Answers the unseen value, or the ms that somebody else's lease lasts, or 0. */
  storeClaim: {
    numberOfKeys: 2,
    lua: `
local value = redis.call('GETRANGE', KEYS[1], 0, 15)
if value ~= '' and value ~= ARGV[3] then return redis.call('GET', KEYS[1]) end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
return math.max(1, redis.call('PTTL', KEYS[2]))`,
  },
  /** ARGV: token, lease ms. Answers 1 where the lease was still the token's. */
  storeRenew: {
    numberOfKeys: 2,
    lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[2], ARGV[2])`,
  },
  /** ARGV: channel, news, token, value, ms to keep it. */
  storePublish: {
    numberOfKeys: 2,
    lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1`,
  },
  /** ARGV: channel, news, token. */
  storeRelease: {
    numberOfKeys: 2,
    lua: `
if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1`,
  },
  /** ARGV: channel, news, mark, ms to keep it. */
  storeRemove: {
    numberOfKeys: 2,
    lua: `
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
redis.call('DEL', KEYS[2])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1`,
  },
  /** KEYS: generation. ARGV: channel, news, generation, ms to keep it. */
  storeRenewGroup: {
    numberOfKeys: 1,
    lua: `
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1`,
  },
} as const;
