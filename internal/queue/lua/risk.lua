-- risk.lua records whether the job is at risk: whether an expired lease counts as a crash.
--
-- ARGV[2]  key
-- ARGV[3]  token
-- ARGV[4]  "1" if it is, "0" if not
--
-- Returns -1 if the lease is lost, else 0.

local j = held(ARGV[2], ARGV[3])
if not j then
  return -1
end
if ARGV[4] == '1' then
  set(j, 'risk', 1)
elseif j.risk then
  call('HDEL', P .. 'job:' .. j.key, 'risk')
end
return 0
