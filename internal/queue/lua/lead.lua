-- lead.lua acquires, renews or resigns the lead for a name.
--
-- ARGV[2]  name
-- ARGV[3]  token of the candidate
-- ARGV[4]  milliseconds from now that the lead lasts; 0 only checks it; negative resigns
--
-- Returns the number of the term if token leads (or has just resigned), else 0. The numbers
-- increase.

local name, token, ms = P .. 'lead:' .. ARGV[2], ARGV[3], tonumber(ARGV[4])
local f = call('HMGET', name, 'token', 'until', 'term')
local led = f[1] and tonumber(f[2]) > now()
if led and f[1] == token then
  if ms ~= 0 then
    call('HSET', name, 'until', now() + ms)
  end
  return tonumber(f[3])
end
if led or ms <= 0 then
  return 0
end
call('HSET', name, 'token', token, 'until', now() + ms)
return call('HINCRBY', name, 'term', 1)
