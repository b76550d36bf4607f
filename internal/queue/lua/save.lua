-- save.lua keeps what the worker wants to know when it meets the key again.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  the state; "" forgets it
--
-- Answers -1 the lease is gone, 0 saved.

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
