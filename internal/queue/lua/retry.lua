-- retry.lua ends the lease of a failed job, which is delayed or dead.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
-- ARGV[6]  pause in milliseconds
-- ARGV[7]  number of failures that make the job dead
--
-- Returns -1 if the lease is lost, 0 if the job is delayed, 1 if a newer job of the key waits, 2 if
-- it is dead.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if settle(j) then
  return 1
end
set(j, 'attempts', j.attempts + 1, 'reason', ARGV[5])
if j.attempts + 1 >= tonumber(ARGV[7]) then
  die(j, ARGV[5])
  return 2
end
delay(j, now() + tonumber(ARGV[6]))
return 0
