-- drop_installation.lua removes all jobs of an installation; their leases are lost.
--
-- ARGV[2]  installation
--
-- Returns the number of jobs.

local inst = ARGV[2]
local keys = call('SMEMBERS', P .. 'inst:' .. inst)
for _, key in ipairs(keys) do
  local j = load(key)
  leave(j)
  -- The repository moved to another installation while the job ran: keep the newer job.
  if j.next_inst and j.next_inst ~= inst and promote(j) then
    wait(j)
  else
    remove(j)
  end
end
return #keys
