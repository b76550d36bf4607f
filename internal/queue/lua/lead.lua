-- lead.lua asks for the lead of a name, keeps it, or gives it up.
--
-- ARGV[3]  name
-- ARGV[4]  token of the one who asks
-- ARGV[5]  milliseconds that the lead lasts from now; 0 only asks whether token leads; less gives it up
--
-- Answers the number of the term when token leads (or has given up just now), else 0. Each term has a higher number than those before.

local name, token, ms = P .. 'lead:' .. ARGV[3], ARGV[4], tonumber(ARGV[5])
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
