-- save.lua stores a state for the key, for later leases.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  the state; "" deletes it
--
-- Returns -1 if the lease is lost, else 0.

if not held(ARGV[2], ARGV[3]) then
  return -1
end
local name = P .. 'state:' .. ARGV[2]
if ARGV[4] == '' then
  call('DEL', name)
else
  call('SET', name, ARGV[4], 'EX', KEEP)
end
return 0
