-- drop.lua forgets one job, whatever its state; a lease on it is lost.
--
-- ARGV[3]  key
--
-- Answers 0 dropped, -1 there is no such job.

local j = load(ARGV[3])
if not j then
  return -1
end
leave(j)
remove(j)
return 0
