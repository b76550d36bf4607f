-- enqueue.lua stores the jobs of a delivery and marks the delivery.
--
-- ARGV[2]   GUID of the delivery; "" = do not mark
-- ARGV[3]   fingerprint of the GUID, eight bytes
-- ARGV[4]   the layout if this partition belongs to an earlier division; "" = it does not
-- ARGV[5]   "1" = the delivery is marked in such a partition
-- ARGV[6]   fingerprint of the body, eight bytes; "" = not known
-- ARGV[7]…  five for each job: key, installation, nonce (ForceID), priority, job (JSON)
--
-- A marked delivery is a duplicate. Its jobs that are dead are stored again. A delivery with the body
-- of another one is a duplicate too, and then nothing is stored: somebody sends a recorded delivery
-- again. A partition of an earlier division stores only jobs of keys that it has, and does not mark
-- the delivery.
--
-- Returns {1 if the delivery was marked already and nothing is stored (in an earlier division: if
-- it was marked), else 0; superseded; generation of each job or 0 if it was not stored}, or {2,
-- layout} if the queue was divided again.

local moved = call('GET', P .. 'moved')
if ARGV[4] ~= '' then
  if not moved then
    call('SET', P .. 'moved', ARGV[4], 'EX', KEEP * 2)
  end
elseif moved then
  return {2, moved}
end

local delivery = ARGV[2]
local again, seen = nil, false
if delivery ~= '' then
  seen = marked(delivery, ARGV[3])
  if not seen and ARGV[6] ~= '' and marked('', ARGV[6]) then
    return {1, 0}
  end
  if seen or ARGV[5] == '1' then
    again = {}
    for i = 7, #ARGV, 5 do
      if call('HGET', P .. 'job:' .. ARGV[i], 'state') == 'dead' then
        again[ARGV[i]] = true
      end
    end
    if not next(again) and seen then
      return {1, 0}
    end
  end
end

local answer = {again and 1 or 0, 0}
for i = 7, #ARGV, 5 do
  local key = ARGV[i]
  local gen, newer = 0, false
  if not (again and not again[key] or ARGV[4] ~= '' and
      call('EXISTS', P .. 'job:' .. key) == 0) then
    gen, newer = store(key, ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4])
    if ARGV[4] == '' then
      answer[1] = 0
    end
  end
  if newer then
    answer[2] = answer[2] + 1
  end
  answer[#answer + 1] = gen
end
if delivery ~= '' and ARGV[4] == '' and not seen then
  mark(ARGV[3])
  if ARGV[6] ~= '' then
    mark(ARGV[6])
  end
end
return answer
