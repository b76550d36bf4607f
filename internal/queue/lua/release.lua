-- release.lua ends a lease: the worker stops and another shall go on. Nothing is counted, the job keeps its place in line.
--
-- ARGV[3]  key
-- ARGV[4]  token
--
-- Answers -1 the lease is gone, 0 waiting, 1 a newer job of the key waits now.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
leave(j)
local newer = promote(j)
wait(j)
return newer and 1 or 0
