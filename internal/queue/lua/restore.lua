-- restore.lua adds a job, whose hash was restored from the journal, to the indexes. Embedded only.
--
-- ARGV[2]  key
-- ARGV[3]  number of crashes in a row that make the job dead; 0 = read-only, keep running jobs as
--          they are
-- ARGV[4]  milliseconds between suspects of a crash
--
-- Returns 0.

local j = load(ARGV[2])
call('SADD', P .. 'inst:' .. j.inst, j.key)
local f = call('HMGET', P .. 'job:' .. j.key, 'since', 'due')
if j.state == 'waiting' then
  wait(j, f[1])
elseif j.state == 'delayed' then
  delay(j, f[2], f[1])
elseif j.state == 'dead' or ARGV[3] == '0' then
  enter(j, j.state, f[1])
else
  -- The process that held the lease has ended, because the journal could be opened.
  crash(j, tonumber(ARGV[3]), tonumber(ARGV[4]))
end
return 0
