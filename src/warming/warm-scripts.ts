import { redisPrefix } from '../store/connect-redis.ts';
import { maxShownGroups } from './schedule.ts';

const names = ['due', 'claims', 'failures', 'expires', 'score', 'facts', 'members', 'totals'];

/**
 * All Redis keys of a schedule, in the order in which each script receives them; the braces keep them in one slot of a Cluster.
 * @param warehouse as for `redisPrefix`
 */
export function warmKeys(warehouse: string | undefined): readonly string[] {
  return names.map(name => `${redisPrefix(warehouse)}{warm}:${name}`);
}

/** Maximum keys that one script looks at: it holds up the commands of all other clients, for some two milliseconds per thousand keys. */
const pageKeys = 1000;

/**
 * The beginning of each script. `due`: groups by due time; `claims`, `failures`: by group; `expires`, `score`: keys by the time
 * when they are dropped, and by score; `facts`: `<group> <endpoint> <payload>` by key; `members`: `<group> <key>`, in text order.
 */
const opening = `
  local due, claims, failures, expires, score, facts, members, totals = unpack(KEYS)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function digests(group, after, count)
    local from = after == '' and '[' .. group .. ' ' or '(' .. group .. ' ' .. after
    local found = redis.call('ZRANGEBYLEX', members, from, '(' .. group .. '!', 'LIMIT', 0, count)
    for at, member in ipairs(found) do found[at] = string.sub(member, #group + 2) end
    return found
  end
  local function endGroup(group)
    redis.call('ZREM', due, group)
    redis.call('HDEL', claims, group)
    redis.call('HDEL', failures, group)
  end
  -- Forgets a key, and with the last one its group, unless a worker has it.
  local function forget(digest)
    local fact = redis.call('HGET', facts, digest)
    redis.call('HDEL', facts, digest)
    redis.call('ZREM', expires, digest)
    redis.call('ZREM', score, digest)
    if not fact then return end
    local group = string.match(fact, '^%S+')
    redis.call('ZREM', members, group .. ' ' .. digest)
    if #digests(group, '', 1) == 0 and redis.call('HEXISTS', claims, group) == 0 then endGroup(group) end
  end
  -- Adds the next page of a group's keys to an answer: where the others begin or '', then key and fact in turn. Gives how many it looked at.
  local function addPage(answer, group, after)
    local found = digests(group, after, ${pageKeys})
    answer[#answer + 1] = #found == ${pageKeys} and found[#found] or ''
    for _, digest in ipairs(found) do
      -- A Redis that evicts may have lost a part of what is known.
      local fact = redis.call('HGET', facts, digest)
      if fact and tonumber(redis.call('ZSCORE', expires, digest) or 0) > now then
        answer[#answer + 1] = digest
        answer[#answer + 1] = fact
      else
        redis.call('ZREM', members, group .. ' ' .. digest)
        forget(digest)
      end
    end
    return #found
  end`;

/**
 * Milliseconds after which a schedule expires in which no gateway records reads any more: longer than any key lives. Otherwise, when the
 * name of the rows changes, the schedule under the old name would stay in Redis for ever, because no worker looks after it.
 */
const keptMs = 8 * 86_400_000;

/** The operations of the schedule, one script each. Times are those of Redis, not of the workers' hosts. */
export const warmScripts = {
  /** ARGV: maximum number of keys, half-life; then for each key digest, group, fact, period, lifetime. */
  sqgWarmRecord: `${opening}
    for at = 3, #ARGV, 5 do
      local digest, group = ARGV[at], ARGV[at + 1]
      local read = now / ARGV[2]
      local before = tonumber(redis.call('ZSCORE', score, digest) or read - 1e6)
      local more, less = math.max(read, before), math.min(read, before)
      local after = more + math.log(1 + 2 ^ (less - more)) / math.log(2)
      redis.call('ZADD', score, string.format('%.17g', after), digest)
      redis.call('ZADD', expires, now + ARGV[at + 4], digest)
      redis.call('HSET', facts, digest, group .. ' ' .. ARGV[at + 2])
      redis.call('ZADD', members, 0, group .. ' ' .. digest)
      redis.call('ZADD', due, 'NX', now + ARGV[at + 3], group)
    end
    for _ = 1, math.min(redis.call('ZCARD', score) - ARGV[1], ${pageKeys}) do
      forget(redis.call('ZRANGE', score, 0, 0)[1])
    end
    for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ${keptMs}) end
    return 1`,
  /** ARGV: token, milliseconds. Returns group, milliseconds late, failures, then a page of keys; nothing if none is due; '' to be called again. */
  sqgWarmClaim: `${opening}
    local looked = 0
    while looked < ${pageKeys} do
      local first = redis.call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
      if #first == 0 then return {} end
      local group = first[1]
      local answer = {group, tostring(now - first[2]), redis.call('HGET', failures, group) or '0'}
      looked = looked + 1 + addPage(answer, group, '')
      if #answer > 4 or answer[4] ~= '' then
        redis.call('ZADD', due, now + ARGV[2], group)
        redis.call('HSET', claims, group, ARGV[1])
        return answer
      end
      endGroup(group)
    end
    return {''}`,
  /** ARGV: group, where the page begins. */
  sqgWarmPage: `${opening}
    local answer = {}
    addPage(answer, ARGV[1], ARGV[2])
    return answer`,
  /** ARGV: group, token, milliseconds. */
  sqgWarmExtend: `${opening}
    if redis.call('HGET', claims, ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('ZADD', due, now + ARGV[3], ARGV[1])
    return 1`,
  /** ARGV: group, token, then keys of the group that are no longer warmed. */
  sqgWarmDrop: `${opening}
    if redis.call('HGET', claims, ARGV[1]) ~= ARGV[2] then return 0 end
    for at = 3, #ARGV do forget(ARGV[at]) end
    return 1`,
  /** ARGV: group, token, milliseconds, failures, then names and counts in turn. */
  sqgWarmSettle: `${opening}
    local group = ARGV[1]
    if redis.call('HGET', claims, group) ~= ARGV[2] then return 0 end
    if #digests(group, '', 1) == 0 then
      endGroup(group)
    else
      redis.call('HDEL', claims, group)
      redis.call('HSET', failures, group, ARGV[4])
      redis.call('ZADD', due, now + ARGV[3], group)
    end
    for at = 5, #ARGV, 2 do redis.call('HINCRBYFLOAT', totals, ARGV[at], ARGV[at + 1]) end
    return 1`,
  /** Returns the number of keys, groups as JSON [group, due in, claimed, failures, keys, fact of one key], and totals. */
  sqgWarmState: `${opening}
    local groups = {}
    local first = redis.call('ZRANGE', due, 0, ${maxShownGroups - 1}, 'WITHSCORES')
    for at = 1, #first, 2 do
      local group = first[at]
      local own = digests(group, '', 1)
      if #own > 0 then
        local keys = redis.call('ZLEXCOUNT', members, '[' .. group .. ' ', '(' .. group .. '!')
        groups[#groups + 1] = cjson.encode({
          group, first[at + 1] - now, redis.call('HEXISTS', claims, group),
          tonumber(redis.call('HGET', failures, group) or 0), keys, redis.call('HGET', facts, own[1]) or '',
        })
      end
    end
    return {redis.call('ZCARD', score), groups, redis.call('HGETALL', totals)}`,
};
