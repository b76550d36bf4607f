-- drop_installation.lua forgets every job of an installation; leases on them are lost.
--
-- ARGV[3]  installation
--
-- Answers how many jobs there were.

local inst = ARGV[3]
local keys = call('SMEMBERS', P .. 'inst:' .. inst)
for _, key in ipairs(keys) do
  local j = load(key)
  leave(j)
  -- The repository moved to another installation while the job ran: what came from there stays.
  if j.next_inst and j.next_inst ~= inst and promote(j) then
    wait(j)
  else
    remove(j)
  end
end
return #keys
