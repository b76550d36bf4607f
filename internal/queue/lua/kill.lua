-- kill.lua ends a lease: the job can't succeed. It is dead, unless a newer job of the key has come.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
--
-- Answers -1 the lease is gone, 0 dead, 1 a newer job of the key waits now.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if settle(j) then
  return 1
end
die(j, ARGV[5])
return 0
