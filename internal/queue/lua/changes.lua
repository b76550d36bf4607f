-- changes.lua answers what the journal has still to write, all as it is at one moment. Embedded only.
--
-- ARGV[3]  changes up to this one are written
--
-- Answers an entry for each changed key: {change, key}: it is gone; {change, key, text, milliseconds it has left, -1 for ever};
-- {change, key, field, value, field, value, field, value …}: a hash, which has three fields at least.

call('ZREMRANGEBYSCORE', P .. 'dirty', '-inf', ARGV[3])
local changed = call('ZRANGE', P .. 'dirty', 0, -1, 'WITHSCORES')
local answer = {}
for i = 1, #changed, 2 do
  local key = changed[i]
  local entry = {changed[i + 1], key}
  if string.sub(key, 1, #P + 4) == P .. 'job:' then
    for _, v in ipairs(call('HGETALL', key)) do
      entry[#entry + 1] = v
    end
  else
    local text = call('GET', key)
    if text then
      entry[3], entry[4] = text, call('PTTL', key)
    end
  end
  answer[#answer + 1] = entry
end
return answer
