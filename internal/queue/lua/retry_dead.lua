-- retry_dead.lua lets a dead or delayed job wait again, as if it had just come.
--
-- ARGV[3]  key
--
-- Answers 0 it waits, -1 there is no such job, -2 it waits or runs already.

local j = load(ARGV[3])
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
