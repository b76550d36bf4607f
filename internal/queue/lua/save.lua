-- save.lua stores a state for the key, for later leases.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  the state; "" deletes it
--
-- Returns -1 if the lease is lost, else 0.

if not held(ARGV[3], ARGV[4]) then
  return -1
end
local name = P .. 'state:' .. ARGV[3]
if ARGV[5] == '' then
  call('DEL', name)
else
  call('SET', name, ARGV[5], 'EX', KEEP)
end
dirty(name)
return 0
