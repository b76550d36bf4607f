-- restore.lua puts one job, whose hash the journal has just written back, into the indexes. Embedded only.
--
-- ARGV[3]  key
-- ARGV[4]  crashes in a row before the job is dead; 0: nobody is to claim, show a running job as it was
-- ARGV[5]  milliseconds that suspects of a crash are kept apart
--
-- Answers 0.

local j = load(ARGV[3])
call('SADD', P .. 'inst:' .. j.inst, j.key)
local f = call('HMGET', P .. 'job:' .. j.key, 'since', 'due')
if j.state == 'waiting' then
  wait(j, f[1])
elseif j.state == 'delayed' then
  delay(j, f[2], f[1])
elseif j.state == 'dead' or ARGV[4] == '0' then
  enter(j, j.state, f[1])
else
  -- The process that held the lease is gone, or the journal could not have been opened.
  crash(j, tonumber(ARGV[4]), tonumber(ARGV[5]))
end
return 0
