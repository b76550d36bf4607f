package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxBlock limits a blocking call to the server. It bounds the delay of Close, and the effect
	// of a wake-up token that was lost with a process.
	maxBlock = time.Second

	// emptyFor is how long a partition without a claimable job is not tried again by workers that
	// can wait. They are woken earlier if a job comes.
	emptyFor = 50 * time.Millisecond

	// failedFor is how long a partition that did not respond is not tried again.
	failedFor = time.Second
)

// turns decides from which partition a process claims next. The partitions take turns. While
// workers are idle, one goroutine for each partition blocks on its wake-up list and wakes a worker.
type turns struct {
	q        *Queue
	parts    []partition
	replaced chan struct{} // closed when the queue is divided again

	mu    sync.Mutex
	next  int // whose turn it is
	state []turn
	idle  []chan int // of the workers that wait, the longest first
}

// turn is what this process knows of a partition.
type turn struct {
	blocked bool          // a goroutine blocks on the list, so there is nothing to claim
	after   time.Time     // not tried before by workers that can wait
	due     time.Duration // time until a job may become claimable by itself; negative = never
	failed  error         // of the last call; nil = it responded
}

func newTurns(q *Queue, parts []partition) *turns {
	return &turns{q: q, parts: parts, replaced: make(chan struct{}), state: make([]turn, len(parts))}
}

// replace ends all waits. The waiting workers continue with the next plan.
func (t *turns) replace() { close(t.replaced) }

// order returns the partitions to try, in the order of their turns. patient means that the worker
// can wait, so partitions that are probably empty are left out, except the one that the worker was
// woken for (negative = none): the wake-up is used up, so nobody else may come for its job.
func (t *turns) order(patient bool, woken int) (order []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, all := time.Now(), !patient || t.allFailed()
	for n := range t.parts {
		i := (t.next + n) % len(t.parts)
		if all || i == woken || !t.state[i].blocked && !now.Before(t.state[i].after) {
			order = append(order, i)
		}
	}
	return order
}

// allFailed reports whether no partition responds. The caller holds mu.
func (t *turns) allFailed() bool {
	return !slices.ContainsFunc(t.state, func(s turn) bool { return s.failed == nil })
}

// claimed records a claim. more means that another job can be claimed.
func (t *turns) claimed(i int, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = (i + 1) % len(t.parts)
	t.state[i].after, t.state[i].failed = time.Time{}, nil
	switch {
	case len(t.idle) == 0:
	case more:
		t.wake(i)
	default:
		t.block(i)
	}
}

// empty records that nothing could be claimed. due is the time until a job may become claimable by
// itself; negative = never.
func (t *turns) empty(i int, due time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state[i].after, t.state[i].due, t.state[i].failed = time.Now().Add(emptyFor), due, nil
}

// fail records an error. It returns true if no partition responds.
func (t *turns) fail(i int, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.state[i]
	if s.failed == nil && len(t.parts) > 1 {
		t.q.log.Warn("a partition of the queue does not respond", "partition", i, "error", err)
	}
	s.failed, s.after, s.due = err, time.Now().Add(failedFor), -1
	if !t.allFailed() {
		return false
	}
	for len(t.idle) > 0 {
		t.wake(i) // they return the error
	}
	return true
}

// wait returns when a worker should try again, at the latest after d. woken is the partition for
// which Redis woke it; negative = it was not woken.
func (t *turns) wait(ctx context.Context, d time.Duration) (woken int, err error) {
	me := make(chan int, 1)
	t.mu.Lock()
	t.idle = append(t.idle, me)
	for i := range t.parts {
		t.block(i)
	}
	t.mu.Unlock()

	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case woken = <-me:
		return woken, nil
	case <-timer.C:
	case <-t.replaced:
	case <-ctx.Done():
		err = fmt.Errorf("queue: claim: %w", ctx.Err())
	case <-t.q.ctx.Done():
		err = fmt.Errorf("queue: claim: %w", ErrClosed)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.idle, me); i >= 0 {
		t.idle = slices.Delete(t.idle, i, i+1)
		return -1, err
	}
	woken = <-me
	if err != nil {
		t.wake(woken) // this worker was woken and does not try
	}
	return woken, err
}

// wake wakes the worker that has waited longest, for a job of partition i. The caller holds mu.
func (t *turns) wake(i int) {
	if len(t.idle) > 0 {
		t.idle[0] <- i
		t.idle = slices.Delete(t.idle, 0, 1)
	}
}

// block starts the goroutine that blocks on the lists of a partition, unless there is one. The
// caller holds mu.
func (t *turns) block(i int) {
	if t.state[i].blocked {
		return
	}
	t.state[i].blocked = true
	block := maxBlock
	if due := t.state[i].due; due >= 0 {
		block = max(min(block, due), 2*time.Millisecond)
	}
	t.q.own(func(ctx context.Context) { t.listen(ctx, i, block) })
}

// listen blocks on the wake-up lists of a partition and wakes a worker.
func (t *turns) listen(ctx context.Context, i int, d time.Duration) {
	blpop := []any{"BLPOP"}
	if t.q.o.Pool != LargePool {
		blpop = append(blpop, string(t.parts[i])+"wake")
	}
	if t.q.o.Pool != SmallPool {
		blpop = append(blpop, string(t.parts[i])+"wake:large")
	}
	// BLPop of the client rounds to seconds.
	seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	list, err := t.q.rdb.Do(ctx, append(blpop, seconds)...).StringSlice()
	woken := err == nil
	if err != nil && !errors.Is(err, redis.Nil) && ctx.Err() == nil {
		t.fail(i, err)
		select {
		case <-ctx.Done():
		case <-time.After(failedFor):
		}
	}
	t.mu.Lock()
	t.state[i].blocked, t.state[i].after, t.state[i].due = false, time.Time{}, -1
	unused := woken && len(t.idle) == 0
	t.wake(i)
	t.mu.Unlock()
	if unused {
		// All workers are busy meanwhile. Another process may have an idle one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if err := t.q.rdb.RPush(ctx, list[0], "1").Err(); err != nil {
			t.q.log.Debug("a wake-up of the queue was lost", "error", err)
		}
	}
}
