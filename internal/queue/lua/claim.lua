-- claim.lua hands out the next job under a lease, after putting right what time has changed: leases that ran out, delays and
-- pauses that are over, dead jobs that nobody came back for.
--
-- ARGV[3]  length of a lease in milliseconds
-- ARGV[4]  token of the lease
-- ARGV[5]  crashes in a row before the job is dead
-- ARGV[6]  milliseconds that suspects of a crash are kept apart
-- ARGV[7]  name of the worker's process
--
-- Answers {1, key, generation, job, nonce, attempts, crashes, saved state or "", losses, 1 when another would make it dead, else 0}
-- or {0, milliseconds until something may be claimable by time alone; -1 never}.

-- How much one claim tidies up: enough to keep up, little enough not to hold the server.
local BATCH = 64

for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'leases', '-inf', now(), 'LIMIT', 0, BATCH)) do
  crash(load(key), tonumber(ARGV[5]), tonumber(ARGV[6]))
end
for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'delayed', '-inf', now(), 'LIMIT', 0, BATCH)) do
  local j = load(key)
  leave(j)
  wait(j)
end
for _, inst in ipairs(call('ZRANGEBYSCORE', P .. 'parked', '-inf', now(), 'LIMIT', 0, BATCH)) do
  call('ZREM', P .. 'parked', inst)
  call('DEL', P .. 'park:' .. inst)
  dirty(P .. 'park:' .. inst)
  arm(inst)
end
for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'in:dead', '-inf', now() - KEEP * 1000, 'LIMIT', 0, BATCH)) do
  local j = load(key)
  leave(j)
  remove(j)
end

-- The most urgent is served first, and among equals whose turn it is. Each fourth claim goes by turn alone, so that no flood of
-- urgent jobs starves the others.
local inst, lowest = nil, nil
local fair = call('INCR', P .. 'claims') % 4 == 0
for _, prio in ipairs(PRIORITIES) do
  local first = call('ZRANGE', P .. 'ring:' .. prio, 0, 0, 'WITHSCORES')
  if first[1] and (not inst or fair and tonumber(first[2]) < lowest) then
    inst, lowest = first[1], tonumber(first[2])
  end
end
if not inst then
  local wake = -1
  for _, index in ipairs({'leases', 'delayed', 'parked'}) do
    local first = call('ZRANGE', P .. index, 0, 0, 'WITHSCORES')
    if first[2] then
      local ms = math.max(0, tonumber(first[2]) - now())
      if wake < 0 or ms < wake then
        wake = ms
      end
    end
  end
  return {0, wake}
end

local key = call('ZRANGE', P .. 'ready:' .. inst, 0, 0)[1]
local j = load(key)
leave(j)
call('ZADD', P .. 'leases', now() + tonumber(ARGV[3]), key)
call('SADD', P .. 'running:' .. inst, key)
enter(j, 'running', now(), 'token', ARGV[4], 'by', ARGV[7])
for _, prio in ipairs(PRIORITIES) do
  call('ZREM', P .. 'ring:' .. prio, inst) -- its turn is over; arm gives it a new one
end
arm(inst)
-- The token that woke this worker may have stood for several jobs: pass it on.
if call('ZCARD', P .. 'ring:1') + call('ZCARD', P .. 'ring:0') + call('ZCARD', P .. 'ring:-1') > 0 and call('LLEN', P .. 'wake') == 0 then
  call('RPUSH', P .. 'wake', '1')
end
local f = call('HMGET', P .. 'job:' .. key, 'gen', 'job')
local max = tonumber(ARGV[5])
local final = (j.crashes + 1 >= max or j.losses + 1 >= max * LOSSES) and 1 or 0
return {1, key, f[1], f[2], j.nonce, j.attempts, j.crashes, call('GET', P .. 'state:' .. key) or '', j.losses, final}
