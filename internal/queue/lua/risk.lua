-- risk.lua says whether the worker's silence from now on counts against the job.
--
-- ARGV[3]  key
-- ARGV[4]  token
-- ARGV[5]  "1": it does, "0": it does not
--
-- Answers -1 the lease is gone, 0 noted.

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
