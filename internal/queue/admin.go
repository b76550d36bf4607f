package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Entry describes a job for an operator.
type Entry struct {
	Job   Job       `json:"job"`
	State State     `json:"state"`
	Since time.Time `json:"since"` // when it entered State
	// delayed: when it can be claimed; running: when its lease ends
	Due time.Time `json:"due,omitzero"`
	// running: Options.Name of the worker's queue
	By       string `json:"by,omitempty"`
	Attempts int    `json:"attempts"` // failures so far
	// consecutive leases that expired while the job was at risk
	Crashes int `json:"crashes"`
	Losses  int `json:"losses"` // consecutive leases that expired
	// why it is delayed or dead, or the last failure; may contain untrusted text, escape it
	Reason     string `json:"reason"`
	Superseded bool   `json:"superseded"` // running, and a newer job with the same key waits
	Saved      int    `json:"saved"`      // bytes of the state saved for the key
}

// Filter selects the jobs that List returns. The zero value selects all, up to 1,000 per state.
type Filter struct {
	State        State // "" = all states
	Installation int64 // 0 = all installations
	Limit        int   // per state; 0 = 1,000
}

// Stats counts the jobs in each state.
type Stats struct {
	Waiting, Running, Delayed, Dead int
	Parked                          int // number of parked installations
	// how long the oldest job of each state has been in it; no entry for states without jobs
	Oldest map[State]time.Duration
}

// List returns jobs sorted by state, in the order of States, and by age within a state, oldest
// first.
func (q *Queue) List(ctx context.Context, f Filter) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	states := States()
	if f.State != "" {
		states = []State{f.State}
	}
	p, err := q.plan(ctx)
	if err != nil {
		return nil, err
	}
	parts := p.all()
	if f.Installation != 0 {
		parts = p.every(f.Installation)
	}
	limit := or(f.Limit, 1000)
	var entries []Entry
	for _, state := range states {
		var all []Entry
		indexes := []string{"in:" + string(state)}
		if state == Waiting && f.Installation != 0 {
			// These find the waiting jobs of an installation quickly.
			ready := fmt.Sprint("ready:", f.Installation)
			indexes = []string{ready, ready + ":large"}
		}
		for _, part := range parts {
			for _, index := range indexes {
				found, err := q.list(ctx, part, index, state, f.Installation, limit, listPage)
				if err != nil {
					return nil, fmt.Errorf("queue: list: %w", err)
				}
				all = append(all, found...)
			}
		}
		slices.SortStableFunc(all, func(a, b Entry) int { return a.Since.Compare(b.Since) })
		entries = append(entries, all[:min(limit, len(all))]...)
	}
	return entries, nil
}

const (
	listTimeout = 30 * time.Second // for the whole list; each call has its own limit too
	// keys read at a time, so that listing the first thousand of a million waiting jobs is cheap
	listPage = 10000
)

// list returns the oldest jobs of an index of a partition that are in a state, of one installation
// or of all (0). page is the number of keys read at a time.
func (q *Queue) list(
	ctx context.Context,
	part partition,
	index string,
	state State,
	installation int64,
	limit, page int,
) (entries []Entry, err error) {
	seen := map[string]bool{} // keys can move to the next page meanwhile
	// A page starts at the last score and not at a number of keys, which an embedded queue would have
	// to count.
	next := redis.ZRangeBy{Min: "-inf", Max: "+inf", Count: int64(page)}
	for len(entries) < limit {
		found, err := q.rdb.ZRangeByScoreWithScores(ctx, string(part)+index, &next).Result()
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			break
		}
		keys := make([]string, len(found))
		for i, z := range found {
			keys[i] = fmt.Sprint(z.Member)
			score := numberText(z.Score)
			if score != next.Min {
				next.Min, next.Offset = score, 0
			}
			next.Offset++
		}
		for batch := range slices.Chunk(keys, 200) {
			if len(entries) >= limit {
				break
			}
			found, err := q.entries(ctx, part, batch)
			if err != nil {
				return nil, err
			}
			for _, e := range found {
				// A job may have changed its state since its key was read.
				if e.State == state && (installation == 0 || e.Job.Installation == installation) &&
					!seen[e.Job.Key] &&
					len(entries) < limit {
					seen[e.Job.Key] = true
					entries = append(entries, e)
				}
			}
		}
	}
	return entries, nil
}

// Show returns the job with a key, or ErrNotFound.
func (q *Queue) Show(ctx context.Context, key string) (Entry, error) {
	p, err := q.plan(ctx)
	if err != nil {
		return Entry{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, part := range p.all() {
		found, err := q.entries(ctx, part, []string{key})
		if err != nil {
			return Entry{}, fmt.Errorf("queue: show %s: %w", key, err)
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return Entry{}, fmt.Errorf("queue: show %s: %w", key, ErrNotFound)
}

// entries reads jobs by key. Missing ones are left out.
func (q *Queue) entries(ctx context.Context, part partition, keys []string) ([]Entry, error) {
	hashes := make([]*redis.MapStringStringCmd, len(keys))
	saved := make([]*redis.IntCmd, len(keys))
	leases := make([]*redis.FloatCmd, len(keys))
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			hashes[i] = p.HGetAll(ctx, string(part)+"job:"+key)
			saved[i] = p.StrLen(ctx, string(part)+"state:"+key)
			leases[i] = p.ZScore(ctx, string(part)+"leases", key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	var entries []Entry
	for i, key := range keys {
		h := hashes[i].Val()
		if h["state"] == "" {
			continue
		}
		e := Entry{
			State:  State(h["state"]),
			Since:  msTime(h["since"]),
			Due:    msTime(h["due"]),
			Reason: h["reason"],
			By:     h["by"],
			Saved:  int(saved[i].Val()),
		}
		if e.Job, err = readJob(key, h["gen"], h["job"], h["nonce"]); err != nil {
			e.Reason = err.Error()
		}
		e.Attempts, _ = strconv.Atoi(h["attempts"])
		e.Crashes, _ = strconv.Atoi(h["crashes"])
		e.Losses, _ = strconv.Atoi(h["losses"])
		_, e.Superseded = h["next"]
		if end := leases[i].Val(); end > 0 {
			e.Due = time.UnixMilli(int64(end)).UTC()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// msTime parses a time as written by the scripts; zero for none.
func msTime(s string) time.Time {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// RetryDead makes a dead or delayed job wait like a new one. It returns ErrNotFound, or ErrState
// if the job waits or runs already.
func (q *Queue) RetryDead(ctx context.Context, key string) error {
	n, err := q.find(ctx, "retry_dead", key)
	switch {
	case err != nil:
		return err
	case n == -1:
		return fmt.Errorf("queue: retry %s: %w", key, ErrNotFound)
	case n == -2:
		return fmt.Errorf("queue: retry %s: %w", key, ErrState)
	}
	return nil
}

// find runs a script in each partition until it does not return -1, which means that the partition
// has no job of the key.
func (q *Queue) find(ctx context.Context, name, key string) (int64, error) {
	p, err := q.plan(ctx)
	if err != nil {
		return 0, err
	}
	for _, part := range p.all() {
		if n, err := q.number(ctx, part, name, key); err != nil || n != -1 {
			return n, err
		}
	}
	return -1, nil
}

// Drop removes the job with a key in any state; its lease is lost. The delivery stays marked. It
// returns ErrNotFound if there is none.
func (q *Queue) Drop(ctx context.Context, key string) error {
	n, err := q.find(ctx, "drop", key)
	if err == nil && n == -1 {
		return fmt.Errorf("queue: drop %s: %w", key, ErrNotFound)
	}
	return err
}

// Stats counts the jobs.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	current, err := q.plan(ctx)
	if err != nil {
		return Stats{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var now *redis.TimeCmd
	var parked []*redis.IntCmd
	counts := map[State][]*redis.IntCmd{}
	oldest := map[State][]*redis.ZSliceCmd{}
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		for _, part := range current.all() {
			parked = append(parked, p.ZCard(ctx, string(part)+"parked"))
			for _, s := range States() {
				index := string(part) + "in:" + string(s)
				counts[s] = append(counts[s], p.ZCard(ctx, index))
				oldest[s] = append(oldest[s], p.ZRangeWithScores(ctx, index, 0, 0))
			}
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("queue: stats: %w", err)
	}
	s := Stats{
		Waiting: sum(counts[Waiting]), Running: sum(counts[Running]),
		Delayed: sum(counts[Delayed]), Dead: sum(counts[Dead]),
		Parked: sum(parked), Oldest: map[State]time.Duration{},
	}
	for state, firsts := range oldest {
		for _, first := range firsts {
			if z := first.Val(); len(z) > 0 {
				age := now.Val().Sub(time.UnixMilli(int64(z[0].Score)))
				s.Oldest[state] = max(s.Oldest[state], age, 0)
			}
		}
	}
	return s, nil
}

func sum(counts []*redis.IntCmd) (total int) {
	for _, c := range counts {
		total += int(c.Val())
	}
	return total
}
