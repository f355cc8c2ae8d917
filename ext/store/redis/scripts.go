package redis

import "github.com/redis/go-redis/v9"

// The server's clock in microseconds.
const clock = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2] `

// place puts a member into an index, or takes it out if it has no score.
const place = `local function place(key, score, id)
  if score == '' then redis.call('ZREM', key, id) else redis.call('ZADD', key, score, id) end
end `

// replace writes a row unless it was written since it was read, with what changes at the same time, and notes in the
// indexes where the run is to be looked for from now on.
//
//	KEYS  run, steps, ids, due, expires, the runs of its key
//	ARGV  version that was read, ID, its scores in the last three indexes ("" takes it out), name of the change, time for
//	      the index of IDs, "1" to drop the steps, what to do to the checkpoint ("", "set", "drop"), the checkpoint, how
//	      many fields and values follow, those, and then records to append
//
// It returns 1, or 0 if the row was written since. A change whose answer was lost is recognized by its name: the row has
// the names of the last changes.
var replace = redis.NewScript(place + `
local writes = redis.call('HGET', KEYS[1], 'writes') or ''
if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then
  if string.find(writes, ARGV[6], 1, true) then return 1 end
  return 0
end
redis.call('HINCRBY', KEYS[1], 'v', 1)
redis.call('HSET', KEYS[1], 'writes', string.sub(writes .. ARGV[6], -8 * #ARGV[6]))
redis.call('ZADD', KEYS[3], 'GT', ARGV[7], ARGV[2])
for i = 3, 5 do place(KEYS[i + 1], ARGV[i], ARGV[2]) end
if ARGV[8] == '1' then redis.call('DEL', KEYS[2]) end
if ARGV[9] == 'set' then redis.call('HSET', KEYS[1], 'checkpoint', ARGV[10])
elseif ARGV[9] == 'drop' then redis.call('HDEL', KEYS[1], 'checkpoint') end
local n = tonumber(ARGV[11])
for i = 12, 11 + n, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
for i = 12 + n, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
return 1`)

// mend brings the indexes in line with a row as it was read, unless it was written since.
//
//	KEYS  the keys of replace
//	ARGV  the first five arguments of replace
var mend = redis.NewScript(place + `
if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
for i = 3, 5 do place(KEYS[i + 1], ARGV[i], ARGV[2]) end
if redis.call('EXISTS', KEYS[1], KEYS[2]) == 0 then redis.call('ZREM', KEYS[3], ARGV[2]) end
return 1`)

// keep writes a value of an ID without a lease.
//
//	KEYS  run, steps, ids
//	ARGV  ID, time, "set" or "append", the value
var keep = redis.NewScript(`
redis.call('ZADD', KEYS[3], 'GT', ARGV[2], ARGV[1])
redis.call('HSET', KEYS[1], 'modified', ARGV[2])
if ARGV[3] == 'set' then redis.call('HSET', KEYS[1], 'checkpoint', ARGV[4]) else redis.call('RPUSH', KEYS[2], ARGV[4]) end
return 1`)

// sign notes a sign of life of the holder of a lease, and appends a record if there is one.
//
//	KEYS  run, steps, due, expires
//	ARGV  token, how many records the lease has appended, TTL in microseconds, "1" with a record, the record with its sum, ID
//
// It returns "ok" and the request to stop, "lost", or "gap" and how many records the lease has appended if that is another
// number. A record that an earlier call with the same number has appended is not appended again.
var sign = redis.NewScript(clock + `
local r = redis.call('HMGET', KEYS[1], 'token', 'held', 'life', 'steps', 'taken', 'status', 'updated', 'stop')
if r[1] ~= ARGV[1] or r[2] ~= '1' then return {'lost', ''} end
local ends = string.format('%.0f', now + ARGV[3])
redis.call('HSET', KEYS[1], 'until', ends)
redis.call('ZADD', KEYS[3], 'XX', ends, ARGV[6])
if ARGV[4] == '1' then
  local life = tonumber(r[3])
  if life == tonumber(ARGV[2]) then
    redis.call('RPUSH', KEYS[2], ARGV[5])
    redis.call('HINCRBY', KEYS[1], 'life', 1)
    redis.call('HINCRBY', KEYS[1], 'steps', 1)
    redis.call('HINCRBY', KEYS[1], 'bytes', #ARGV[5] - 4)
    if tonumber(r[4]) > tonumber(r[5]) then redis.call('HSET', KEYS[1], 'attempts', 1) end
    redis.call('HSET', KEYS[1], 'status', 'running', 'expires', 0)
    redis.call('ZADD', KEYS[3], ends, ARGV[6])
    redis.call('ZREM', KEYS[4], ARGV[6])
    if r[6] ~= 'running' or tonumber(r[7]) < now - 1000000 then
      redis.call('HSET', KEYS[1], 'updated', string.format('%.0f', now))
    end
  elseif life ~= tonumber(ARGV[2]) + 1 or redis.call('LINDEX', KEYS[2], -1) ~= ARGV[5] then return {'gap', r[3]} end
end
redis.call('HINCRBY', KEYS[1], 'v', 1)
return {'ok', r[8] or ''}`)

// token returns the next token: also after the server has lost its memory one that is greater than those before.
var token = redis.NewScript(clock + `
local n = redis.call('INCR', KEYS[1])
local ms = math.floor(now / 1000)
if n < ms then n = ms redis.call('SET', KEYS[1], string.format('%.0f', n)) end
return n`)

// remove removes a run, also from the indexes, unless it was written since it was read.
//
//	KEYS  the keys of replace
//	ARGV  version that was read, ID
var remove = redis.NewScript(`
if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
for i = 3, 6 do redis.call('ZREM', KEYS[i], ARGV[2]) end
return 1`)

// lock takes a lock, also if this process has it: it may not know that.
//
//	KEYS  lock
//	ARGV  name of who takes it, for how many milliseconds
var lock = redis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
return 0`)

// unlock gives a lock back that this process still has.
var unlock = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)
