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
	var entries []Entry
	for _, state := range states {
		found, err := q.list(ctx, state, f.Installation, or(f.Limit, 1000), listPage)
		if err != nil {
			return nil, fmt.Errorf("queue: list: %w", err)
		}
		entries = append(entries, found...)
	}
	return entries, nil
}

const (
	listTimeout = 30 * time.Second // for the whole list; each call has its own limit too
	// keys read at a time, so that listing the first thousand of a million waiting jobs is cheap
	listPage = 10000
)

// list returns the oldest jobs of a state, of one installation or of all (0). page is the number
// of keys read at a time.
func (q *Queue) list(
	ctx context.Context,
	state State,
	installation int64,
	limit, page int,
) (entries []Entry, err error) {
	index := prefix + "in:" + string(state)
	if state == Waiting && installation != 0 {
		// Finds the waiting jobs of an installation quickly.
		index = fmt.Sprint(prefix, "ready:", installation)
	}
	seen := map[string]bool{} // keys can move to the next page meanwhile
	for at := 0; len(entries) < limit; at += page {
		keys, err := q.rdb.ZRange(ctx, index, int64(at), int64(at+page-1)).Result()
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			break
		}
		for batch := range slices.Chunk(keys, 200) {
			if len(entries) >= limit {
				break
			}
			found, err := q.entries(ctx, batch)
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
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Since.Compare(b.Since) })
	return entries, nil
}

// Show returns the job with a key, or ErrNotFound.
func (q *Queue) Show(ctx context.Context, key string) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := q.entries(ctx, []string{key})
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("queue: show %s: %w", key, err)
	}
	return found[0], nil
}

// entries reads jobs by key. Missing ones are left out.
func (q *Queue) entries(ctx context.Context, keys []string) ([]Entry, error) {
	hashes := make([]*redis.MapStringStringCmd, len(keys))
	saved := make([]*redis.IntCmd, len(keys))
	leases := make([]*redis.FloatCmd, len(keys))
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			hashes[i] = p.HGetAll(ctx, prefix+"job:"+key)
			saved[i] = p.StrLen(ctx, prefix+"state:"+key)
			leases[i] = p.ZScore(ctx, prefix+"leases", key)
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
	n, err := q.number(ctx, "retry_dead", key)
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

// Drop removes the job with a key in any state; its lease is lost. The delivery stays marked. It
// returns ErrNotFound if there is none.
func (q *Queue) Drop(ctx context.Context, key string) error {
	n, err := q.number(ctx, "drop", key)
	if err == nil && n == -1 {
		return fmt.Errorf("queue: drop %s: %w", key, ErrNotFound)
	}
	return err
}

// Stats counts the jobs.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var now *redis.TimeCmd
	var parked *redis.IntCmd
	counts := map[State]*redis.IntCmd{}
	oldest := map[State]*redis.ZSliceCmd{}
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		now = p.Time(ctx)
		parked = p.ZCard(ctx, prefix+"parked")
		for _, s := range States() {
			counts[s] = p.ZCard(ctx, prefix+"in:"+string(s))
			oldest[s] = p.ZRangeWithScores(ctx, prefix+"in:"+string(s), 0, 0)
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("queue: stats: %w", err)
	}
	s := Stats{
		Waiting: int(counts[Waiting].Val()), Running: int(counts[Running].Val()),
		Delayed: int(counts[Delayed].Val()), Dead: int(counts[Dead].Val()),
		Parked: int(parked.Val()), Oldest: map[State]time.Duration{},
	}
	for state, first := range oldest {
		if z := first.Val(); len(z) > 0 {
			s.Oldest[state] = max(0, now.Val().Sub(time.UnixMilli(int64(z[0].Score))))
		}
	}
	return s, nil
}
