-- claim.lua claims the next job. Before that it applies the passing of time: expired leases, ended
-- delays and pauses, and dead jobs that have expired.
--
-- ARGV[2]  length of a lease in milliseconds
-- ARGV[3]  token of the lease
-- ARGV[4]  number of crashes in a row that make the job dead
-- ARGV[5]  milliseconds between suspects of a crash
-- ARGV[6]  name of the worker's process
-- ARGV[7]  pool of the worker: "small", "large" or "" = both
--
-- Returns {1, key, generation, job, nonce, attempts, crashes, saved state or "", losses, 1 if
-- another loss makes it dead, else 0, 1 if another job can be claimed, else 0}, or {0, milliseconds
-- until a job may become claimable by itself, or -1}, or {2, layout} if the queue was divided
-- again.

-- Limit of this work in one claim: enough to keep up, without blocking the server.
local BATCH = 64

for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'leases', '-inf', now(), 'LIMIT', 0, BATCH)) do
  crash(load(key), tonumber(ARGV[4]), tonumber(ARGV[5]))
end
for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'delayed', '-inf', now(), 'LIMIT', 0, BATCH)) do
  local j = load(key)
  leave(j)
  wait(j)
end
for _, inst in ipairs(call('ZRANGEBYSCORE', P .. 'parked', '-inf', now(), 'LIMIT', 0, BATCH)) do
  call('ZREM', P .. 'parked', inst)
  call('DEL', P .. 'park:' .. inst)
  arm(inst)
end
for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'in:dead', '-inf', now() - KEEP * 1000,
    'LIMIT', 0, BATCH)) do
  local j = load(key)
  leave(j)
  remove(j)
end

local layout = call('GET', P .. 'moved')
if layout then
  return {2, layout}
end

-- The most urgent job is claimed first, and among equals that of the installation whose turn it is.
-- Every fourth claim ignores the priority, so that many urgent jobs do not starve the others.
local pools = {''}
if ARGV[7] == 'large' then
  pools = {LARGE}
elseif ARGV[7] == '' and call('EXISTS', P .. 'large') == 1 then
  pools = {'', LARGE}
end
local inst, lowest, best, pool = nil, nil, nil, nil
local fair = call('INCR', P .. 'claims') % 4 == 0
for _, prio in ipairs(PRIORITIES) do
  for _, of in ipairs(pools) do
    local first = call('ZRANGE', P .. 'ring:' .. prio .. of, 0, 0, 'WITHSCORES')
    if first[1] and (not inst or (fair or prio == best) and tonumber(first[2]) < lowest) then
      inst, lowest, best, pool = first[1], tonumber(first[2]), prio, of
    end
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

local key = call('ZRANGE', P .. 'ready:' .. inst .. pool, 0, 0)[1]
local j = load(key)
leave(j)
call('ZADD', P .. 'leases', now() + tonumber(ARGV[2]), key)
call('SADD', P .. 'running:' .. inst, key)
enter(j, 'running', now(), 'token', ARGV[3], 'by', ARGV[6])
for _, prio in ipairs(PRIORITIES) do
  call('ZREM', P .. 'ring:' .. prio .. pool, inst) -- arm gives it its next turn
end
arm(inst)
-- The wake-up token of this worker may have been for several jobs: pass it on.
local more = false
for _, of in ipairs(pools) do
  if call('ZCARD', P .. 'ring:1' .. of) + call('ZCARD', P .. 'ring:0' .. of) +
      call('ZCARD', P .. 'ring:-1' .. of) > 0 then
    more = true
    if call('LLEN', P .. 'wake' .. of) == 0 then
      call('RPUSH', P .. 'wake' .. of, '1')
    end
  end
end
local f = call('HMGET', P .. 'job:' .. key, 'gen', 'job')
local max = tonumber(ARGV[4])
local final = (j.crashes + 1 >= max or j.losses + 1 >= max * LOSSES) and 1 or 0
return {1, key, f[1], f[2], j.nonce, j.attempts, j.crashes,
    call('GET', P .. 'state:' .. key) or '', j.losses, final, more and 1 or 0}
