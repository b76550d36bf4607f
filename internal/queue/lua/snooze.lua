-- snooze.lua ends a lease and delays the job. No attempt is counted.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
-- ARGV[6]  pause in milliseconds
--
-- Returns -1 if the lease is lost, 0 if the job is delayed, 1 if a newer job of the key waits.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if settle(j) then
  return 1
end
set(j, 'reason', ARGV[5])
delay(j, now() + tonumber(ARGV[6]))
return 0
