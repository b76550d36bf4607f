-- park.lua prevents the jobs of an installation from being claimed for a while. The latest end
-- applies; running jobs continue.
--
-- ARGV[2]  installation
-- ARGV[3]  milliseconds; 0 or less ends the pause
--
-- Returns 0.

local inst, ms = ARGV[2], tonumber(ARGV[3])
if ms <= 0 then
  call('ZREM', P .. 'parked', inst)
  call('DEL', P .. 'park:' .. inst)
elseif tonumber(call('ZSCORE', P .. 'parked', inst) or 0) < now() + ms then
  call('ZADD', P .. 'parked', now() + ms, inst)
  call('SET', P .. 'park:' .. inst, now() + ms, 'PX', ms)
end
arm(inst)
return 0
