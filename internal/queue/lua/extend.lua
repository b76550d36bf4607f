-- extend.lua renews a lease.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  length of a lease in milliseconds; 0 only checks it
--
-- Returns -1 if the lease is lost, 0 if it is held, 1 if it is held and a newer job of the key
-- waits.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if ARGV[4] ~= '0' then
  call('ZADD', P .. 'leases', now() + tonumber(ARGV[4]), j.key)
end
return j.next_inst and 1 or 0
