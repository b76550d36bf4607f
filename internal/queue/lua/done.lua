-- done.lua ends a lease: the job is finished.
--
-- ARGV[3]  key
-- ARGV[4]  token
--
-- Answers -1 the lease is gone, 0 finished, 1 finished and a newer job of the key waits now.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if settle(j) then
  return 1
end
remove(j)
return 0
