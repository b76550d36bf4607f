-- take.lua adds a job of an earlier division of the queue. If there is a job of its key, it is
-- newer than that one, like one of Enqueue.
--
-- ARGV[3]   key
-- ARGV[4]   installation
-- ARGV[5]   nonce (ForceID)
-- ARGV[6]   priority
-- ARGV[7]   job (JSON)
-- ARGV[8]   its state: waiting, delayed or dead
-- ARGV[9]   since when
-- ARGV[10]  when it is due, if it is delayed
-- ARGV[11]  attempts
-- ARGV[12]  crashes
-- ARGV[13]  losses
-- ARGV[14]  reason
-- ARGV[15]  the saved state; "" = none
-- ARGV[16]  "1" = it belongs to the large pool
--
-- Returns 0.

local key, inst = ARGV[3], ARGV[4]
if ARGV[15] ~= '' and call('EXISTS', P .. 'state:' .. key) == 0 then
  call('SET', P .. 'state:' .. key, ARGV[15], 'EX', KEEP)
end
if load(key) then
  store(key, inst, ARGV[5], tonumber(ARGV[6]), ARGV[7])
  return 0
end
local gen = number()
local j = {key = key, inst = inst, seq = gen, prio = tonumber(ARGV[6]), pool = ''}
call('SADD', P .. 'inst:' .. inst, key)
set(j, 'job', ARGV[7], 'gen', gen, 'nonce', ARGV[5], 'inst', inst, 'prio', j.prio, 'seq', gen,
    'attempts', ARGV[11], 'crashes', ARGV[12], 'losses', ARGV[13], 'reason', ARGV[14])
if ARGV[16] == '1' then
  j.pool = LARGE
  set(j, 'large', 1)
end
if ARGV[8] == 'waiting' then
  wait(j, ARGV[9])
elseif ARGV[8] == 'delayed' then
  delay(j, ARGV[10], ARGV[9])
else
  enter(j, 'dead', ARGV[9])
end
return 0
