-- changes.lua returns the changes that the journal has not written yet. Embedded only.
--
-- ARGV[3]  the last change that is written
--
-- Returns an entry for each changed key: {change, key} if it was deleted; {change, key, text,
-- remaining milliseconds or -1}; or {change, key, field, value, field, value, field, value …} for a
-- hash, which has at least three fields.

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
