-- lib.lua contains the functions shared by the other scripts. Each script is preceded by the
-- blocks, separated by blank lines, that it uses, because defining a function takes Redis time in
-- each call. A block contains no blank line and uses only blocks above it.
--
-- KEYS[1]  prefix of all keys of a partition, "{compat}:" if there is one; the other keys are built
--          from it, so they are in one Cluster slot
-- ARGV[1]  limit of concurrent jobs of one installation
-- ARGV[2]… arguments of the script
--
-- Keys. K is a job's key and I an installation ID; times are milliseconds of the server's clock:
--   job:K      hash    job (JSON), gen, nonce (the job's force id), inst, prio, state, seq, since,
--                      attempts, crashes, losses, reason; token, by (whose) and risk while running,
--                      due while delayed; next, next_gen, next_nonce, next_inst, next_prio,
--                      next_seq when a newer job came while this one runs
--   in:STATE   zset    job keys by the time they came into the state: waiting, running, delayed,
--                      dead
--   ready:I    zset    waiting keys of an installation in the order of claims: by priority, then by
--                      seq
--   ring:PRIO  zset    installations with a claimable job (some ready, not parked, below the limit)
--                      by turn; PRIO is the priority of their first job
--   ready:I:large, ring:PRIO:large, wake:large  the same for jobs of the large pool, whose hash has
--                      the field large; ready:I, ring:PRIO and wake are for the others
--   in:waiting:large  zset  waiting keys of the large pool, which are also in in:waiting
--   large      set     installations with a waiting job of the large pool
--   running:I  set     running keys of an installation
--   inst:I     set     all keys of an installation
--   leases     zset    running keys by the end of their lease
--   delayed    zset    delayed keys by the time they are due
--   parked     zset    installations by the end of their pause; park:I (string) has the same, from
--                      which an embedded queue builds this index
--   mark:W:B   string  fingerprints, of eight bytes each, of the deliveries of window W in bucket B
--   marks:W    string  number of marks of window W
--   guid:G     string  mark of a delivery by an earlier release
--   state:K    string  state saved by a worker
--   seq, turn, claims  string  counters
--   lead:NAME  hash    the leader: token, until, term (a counter)
--   moved      string  the layout that replaces this one; set if the partition belongs to an
--                      earlier division of the queue
--   wake       list    at most one token; idle workers block on it

local P = KEYS[1]
local call = redis.call

local CAP = tonumber(ARGV[1])

-- Priorities, most urgent first. In ready:I their scores differ by STEP: more than the number of
-- jobs ever, and small enough for a score, which is exact up to 2^53.
local PRIORITIES = {1, 0, -1}

local STEP = 1e15

local started = nil

-- now is the server's clock, which is constant during a script.
local function now()
  if not started then
    local time = call('TIME')
    started = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return started
end

-- Number of expired leases in a row that count like one crash.
local LOSSES = 4

-- Saved states and dead jobs are kept for a month after the last job.
local KEEP = 30 * 24 * 3600

local function number()
  return call('INCR', P .. 'seq')
end

local function set(j, ...)
  call('HSET', P .. 'job:' .. j.key, ...)
end

-- Suffix of the keys of the large pool; that of the other is ''.
local LARGE = ':large'

-- load returns a job, or nil if there is none.
local function load(key)
  local f = call('HMGET', P .. 'job:' .. key, 'state', 'inst', 'seq', 'token', 'attempts',
      'crashes', 'nonce', 'next_inst', 'next_seq', 'next_nonce', 'prio', 'next_prio', 'risk',
      'losses', 'large')
  if not f[1] then
    return nil
  end
  return {
    key = key, state = f[1], inst = f[2], seq = f[3], token = f[4], attempts = tonumber(f[5]),
    crashes = tonumber(f[6]),
    nonce = f[7] or '', next_inst = f[8], next_seq = f[9], next_nonce = f[10] or '',
    prio = tonumber(f[11] or 0), next_prio = tonumber(f[12] or -1), risk = f[13],
    losses = tonumber(f[14] or 0), pool = f[15] and LARGE or '',
  }
end

-- held returns the running job if token is its lease's, else nil.
local function held(key, token)
  local j = load(key)
  if j and j.state == 'running' and j.token == token then
    return j
  end
  return nil
end

-- arm_pool adds an installation to the ring of a pool or removes it, and wakes one idle worker if
-- there is something to claim. A new installation goes to the end, so it is served after one round.
-- One that changes rings keeps its turn. An installation is in at most one ring of a pool.
local function arm_pool(inst, pool)
  local place = call('ZRANGE', P .. 'ready:' .. inst .. pool, 0, 0, 'WITHSCORES')[2]
  local belongs = nil
  if place and call('SCARD', P .. 'running:' .. inst) < CAP and
      not call('ZSCORE', P .. 'parked', inst) then
    belongs = 1 - math.floor(tonumber(place) / STEP)
  end
  if not belongs or not call('ZSCORE', P .. 'ring:' .. belongs .. pool, inst) then
    local turn = nil
    for _, prio in ipairs(PRIORITIES) do
      if prio ~= belongs then
        turn = turn or call('ZSCORE', P .. 'ring:' .. prio .. pool, inst)
        call('ZREM', P .. 'ring:' .. prio .. pool, inst)
      end
    end
    if not belongs then
      return place
    end
    call('ZADD', P .. 'ring:' .. belongs .. pool, turn or call('INCR', P .. 'turn'), inst)
  end
  if call('LLEN', P .. 'wake' .. pool) == 0 then
    call('RPUSH', P .. 'wake' .. pool, '1')
  end
  return place
end

local function arm(inst)
  arm_pool(inst, '')
  if call('SISMEMBER', P .. 'large', inst) == 1 and not arm_pool(inst, LARGE) then
    call('SREM', P .. 'large', inst)
  end
end

-- leave removes a job from the indexes of its state. The caller then calls enter or remove, which
-- arm the installation.
local function leave(j)
  call('ZREM', P .. 'in:' .. j.state, j.key)
  if j.state == 'waiting' then
    call('ZREM', P .. 'ready:' .. j.inst .. j.pool, j.key)
    if j.pool == LARGE then
      call('ZREM', P .. 'in:waiting:large', j.key)
    end
  elseif j.state == 'running' then
    call('ZREM', P .. 'leases', j.key)
    call('SREM', P .. 'running:' .. j.inst, j.key)
    call('HDEL', P .. 'job:' .. j.key, 'token', 'by', 'risk')
  elseif j.state == 'delayed' then
    call('ZREM', P .. 'delayed', j.key)
    call('HDEL', P .. 'job:' .. j.key, 'due')
  end
end

-- enter sets the state of a job, and other fields.
local function enter(j, state, since, ...)
  j.state = state
  set(j, 'state', state, 'since', since, ...)
  call('ZADD', P .. 'in:' .. state, since, j.key)
end

local function wait(j, since, ...)
  enter(j, 'waiting', since or now(), ...)
  call('ZADD', P .. 'ready:' .. j.inst .. j.pool, (1 - j.prio) * STEP + j.seq, j.key)
  if j.pool == LARGE then
    call('ZADD', P .. 'in:waiting:large', since or now(), j.key)
    call('SADD', P .. 'large', j.inst)
  end
  arm(j.inst)
end

local function delay(j, due, since)
  enter(j, 'delayed', since or now(), 'due', due)
  call('ZADD', P .. 'delayed', due, j.key)
  arm(j.inst)
end

local function keep_state(key)
  call('EXPIRE', P .. 'state:' .. key, KEEP)
end

local function die(j, reason)
  enter(j, 'dead', now(), 'reason', reason)
  keep_state(j.key)
  arm(j.inst)
end

-- remove deletes a job after leave.
local function remove(j)
  call('DEL', P .. 'job:' .. j.key)
  call('SREM', P .. 'inst:' .. j.inst, j.key)
  keep_state(j.key)
  arm(j.inst)
end

-- move assigns a job to another installation after leave.
local function move(j, inst)
  if j.inst == inst then
    return
  end
  call('SREM', P .. 'inst:' .. j.inst, j.key)
  arm(j.inst)
  j.inst = inst
  call('SADD', P .. 'inst:' .. inst, j.key)
end

-- promote replaces a job by the newer one that came while it ran; false if there is none.
local function promote(j)
  if not j.next_inst then
    return false
  end
  local f = call('HMGET', P .. 'job:' .. j.key, 'next', 'next_gen')
  move(j, j.next_inst)
  j.seq, j.nonce, j.prio, j.next_inst = j.next_seq, j.next_nonce, j.next_prio, nil
  call('HDEL', P .. 'job:' .. j.key, 'next', 'next_gen', 'next_nonce', 'next_inst', 'next_prio',
      'next_seq')
  set(j, 'job', f[1], 'gen', f[2], 'nonce', j.nonce, 'inst', j.inst, 'prio', j.prio, 'seq', j.seq,
      'attempts', 0, 'reason', '')
  return true
end

-- settle ends a lease at the request of its worker; true if a newer job of the key waits.
local function settle(j)
  leave(j)
  set(j, 'crashes', 0, 'losses', 0)
  if promote(j) then
    wait(j)
    return true
  end
  return false
end

-- crash ends an expired lease. Only consecutive ones count, because a worker that ends a lease was
-- not killed by the job. If the job was at risk (lease.go, Risk) it counts as a crash. Otherwise
-- the cause is probably another one (a stopped host, a network failure), and LOSSES of these count
-- like one crash, so that a job which kills its workers at other times becomes dead too. After the
-- first crash the job keeps its place and is claimed next. Later it is a suspect, like all jobs of
-- the process that died: each waits one to eight steps longer, so that the job which causes the
-- crashes runs alone.
local function crash(j, max, step)
  leave(j)
  promote(j)
  j.losses = j.losses + 1
  local reason = 'worker lost: its lease ran out ' .. j.losses .. ' times in a row'
  if j.risk then
    j.crashes = j.crashes + 1
    reason = 'worker lost while the job took much of it, ' .. j.crashes .. ' times in a row'
  end
  set(j, 'crashes', j.crashes, 'losses', j.losses, 'reason', reason)
  if j.crashes >= max or j.losses >= max * LOSSES then
    die(j, reason)
  elseif j.crashes < 2 and j.losses <= max then
    wait(j)
  else
    delay(j, now() + (tonumber(call('HGET', P .. 'job:' .. j.key, 'gen')) % 8 + 1) * step)
  end
end

-- Marks of deliveries. Time is divided into windows of four days, and the marks of a window are
-- kept for 8 days after its end. A mark is a fingerprint of 64 bits in a bucket. The number of
-- buckets grows with that of marks (linear hashing), so that a bucket has about FILL. With n marks,
-- a new delivery is taken for a known one with a probability of n / 2^64: less than 1e-11 for 100
-- million.
local WINDOW = 4 * 24 * 3600 * 1000

local FILL = 96

-- bucket returns the bucket of a fingerprint among n buckets.
local function bucket(fp, n)
  local a, b, c, d = string.byte(fp, 1, 4)
  local h = ((a * 256 + b) * 256 + c) * 256 + d
  local size = 1
  while size * 2 <= n do
    size = size * 2
  end
  local i = h % (size * 2)
  if i >= n then
    i = h % size
  end
  return i
end

local function buckets(marks)
  return math.max(1, math.ceil(marks / FILL))
end

local function contains(text, fp)
  local at = string.find(text, fp, 1, true)
  while at and at % 8 ~= 1 do
    at = string.find(text, fp, at + 1, true)
  end
  return at
end

-- marked reports whether a delivery is marked. fp is its fingerprint.
local function marked(guid, fp)
  local window = math.floor(now() / WINDOW)
  for w = window, window - 2, -1 do
    local n = call('GET', P .. 'marks:' .. w)
    local text = n and call('GET', P .. 'mark:' .. w .. ':' .. bucket(fp, buckets(tonumber(n))))
    if text and contains(text, fp) then
      return true
    end
  end
  return call('EXISTS', P .. 'guid:' .. guid) == 1
end

local function expire(key, window)
  call('PEXPIREAT', key, (window + 3) * WINDOW)
end

-- mark marks a delivery. When the number of buckets grows, the new one takes its marks from one of
-- the others.
local function mark(fp)
  local window = math.floor(now() / WINDOW)
  local first = P .. 'mark:' .. window .. ':'
  local marks = call('INCR', P .. 'marks:' .. window)
  local n = buckets(marks)
  if marks > 1 and n > buckets(marks - 1) then
    local size = 1
    while size * 2 < n do
      size = size * 2
    end
    local old = first .. (n - 1 - size)
    local text = call('GET', old) or ''
    local parts = {{}, {}}
    for at = 1, #text, 8 do
      local each = string.sub(text, at, at + 7)
      local part = parts[bucket(each, n) == n - 1 and 2 or 1]
      part[#part + 1] = each
    end
    call('SET', old, table.concat(parts[1]))
    expire(old, window)
    call('SET', first .. (n - 1), table.concat(parts[2]))
    expire(first .. (n - 1), window)
  end
  local key = first .. bucket(fp, n)
  if call('APPEND', key, fp) == 8 then
    expire(key, window)
  end
  expire(P .. 'marks:' .. window, window)
end

-- store adds a job, or replaces the job of its key, and returns its generation, and whether there
-- was a job that was not dead. A job that replaces a waiting one keeps its place, and one that
-- follows a running one has the place of the first that came while that ran.
local function store(key, inst, nonce, prio, job)
  local gen = number()
  local j = load(key)
  if not j then
    j = {key = key, inst = inst, seq = gen, prio = prio, pool = ''}
    call('SADD', P .. 'inst:' .. inst, key)
    wait(j, now(), 'job', job, 'gen', gen, 'nonce', nonce, 'inst', inst, 'prio', prio, 'seq', gen,
        'attempts', 0, 'crashes', 0, 'reason', '')
    return gen, false
  end
  if j.state == 'running' then
    if nonce == '' then
      nonce = j.next_nonce
    end
    if nonce == '' then
      nonce = j.nonce
    end
    set(j, 'next', job, 'next_gen', gen, 'next_nonce', nonce, 'next_inst', inst, 'next_prio',
        math.max(prio, j.next_prio), 'next_seq', j.next_seq or gen)
    return gen, true
  end
  if nonce == '' then
    nonce = j.nonce
  end
  if j.state == 'waiting' and j.inst == inst and prio <= j.prio then
    set(j, 'job', job, 'gen', gen, 'nonce', nonce, 'attempts', 0, 'reason', '')
    return gen, true
  end
  local since = now()
  if j.state == 'waiting' then
    since = call('ZSCORE', P .. 'in:waiting', key)
  end
  local newer, crashes, losses = j.state ~= 'dead', j.crashes, j.losses
  if newer then
    prio = math.max(prio, j.prio)
  else
    j.seq, crashes, losses = gen, 0, 0
  end
  leave(j)
  j.prio = prio
  move(j, inst)
  wait(j, since, 'job', job, 'gen', gen, 'nonce', nonce, 'inst', inst, 'prio', prio, 'seq', j.seq,
      'attempts', 0, 'crashes', crashes, 'losses', losses, 'reason', '')
  return gen, newer
end
