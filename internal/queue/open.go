package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options configures a queue. All fields but Dir may be zero.
type Options struct {
	URL string // address of Redis, see openRedis; "" = embedded
	Dir string // directory of the embedded journal, created if needed; not used with URL

	// length of a lease: how long a worker may fail to renew it before its job is given to
	// another; 0 = 10 s
	Lease time.Duration
	// failures (Retry) before a job is dead; 0 = 8, which take about a quarter of an hour
	MaxAttempts int
	// consecutive expired leases before a job is dead, if it is at risk; four times as many
	// otherwise; 0 = 4
	MaxCrashes      int
	PerInstallation int // limit of concurrent jobs of one installation; 0 = 4

	// stores values of 4 KiB and more; nil = they are stored in Redis or the journal
	Bucket Bucket

	// parts into which the queue is divided, fixed at the first start; 0 = as it is divided already,
	// else 1. An embedded queue has one.
	Partitions int

	Pool Pool // of the workers of this process; "" = both

	// name of this process for operators; "" = host name and process ID
	Name string

	// priorities by kind for jobs without their own; nil = Normal
	Priorities map[string]Priority

	// embedded only: read a journal that no process has open, without changing it and without
	// counting running jobs as crashed
	ReadOnly bool
	Log      *slog.Logger // nil = discard
}

const (
	defaultLease       = 10 * time.Second
	defaultMaxAttempts = 8

	// A job that kills its process (memory, a panic in another goroutine) would kill every
	// worker. The fourth worker, which sees Lease.FinalLoss, does not run the job any more and
	// only reports the failure. Jobs that ran in the same process as the cause, or whose host was
	// killed, are separated from it after the second crash (crash in lib.lua), so they finish
	// before they are suspected again.
	defaultMaxCrashes = 4

	// GitHub allows a hundred concurrent requests per installation, and a job makes a few. More
	// jobs would only share the rate limit, and occupy the workers.
	defaultPerInstallation = 4
)

// Queue is an open queue. It is safe for concurrent use.
type Queue struct {
	updates keyLocks // of Update
	objects *objects // nil = large values are not moved to a bucket

	rdb     redis.UniversalClient
	current atomic.Pointer[plan]     // nil until the first call that Redis answers
	scripts map[string]*redis.Script // nil if embedded
	o       Options
	log     *slog.Logger

	engine  *engine  // nil with Redis
	journal *journal // nil with Redis

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	owned  sync.WaitGroup // goroutines that Close waits for
	closed sync.RWMutex   // held for reading while owned is increased
}

// Open opens the queue.
//
// With a URL it does not wait for Redis: while Redis is down, every call fails within seconds,
// and Ping returns an error. As soon as Redis responds, it checks once whether Redis is
// configured to persist its data, and logs what to change.
//
// If Redis responds and Options.Partitions is not the number of the first start, it returns
// ErrPartitions.
//
// Without a URL it opens the journal in Dir and restores all jobs. Jobs that were running can be
// claimed at once, and a lost lease is counted for them. It returns ErrLocked if another process
// has the journal open.
func Open(ctx context.Context, o Options) (*Queue, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Lease = or(o.Lease, defaultLease)
	o.MaxAttempts = or(o.MaxAttempts, defaultMaxAttempts)
	o.MaxCrashes = or(o.MaxCrashes, defaultMaxCrashes)
	o.PerInstallation = or(o.PerInstallation, defaultPerInstallation)

	if o.Name == "" {
		host, _ := os.Hostname() // without it, the process ID has to do
		o.Name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	q := &Queue{o: o, log: o.Log}
	if o.Bucket != nil {
		q.objects = &objects{bucket: o.Bucket, log: o.Log}
	}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if o.URL == "" {
		err = q.openEmbedded(ctx)
	} else {
		err = q.openRedis()
	}
	if err != nil {
		q.cancel()
		return nil, fmt.Errorf("queue: %w", err)
	}
	if o.Partitions > 0 {
		if _, err := q.plan(ctx); errors.Is(err, ErrPartitions) {
			return nil, errors.Join(err, q.Close())
		}
	}
	return q, nil
}

// priority returns the priority of a job to be stored.
func (q *Queue) priority(j Job) Priority { return or(j.Priority, q.o.Priorities[j.Kind]) }

// separation returns the delay in milliseconds between jobs that are suspected of a crash: the last
// of eight waits 20 s if leases have 10 s.
func (q *Queue) separation() int64 { return q.o.Lease.Milliseconds() / 4 }

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Close stops the queue's goroutines and waits for them and for blocked Claims, at most a second.
// Held leases expire.
func (q *Queue) Close() error {
	q.closed.Lock()
	q.cancel()
	q.closed.Unlock()
	q.owned.Wait()
	err := q.rdb.Close()
	if q.engine != nil {
		q.engine.close()
	}
	if q.journal != nil {
		if e := q.journal.close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("queue: close: %w", err)
	}
	return nil
}

// own runs f in a goroutine that Close waits for. After Close it does nothing.
func (q *Queue) own(f func(ctx context.Context)) {
	q.closed.RLock()
	defer q.closed.RUnlock()
	if q.ctx.Err() != nil {
		return
	}
	q.owned.Add(1)
	go func() {
		defer q.owned.Done()
		f(q.ctx)
	}()
}

// Ping returns nil if the queue can store a job now, of several partitions in at least one.
func (q *Queue) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if q.ctx.Err() != nil {
		return fmt.Errorf("queue: ping: %w", ErrClosed)
	}
	if q.engine != nil {
		if err := q.engine.ping(ctx); err != nil {
			return fmt.Errorf("queue: ping: %w", err)
		}
		return nil
	}
	current, err := q.plan(ctx)
	if err != nil {
		return err
	}
	// A Redis that is full or became a replica still responds, but cannot store a job.
	var pings []redis.Cmder
	_, err = q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, part := range current.parts {
			pings = append(pings, p.Set(ctx, string(part)+"ping", "", time.Minute))
			p.Del(ctx, string(part)+"ping")
		}
		return nil
	})
	works := func(c redis.Cmder) bool { return c.Err() == nil }
	if err != nil && !slices.ContainsFunc(pings, works) {
		return fmt.Errorf("queue: ping: %w", err)
	}
	return nil
}

// Skew returns how far the clock of this process is ahead of the server's. The error is up to
// half the time of the request.
func (q *Queue) Skew(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	asked := time.Now()
	server, err := q.rdb.Time(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("queue: time: %w", err)
	}
	return asked.Add(time.Since(asked) / 2).Sub(server), nil
}

// Embedded reports whether the queue is in this process and its journal.
func (q *Queue) Embedded() bool { return q.engine != nil }
