-- retry_dead.lua makes a dead or delayed job wait like a new one.
--
-- ARGV[2]  key
--
-- Returns 0 if it waits, -1 if there is no such job, -2 if it was waiting or running already.

local j = load(ARGV[2])
if not j then
  return -1
end
if j.state ~= 'dead' and j.state ~= 'delayed' then
  return -2
end
leave(j)
j.seq = number()
set(j, 'seq', j.seq, 'attempts', 0, 'crashes', 0, 'losses', 0, 'reason', '')
wait(j)
return 0
