-- kill.lua ends the lease of a job that cannot succeed. It is dead, unless a newer job of the key
-- waits.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
--
-- Returns -1 if the lease is lost, 0 if the job is dead, 1 if a newer job of the key waits.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if settle(j) then
  return 1
end
die(j, ARGV[5])
return 0
