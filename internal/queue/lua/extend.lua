-- extend.lua gives a lease its full length again.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  length of a lease in milliseconds; 0 only asks
--
-- Answers -1 the lease is gone, 0 held, 1 held and a newer job of the key has come.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if ARGV[5] ~= '0' then
  call('ZADD', P .. 'leases', now() + tonumber(ARGV[5]), j.key)
end
return j.next_inst and 1 or 0
