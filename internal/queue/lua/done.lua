-- done.lua ends the lease of a finished job.
--
-- ARGV[2]  key
-- ARGV[3]  token
--
-- Returns -1 if the lease is lost, 0 if the job is finished, 1 if it is finished and a newer job of
-- the key waits.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if settle(j) then
  return 1
end
remove(j)
return 0
