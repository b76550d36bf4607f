-- park.lua keeps an installation's jobs from being claimed for a while. The later of two ends counts; running jobs go on.
--
-- ARGV[3]  installation
-- ARGV[4]  milliseconds; 0 or less ends the pause
--
-- Answers 0.

local inst, ms = ARGV[3], tonumber(ARGV[4])
if ms <= 0 then
  call('ZREM', P .. 'parked', inst)
  call('DEL', P .. 'park:' .. inst)
elseif tonumber(call('ZSCORE', P .. 'parked', inst) or 0) < now() + ms then
  call('ZADD', P .. 'parked', now() + ms, inst)
  call('SET', P .. 'park:' .. inst, now() + ms, 'PX', ms)
end
dirty(P .. 'park:' .. inst)
arm(inst)
return 0
