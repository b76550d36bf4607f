package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxBlock limits a blocking call to the server. It bounds the delay of a canceled context or
// Close, and the effect of a wake-up token that was lost with a worker.
const maxBlock = time.Second

// Claim returns the next job under a lease. It waits up to wait (0 = does not wait) and returns
// nil, nil if there is none. It does not poll: the server wakes it.
//
// It returns an error at once if the store does not respond. The caller must pause before the
// next call.
func (q *Queue) Claim(ctx context.Context, wait time.Duration) (*Lease, error) {
	deadline := time.Now().Add(wait)
	for {
		lease, next, err := q.claim(ctx)
		if lease != nil || err != nil {
			return lease, err
		}
		block := min(time.Until(deadline), maxBlock)
		if next >= 0 {
			block = min(block, next)
		}
		if time.Until(deadline) <= 0 {
			return nil, nil
		}
		if err := q.block(ctx, max(block, 2*time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// claim tries once. next is the time until a job may become claimable by itself; negative =
// never.
func (q *Queue) claim(ctx context.Context) (lease *Lease, next time.Duration, err error) {
	random := make([]byte, 16)
	rand.Read(random) // never fails
	token := hex.EncodeToString(random)

	answer, failed := q.run(
		ctx,
		"claim",
		q.o.Lease.Milliseconds(),
		token,
		q.o.MaxCrashes,
		q.separation(),
		q.o.Name,
	)
	if answer == nil {
		return nil, 0, failed
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 {
		return nil, 0, fmt.Errorf("queue: claim: the script answered %v", answer)
	}
	if list[0] == int64(0) {
		ms, _ := list[1].(int64)
		return nil, time.Duration(ms) * time.Millisecond, failed
	}
	lease, err = q.lease(list, token)
	if failed != nil {
		// The lease is not in the journal. Release the job, so that it is not counted as crashed.
		_ = lease.Release(ctx)
		return nil, 0, failed
	}
	if err != nil {
		// A malformed job would block the queue forever. Only another program can have written
		// it.
		if killed := lease.Kill(ctx, err.Error()); killed != nil {
			return nil, 0, killed
		}
		q.log.Error("a stored job can't be read; it is dead now", "key", lease.Job.Key, "error", err)
		return nil, 0, nil
	}
	return lease, 0, nil
}

// lease parses the result of claim.lua. If it returns an error the lease can still be killed.
func (q *Queue) lease(list []any, token string) (*Lease, error) {
	text := func(i int) string {
		if i >= len(list) {
			return ""
		}
		switch v := list[i].(type) {
		case string:
			return v
		case int64:
			return strconv.FormatInt(v, 10)
		}
		return ""
	}
	count := func(i int) int {
		n, _ := strconv.Atoi(text(i))
		return n
	}
	l := &Lease{
		q:         q,
		token:     token,
		Attempt:   count(5) + 1,
		Crashes:   count(6),
		Losses:    count(8),
		FinalLoss: count(9) == 1,
	}
	l.Last = l.Attempt >= q.o.MaxAttempts || l.FinalLoss
	var err error
	l.Job, err = readJob(text(1), text(2), text(3), text(4))
	if s := text(7); s != "" {
		l.State = []byte(s)
	}
	return l, err
}

// readJob decodes a stored job. If it returns an error the key is still valid.
func readJob(key, generation, data, forceID string) (Job, error) {
	var j Job
	err := json.Unmarshal([]byte(data), &j)
	if err != nil {
		j, err = Job{}, fmt.Errorf("the stored job is damaged: %w", err)
	}
	if string(j.Payload) == "null" {
		j.Payload = nil
	}
	j.ID, j.Key, j.ForceID = key+"#"+generation, key, forceID
	return j, err
}

// block waits until a job may be claimable, or for d.
func (q *Queue) block(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("queue: claim: %w", err)
	}
	q.closed.RLock()
	if q.ctx.Err() != nil {
		q.closed.RUnlock()
		return fmt.Errorf("queue: claim: %w", ErrClosed)
	}
	q.owned.Add(1)
	q.closed.RUnlock()
	defer q.owned.Done()

	// BLPop of the client rounds to seconds.
	err := q.rdb.Do(ctx, "BLPOP", prefix+"wake", strconv.FormatFloat(d.Seconds(), 'f', 3, 64)).Err()
	if ctx.Err() != nil {
		return fmt.Errorf("queue: claim: %w", ctx.Err())
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("queue: claim: %w", err)
	}
	return nil
}
