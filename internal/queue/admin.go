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

// Entry is a job as a person looks at it.
type Entry struct {
	Job   Job       `json:"job"`
	State State     `json:"state"`
	Since time.Time `json:"since"` // when it came into State
	// delayed: when it is claimable; running: when its lease ends
	Due time.Time `json:"due,omitzero"`
	// running: the worker, as Options.Name of its queue has it
	By       string `json:"by,omitempty"`
	Attempts int    `json:"attempts"` // failures so far
	// leases that ran out in a row while the job was at risk
	Crashes int `json:"crashes"`
	Losses  int `json:"losses"` // leases that ran out in a row
	// why it is delayed or dead, or what went wrong before; may quote the outside, escape it
	Reason     string `json:"reason"`
	Superseded bool   `json:"superseded"` // running, and a newer job of the key follows
	Saved      int    `json:"saved"`      // bytes of what the worker saved for the key
}

// Filter says which jobs List answers; the zero value all, up to 1,000 of a state.
type Filter struct {
	State        State // "": every state
	Installation int64 // 0: every installation
	Limit        int   // of each state; 0: 1,000
}

// Stats counts the jobs of each state.
type Stats struct {
	Waiting, Running, Delayed, Dead int
	Parked                          int // installations that are parked
	// how long the oldest job of each state that has any has been in it
	Oldest map[State]time.Duration
}

// List returns jobs by state, in the order of States, and within a state the oldest first.
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
	listTimeout = 30 * time.Second // of all calls together; each has the connection's own limit
	// keys that are read at a time: where a million wait, the first thousand must not cost all of
	// them
	listPage = 10000
)

// list returns the first jobs of a state, of one installation where that is not 0, and reads page
// keys at a time.
func (q *Queue) list(
	ctx context.Context,
	state State,
	installation int64,
	limit, page int,
) (entries []Entry, err error) {
	index := prefix + "in:" + string(state)
	if state == Waiting && installation != 0 {
		index = fmt.Sprint(
			prefix,
			"ready:",
			installation,
		) // so that who waits behind a flood is found at once
	}
	seen := map[string]bool{} // a key may move to the next page meanwhile
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
				// A job may have gone to another state since its key was read.
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

// Show returns the job of a key. ErrNotFound: there is none.
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

// entries reads jobs by key; those that are gone are left out.
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

// msTime reads a time as the scripts write it; zero for none.
func msTime(s string) time.Time {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// RetryDead lets a dead or a delayed job wait now, as if it had just come. ErrNotFound; ErrState:
// it waits or runs already.
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

// Drop forgets the job of a key, whatever its state; a lease on it is lost. Its delivery stays
// known. ErrNotFound: there is none.
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
