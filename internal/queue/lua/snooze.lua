-- snooze.lua ends a lease and delays the job. No attempt is counted.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  reason
-- ARGV[5]  pause in milliseconds
--
-- Returns -1 if the lease is lost, 0 if the job is delayed, 1 if a newer job of the key waits.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if settle(j) then
  return 1
end
set(j, 'reason', ARGV[4])
delay(j, now() + tonumber(ARGV[5]))
return 0
