-- take.lua adds a job of an earlier division of the queue. If there is a job of its key, it is
-- newer than that one, like one of Enqueue.
--
-- ARGV[2]   key
-- ARGV[3]   installation
-- ARGV[4]   nonce (ForceID)
-- ARGV[5]   priority
-- ARGV[6]   job (JSON)
-- ARGV[7]   its state: waiting, delayed or dead
-- ARGV[8]   since when
-- ARGV[9]   when it is due, if it is delayed
-- ARGV[10]  attempts
-- ARGV[11]  crashes
-- ARGV[12]  losses
-- ARGV[13]  reason
-- ARGV[14]  the saved state; "" = none
-- ARGV[15]  "1" = it belongs to the large pool
--
-- Returns 0.

local key, inst = ARGV[2], ARGV[3]
if ARGV[14] ~= '' and call('EXISTS', P .. 'state:' .. key) == 0 then
  call('SET', P .. 'state:' .. key, ARGV[14], 'EX', KEEP)
end
if load(key) then
  store(key, inst, ARGV[4], tonumber(ARGV[5]), ARGV[6])
  return 0
end
local gen = number()
local j = {key = key, inst = inst, seq = gen, prio = tonumber(ARGV[5]), pool = ''}
call('SADD', P .. 'inst:' .. inst, key)
set(j, 'job', ARGV[6], 'gen', gen, 'nonce', ARGV[4], 'inst', inst, 'prio', j.prio, 'seq', gen,
    'attempts', ARGV[10], 'crashes', ARGV[11], 'losses', ARGV[12], 'reason', ARGV[13])
if ARGV[15] == '1' then
  j.pool = LARGE
  set(j, 'large', 1)
end
if ARGV[7] == 'waiting' then
  wait(j, ARGV[8])
elseif ARGV[7] == 'delayed' then
  delay(j, ARGV[9], ARGV[8])
else
  enter(j, 'dead', ARGV[8])
end
return 0
