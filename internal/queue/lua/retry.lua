-- retry.lua ends a lease: the job failed and comes back after a pause, or is dead.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
-- ARGV[6]  pause in milliseconds
-- ARGV[7]  failures that make it dead
--
-- Answers -1 the lease is gone, 0 delayed, 1 a newer job of the key waits now, 2 dead.

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
