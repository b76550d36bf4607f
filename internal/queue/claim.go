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

// Claim returns the next job under a lease. It waits up to wait (0 = does not wait) and returns
// nil, nil if there is none. It does not poll: the server wakes it.
//
// It returns an error at once if the store does not respond. The caller must pause before the
// next call.
func (q *Queue) Claim(ctx context.Context, wait time.Duration) (*Lease, error) {
	deadline, woken := time.Now().Add(wait), -1
	for {
		var lease *Lease
		var turns *turns
		err := q.follow(ctx, func(p *plan) (err error) {
			turns = p.turns
			lease, err = q.claimAny(ctx, p, wait > 0, woken)
			return err
		})
		if lease != nil || err != nil {
			return lease, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, nil
		}
		if woken, err = turns.wait(ctx, left); err != nil {
			return nil, err
		}
	}
}

// claimAny tries the partitions in turn. patient means that the worker can wait, woken is the
// partition for which it was woken; negative = none.
func (q *Queue) claimAny(
	ctx context.Context,
	p *plan,
	patient bool,
	woken int,
) (*Lease, error) {
	for _, i := range p.turns.order(patient, woken) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("queue: claim: %w", err)
		}
		lease, due, err := q.claim(ctx, p, p.parts[i])
		moved := (*movedError)(nil)
		switch {
		case lease != nil:
			p.turns.claimed(i, lease.more)
			return lease, nil
		case err == nil:
			p.turns.empty(i, due)
		case errors.As(err, &moved), errors.Is(err, ErrClosed), ctx.Err() != nil:
			return nil, err
		case p.turns.fail(i, err):
			return nil, err
		}
	}
	return nil, nil
}

// claim tries one partition once. due is the time until a job may become claimable by itself;
// negative = never.
func (q *Queue) claim(
	ctx context.Context,
	p *plan,
	part partition,
) (lease *Lease, due time.Duration, err error) {
	random := make([]byte, 16)
	rand.Read(random) // never fails
	token := hex.EncodeToString(random)

	answer, err := q.run(
		ctx,
		part,
		"claim",
		q.o.Lease.Milliseconds(),
		token,
		q.o.MaxCrashes,
		q.separation(),
		q.o.Name,
		string(q.o.Pool),
	)
	if err != nil {
		return nil, 0, err
	}
	if err := checkMoved(answer); err != nil {
		return nil, 0, err
	}
	list, ok := answer.([]any)
	if !ok || len(list) < 2 {
		return nil, 0, fmt.Errorf("queue: claim: the script answered %v", answer)
	}
	if list[0] == int64(0) {
		ms, _ := list[1].(int64)
		return nil, time.Duration(ms) * time.Millisecond, nil
	}
	lease, saved, err := q.lease(part, list, token)
	if err != nil {
		// A malformed job would block the queue forever. Only another program can have written
		// it.
		if killed := lease.Kill(ctx, err.Error()); killed != nil {
			return nil, 0, killed
		}
		q.log.Error("a stored job can't be read; it is dead now", "key", lease.Job.Key, "error", err)
		return nil, 0, nil // due at once
	}
	if saved == "" {
		if saved, err = lease.bring(ctx, p); err != nil {
			_ = lease.Release(ctx)
			return nil, 0, err
		}
	}
	lease.restore(ctx, saved)
	return lease, 0, nil
}

// bring moves the state of the key from a partition of an earlier division, and returns what is
// stored. Jobs are moved when the queue is divided again, but states of keys without a job only
// when they are used.
func (l *Lease) bring(ctx context.Context, p *plan) (stored string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, parts := range p.before {
		name := string(of(parts, l.Job.Installation)) + "state:" + l.Job.Key
		stored, err := l.q.rdb.Get(ctx, name).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err == nil {
			_, err = l.run(ctx, "save", stored)
		}
		if err == nil {
			err = l.q.rdb.Del(ctx, name).Err()
		}
		if err != nil {
			return "", fmt.Errorf("queue: claim %s: its state: %w", l.Job.Key, err)
		}
		return stored, nil
	}
	return "", nil
}

// lease parses the result of claim.lua. saved is what is stored as the state. If it returns an
// error the lease can still be killed.
func (q *Queue) lease(
	part partition,
	list []any,
	token string,
) (l *Lease, saved string, err error) {
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
	l = &Lease{
		q:         q,
		part:      part,
		token:     token,
		more:      count(10) == 1,
		Attempt:   count(5) + 1,
		Crashes:   count(6),
		Losses:    count(8),
		FinalLoss: count(9) == 1,
	}
	l.Last = l.Attempt >= q.o.MaxAttempts || l.FinalLoss
	l.Job, err = readJob(text(1), text(2), text(3), text(4))
	return l, text(7), err
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
