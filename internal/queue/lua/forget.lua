-- forget.lua removes a job and its saved state after take.lua has added them to another partition.
--
-- ARGV[3]  key
-- ARGV[4]  generation of the job that was added
-- ARGV[5]  its state
--
-- Returns 1, or 0 if the job has changed meanwhile.

local j = load(ARGV[3])
if not j or j.state ~= ARGV[5] or call('HGET', P .. 'job:' .. j.key, 'gen') ~= ARGV[4] then
  return 0
end
leave(j)
remove(j)
call('DEL', P .. 'state:' .. j.key)
return 1
