-- retry.lua ends the lease of a failed job, which is delayed or dead.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  reason
-- ARGV[5]  pause in milliseconds
-- ARGV[6]  number of failures that make the job dead
--
-- Returns -1 if the lease is lost, 0 if the job is delayed, 1 if a newer job of the key waits, 2 if
-- it is dead.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if settle(j) then
  return 1
end
set(j, 'attempts', j.attempts + 1, 'reason', ARGV[4])
if j.attempts + 1 >= tonumber(ARGV[6]) then
  die(j, ARGV[4])
  return 2
end
delay(j, now() + tonumber(ARGV[5]))
return 0
