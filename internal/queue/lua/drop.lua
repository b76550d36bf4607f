-- drop.lua removes a job in any state; its lease is lost.
--
-- ARGV[2]  key
--
-- Returns 0 if it was dropped, -1 if there is no such job.

local j = load(ARGV[2])
if not j then
  return -1
end
leave(j)
remove(j)
return 0
