-- risk.lua records whether the job is at risk: whether an expired lease counts as a crash.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  "1" if it is, "0" if not
--
-- Returns -1 if the lease is lost, else 0.

local j = held(ARGV[3], ARGV[4])
if not j then
  return -1
end
if ARGV[5] == '1' then
  set(j, 'risk', 1)
elseif j.risk then
  call('HDEL', P .. 'job:' .. j.key, 'risk')
  dirty(P .. 'job:' .. j.key)
end
return 0
