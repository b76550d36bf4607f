-- forget.lua removes a job and its saved state after take.lua has added them to another partition.
--
-- ARGV[2]  key
-- ARGV[3]  generation of the job that was added
-- ARGV[4]  its state
--
-- Returns 1, or 0 if the job has changed meanwhile.

local j = load(ARGV[2])
if not j or j.state ~= ARGV[4] or call('HGET', P .. 'job:' .. j.key, 'gen') ~= ARGV[3] then
  return 0
end
leave(j)
remove(j)
call('DEL', P .. 'state:' .. j.key)
return 1
