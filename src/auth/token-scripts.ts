/** Notifies the other gateways that the records have changed: an object with a type, as the subscriber requires. */
export const changedMessage = '{"type":"tokens"}';

/** The atomic operations on tokens in Redis. */
export const tokenScripts = {
  /** Replaces the records if they are unchanged since they were read. KEYS: records, version; ARGV: version, records, channel. */
  sqgTokensReplace: {
    numberOfKeys: 2,
    lua: `
      local version = redis.call('GET', KEYS[2]) or ''
      if version ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[2])
      redis.call('INCR', KEYS[2])
      redis.call('PUBLISH', ARGV[3], '${changedMessage}')
      return 1`,
  },
  /**
   * Adds a gateway's use of a token to the totals, by the clock of Redis. KEYS: usage; ARGV: number of rates, for each its name,
   * milliseconds per request and requests; then bytes, their day, milliseconds of the last use.
   * Returns the bytes of the day and of its month, and milliseconds until each bucket is full again.
   */
  sqgTokenUsage: {
    numberOfKeys: 1,
    lua: `
      local time = redis.call('TIME')
      local now = time[1] * 1000 + time[2] / 1000
      local debts = {}
      local at = 2
      for _ = 1, tonumber(ARGV[1]) do
        local interval, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
        local full = math.max(tonumber(redis.call('HGET', KEYS[1], ARGV[at]) or '0'), now) + interval * count
        if count > 0 then redis.call('HSET', KEYS[1], ARGV[at], string.format('%.3f', full)) end
        debts[#debts + 1] = string.format('%.3f', full - now)
        at = at + 3
      end
      local bytes, day = ARGV[at], ARGV[at + 1]
      local function add(name, span)
        local known = redis.call('HGET', KEYS[1], name)
        if not known or known < span then redis.call('HSET', KEYS[1], name, span, name .. ':bytes', 0) end
        return tostring(redis.call('HINCRBY', KEYS[1], name .. ':bytes', bytes))
      end
      local totals = {add('day', day), add('month', string.sub(day, 1, 7))}
      local used = math.floor(tonumber(ARGV[at + 2]) / 60000) * 60000
      if used > tonumber(redis.call('HGET', KEYS[1], 'used') or '0') then
        redis.call('HSET', KEYS[1], 'used', string.format('%.0f', used))
      end
      redis.call('PEXPIRE', KEYS[1], 400 * 86400000)
      return {totals[1], totals[2], unpack(debts)}`,
  },
};
