-- enqueue.lua stores the jobs of a delivery and marks the delivery.
--
-- ARGV[3]   GUID of the delivery; "" = do not mark
-- ARGV[4]   lifetime of the mark in seconds
-- ARGV[5]…  five for each job: key, installation, nonce (ForceID), priority, job (JSON)
--
-- A marked delivery is a duplicate. Its jobs that are dead are stored again.
--
-- Returns {duplicate 0
-- 1, superseded, generation of each job or 0 if it was not stored}.

local delivery = ARGV[3]
local mark = P .. 'guid:' .. delivery
local again = nil
if delivery ~= '' then
  local seen = call('GET', mark)
  if seen then
    for key in string.gmatch(seen, '[^\n]+') do
      if call('HGET', P .. 'job:' .. key, 'state') == 'dead' then
        again = again or {}
        again[key] = true
      end
    end
    if not again then
      return {1, 0}
    end
  end
end

local superseded = 0

local function store(key, inst, nonce, prio, job)
  local gen = number()
  local j = load(key)
  if not j then
    j = {key = key, inst = inst, seq = gen, prio = prio}
    call('SADD', P .. 'inst:' .. inst, key)
    wait(j, now(), 'job', job, 'gen', gen, 'nonce', nonce, 'inst', inst, 'prio', prio, 'seq', gen, 'attempts', 0, 'crashes', 0, 'reason', '')
    return gen
  end
  if j.state == 'running' then
    -- It has the place of the first job that came while this one ran.
    superseded = superseded + 1
    if nonce == '' then
      nonce = j.next_nonce
    end
    if nonce == '' then
      nonce = j.nonce
    end
    set(j, 'next', job, 'next_gen', gen, 'next_nonce', nonce, 'next_inst', inst, 'next_prio', math.max(prio, j.next_prio), 'next_seq', j.next_seq or gen)
    return gen
  end
  if nonce == '' then
    nonce = j.nonce
  end
  if j.state == 'waiting' and j.inst == inst and prio <= j.prio then
    -- It keeps its place.
    superseded = superseded + 1
    set(j, 'job', job, 'gen', gen, 'nonce', nonce, 'attempts', 0, 'reason', '')
    return gen
  end
  local since = now()
  if j.state == 'waiting' then
    since = call('ZSCORE', P .. 'in:waiting', key)
  end
  local crashes, losses = j.crashes, j.losses
  if j.state == 'dead' then
    j.seq, crashes, losses = gen, 0, 0
  else
    superseded = superseded + 1
    prio = math.max(prio, j.prio)
  end
  leave(j)
  j.prio = prio
  move(j, inst)
  wait(j, since, 'job', job, 'gen', gen, 'nonce', nonce, 'inst', inst, 'prio', prio, 'seq', j.seq, 'attempts', 0, 'crashes', crashes, 'losses', losses, 'reason', '')
  return gen
end

local keys = {}
local answer = {0, 0}
for i = 5, #ARGV, 5 do
  local key = ARGV[i]
  keys[#keys + 1] = key
  if again and not again[key] then
    answer[#answer + 1] = 0
  else
    answer[#answer + 1] = store(key, ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4])
  end
end
if delivery ~= '' then
  call('SET', mark, table.concat(keys, '\n'), 'EX', ARGV[4])
  dirty(mark)
end
answer[2] = superseded
return answer
