package queue

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// command is a command of Redis. Its answer is nil, an int64, a string, or a []any of these.
type command struct {
	writes bool
	run    func(t *txn, args []string) (any, error)
}

// commands are those that the scripts and this package use, with the options that they use. What
// they do is documented at https://redis.io/commands.
var commands = map[string]command{
	"APPEND":        {true, runAppend},
	"DEL":           {true, runDel},
	"EXISTS":        {false, runExists},
	"EXPIRE":        {true, runExpire},
	"GET":           {false, runGet},
	"HDEL":          {true, runHDel},
	"HGET":          {false, runHGet},
	"HGETALL":       {false, runHGetAll},
	"HINCRBY":       {true, runHIncrBy},
	"HMGET":         {false, runHMGet},
	"HSET":          {true, runHSet},
	"INCR":          {true, runIncr},
	"LLEN":          {false, runLLen},
	"PEXPIREAT":     {true, runPExpireAt},
	"RPUSH":         {true, runRPush},
	"SADD":          {true, runSAdd},
	"SCARD":         {false, runCard},
	"SET":           {true, runSet},
	"SISMEMBER":     {false, runSIsMember},
	"SMEMBERS":      {false, runSMembers},
	"SREM":          {true, runRemove},
	"STRLEN":        {false, runStrLen},
	"TIME":          {false, runTime},
	"ZADD":          {true, runZAdd},
	"ZCARD":         {false, runCard},
	"ZRANGE":        {false, runZRange},
	"ZRANGEBYSCORE": {false, runZRangeByScore},
	"ZREM":          {true, runRemove},
	"ZSCORE":        {false, runZScore},
}

// call executes a command: its name and its arguments.
func (t *txn) call(args []string) (any, error) {
	name := strings.ToUpper(args[0])
	c, known := commands[name]
	if !known {
		return nil, fmt.Errorf("the embedded queue has no command %s", name)
	}
	return c.run(t, args[1:])
}

func runGet(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return nil, err
	}
	return string(r.Text), nil
}

func runStrLen(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return int64(0), err
	}
	return int64(len(r.Text)), nil
}

func runSet(t *txn, args []string) (any, error) {
	r := &record{Text: []byte(args[1])}
	if len(args) > 3 {
		n, err := strconv.ParseInt(args[3], 10, 64)
		if err != nil {
			return nil, err
		}
		unit := time.Second
		if strings.EqualFold(args[2], "px") {
			unit = time.Millisecond
		}
		r.Until = t.now.Add(time.Duration(n) * unit)
	}
	t.set(args[0], r)
	return "OK", nil
}

func runAppend(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = &record{}
	}
	r.Text = append(r.Text, args[1]...)
	t.set(args[0], r)
	return int64(len(r.Text)), nil
}

func runIncr(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = &record{Text: []byte("0")}
	}
	n, err := strconv.ParseInt(string(r.Text), 10, 64)
	if err != nil {
		return nil, err
	}
	r.Text = strconv.AppendInt(nil, n+1, 10)
	t.set(args[0], r)
	return n + 1, nil
}

func runDel(t *txn, args []string) (any, error) {
	n := int64(0)
	for _, key := range args {
		deleted, err := t.delete(key)
		if err != nil {
			return nil, err
		}
		if deleted {
			n++
		}
	}
	return n, nil
}

func runExists(t *txn, args []string) (any, error) {
	n := int64(0)
	for _, key := range args {
		exists, err := t.exists(key)
		if err != nil {
			return nil, err
		}
		if exists {
			n++
		}
	}
	return n, nil
}

func runExpire(t *txn, args []string) (any, error) {
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return nil, err
	}
	return t.expire(args[0], t.now.Add(time.Duration(seconds)*time.Second))
}

func runPExpireAt(t *txn, args []string) (any, error) {
	ms, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return nil, err
	}
	return t.expire(args[0], time.UnixMilli(ms))
}

func (t *txn) expire(key string, until time.Time) (any, error) {
	r, err := t.get(key)
	if err != nil || r == nil {
		return int64(0), err
	}
	if !r.Until.Equal(until) {
		r.Until = until
		t.set(key, r)
	}
	return int64(1), nil
}

func runTime(t *txn, _ []string) (any, error) {
	micro := t.now.UnixMicro()
	return []any{strconv.FormatInt(micro/1e6, 10), strconv.FormatInt(micro%1e6, 10)}, nil
}

func runHGet(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return nil, err
	}
	if v, has := r.Hash[args[1]]; has {
		return v, nil
	}
	return nil, nil
}

func runHMGet(t *txn, args []string) (any, error) {
	values := make([]any, len(args)-1)
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return values, err
	}
	for i, field := range args[1:] {
		if v, has := r.Hash[field]; has {
			values[i] = v
		}
	}
	return values, nil
}

func runHGetAll(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return []any{}, err
	}
	pairs := make([]any, 0, 2*len(r.Hash))
	for field, value := range r.Hash {
		pairs = append(pairs, field, value)
	}
	return pairs, nil
}

func runHSet(t *txn, args []string) (any, error) {
	r, err := t.hash(args[0])
	if err != nil {
		return nil, err
	}
	before := len(r.Hash)
	for pair := range slices.Chunk(args[1:], 2) {
		if len(pair) < 2 {
			return nil, fmt.Errorf("the field %q of %s has no value", pair[0], args[0])
		}
		r.Hash[pair[0]] = pair[1]
	}
	t.set(args[0], r)
	return int64(len(r.Hash) - before), nil
}

func runHDel(t *txn, args []string) (any, error) {
	r, err := t.get(args[0])
	if err != nil || r == nil {
		return int64(0), err
	}
	before := len(r.Hash)
	for _, field := range args[1:] {
		delete(r.Hash, field)
	}
	if len(r.Hash) == 0 {
		r = nil
	}
	t.set(args[0], r)
	if r == nil {
		return int64(before), nil
	}
	return int64(before - len(r.Hash)), nil
}

func runHIncrBy(t *txn, args []string) (any, error) {
	r, err := t.hash(args[0])
	if err != nil {
		return nil, err
	}
	by, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(cmp.Or(r.Hash[args[1]], "0"), 10, 64)
	if err != nil {
		return nil, err
	}
	r.Hash[args[1]] = strconv.FormatInt(n+by, 10)
	t.set(args[0], r)
	return n + by, nil
}

func runRPush(t *txn, args []string) (any, error) {
	n := 0
	for _, value := range args[1:] {
		n = t.engine.push(args[0], value)
	}
	return int64(n), nil
}

func runLLen(t *txn, args []string) (any, error) { return int64(t.engine.length(args[0])), nil }

func runSAdd(t *txn, args []string) (any, error) {
	n := int64(0)
	for _, member := range args[1:] {
		added, err := t.addMember(args[0], member)
		if err != nil {
			return nil, err
		}
		if added {
			n++
		}
	}
	return n, nil
}

// runRemove is SREM and ZREM.
func runRemove(t *txn, args []string) (any, error) {
	n := int64(0)
	for _, member := range args[1:] {
		removed, err := t.removeMember(args[0], member)
		if err != nil {
			return nil, err
		}
		if removed {
			n++
		}
	}
	return n, nil
}

// runCard is SCARD and ZCARD.
func runCard(t *txn, args []string) (any, error) {
	_, n := t.count(args[0])
	return int64(n), nil
}

func runSIsMember(t *txn, args []string) (any, error) {
	if t.index.Get(memberKey(args[0], args[1])) != nil {
		return int64(1), nil
	}
	return int64(0), nil
}

func runSMembers(t *txn, args []string) (any, error) {
	members := t.members(args[0])
	answer := make([]any, len(members))
	for i, m := range members {
		answer[i] = m
	}
	return answer, nil
}

// runZAdd is ZADD NAME SCORE MEMBER.
func runZAdd(t *txn, args []string) (any, error) {
	_, before := t.count(args[0])
	if err := t.addScore(args[0], args[1], args[2]); err != nil {
		return nil, err
	}
	_, after := t.count(args[0])
	return int64(after - before), nil
}

func runZScore(t *txn, args []string) (any, error) {
	if score, has := t.score(args[0], args[1]); has {
		return numberText(score), nil
	}
	return nil, nil
}

func runZRange(t *txn, args []string) (any, error) {
	from, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	to, err := strconv.Atoi(args[2])
	if err != nil {
		return nil, err
	}
	limit := math.MaxInt
	if to >= 0 {
		limit = max(0, to-from+1)
	}
	return members(t.sorted(args[0], math.Inf(-1), math.Inf(1), from, limit), len(args) > 3), nil
}

// members returns members of a sorted set as Redis does, with their scores if WITHSCORES is given.
func members(found []scored, withScores bool) []any {
	answer := make([]any, 0, len(found))
	for _, m := range found {
		answer = append(answer, m.member)
		if withScores {
			answer = append(answer, numberText(m.score))
		}
	}
	return answer
}

// runZRangeByScore is ZRANGEBYSCORE NAME LEAST MOST [WITHSCORES] LIMIT FROM COUNT.
func runZRangeByScore(t *txn, args []string) (any, error) {
	name, bounds, limits := args[0], args[1:3], args[len(args)-2:]
	least, err1 := strconv.ParseFloat(bounds[0], 64)
	most, err2 := strconv.ParseFloat(bounds[1], 64)
	from, err3 := strconv.Atoi(limits[0])
	limit, err4 := strconv.Atoi(limits[1])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	found := t.sorted(name, least, most, from, limit)
	return members(found, strings.EqualFold(args[3], "withscores")), nil
}

// setAnswer sets the answer of a command of the client.
func setAnswer(cmd redis.Cmder, answer any) {
	if answer == nil {
		cmd.SetErr(redis.Nil)
		return
	}
	list, _ := answer.([]any)
	text, _ := answer.(string)
	number, _ := answer.(int64)
	texts := words(list)
	switch c := cmd.(type) {
	case *redis.StatusCmd:
		c.SetVal(text)
	case *redis.StringCmd:
		c.SetVal(text)
	case *redis.IntCmd:
		c.SetVal(number)
	case *redis.FloatCmd:
		score, err := strconv.ParseFloat(text, 64)
		c.SetVal(score)
		c.SetErr(err)
	case *redis.SliceCmd:
		c.SetVal(list)
	case *redis.StringSliceCmd:
		c.SetVal(texts)
	case *redis.MapStringStringCmd:
		pairs := map[string]string{}
		for pair := range slices.Chunk(texts, 2) {
			pairs[pair[0]] = pair[1]
		}
		c.SetVal(pairs)
	case *redis.ZSliceCmd:
		var members []redis.Z
		for pair := range slices.Chunk(texts, 2) {
			score, err := strconv.ParseFloat(pair[1], 64)
			if err != nil {
				c.SetErr(err)
			}
			members = append(members, redis.Z{Member: pair[0], Score: score})
		}
		c.SetVal(members)
	case *redis.TimeCmd:
		seconds, err1 := strconv.ParseInt(texts[0], 10, 64)
		micro, err2 := strconv.ParseInt(texts[1], 10, 64)
		c.SetVal(time.Unix(seconds, micro*1000))
		c.SetErr(errors.Join(err1, err2))
	case *redis.Cmd:
		c.SetVal(answer)
	default:
		cmd.SetErr(fmt.Errorf("the embedded queue has no answer for %T", cmd))
	}
}
