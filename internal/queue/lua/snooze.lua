-- snooze.lua ends a lease: there is nothing to do for now. No attempt is counted.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  reason
-- ARGV[6]  pause in milliseconds
--
-- Answers -1 the lease is gone, 0 delayed, 1 a newer job of the key waits now.

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
