-- release.lua ends a lease, so that another worker can claim the job. Nothing is counted, and the
-- job keeps its place.
--
-- ARGV[2]  key
-- ARGV[3]  token
--
-- Returns -1 if the lease is lost, 0 if the job waits, 1 if a newer job of the key waits.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
leave(j)
local newer = promote(j)
wait(j)
return newer and 1 or 0
