-- kill.lua ends the lease of a job that cannot succeed. It is dead, unless a newer job of the key
-- waits.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  reason
--
-- Returns -1 if the lease is lost, 0 if the job is dead, 1 if a newer job of the key waits.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if settle(j) then
  return 1
end
die(j, ARGV[4])
return 0
