package queue

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options says where the queue is kept and how patient it is. The zero value of each field but Dir
// is usable.
type Options struct {
	URL string // Redis, or several; see redis.go; "": embedded
	Dir string // folder of the embedded journal; made when it isn't there; not used with URL

	// how long a worker may be silent before its job is given to another; 0: 10 s, GitHub's own
	// idea of "at once"
	Lease time.Duration
	// failures (Retry) before a job is dead; 0: 8, which is about a quarter of an hour of trying
	MaxAttempts int
	// workers that may be lost in a row while the job is at risk before it is dead, and four times
	// as many at other times; 0: 4
	MaxCrashes      int
	PerInstallation int // jobs of one installation that run at once; 0: 4

	// of this process, for people who look at what is running; "": the host's name and the process
	// id
	Name string

	// of kinds of jobs, for jobs that bring none of their own; nil: all are Normal
	Priorities map[string]Priority

	// embedded only: look at a journal that no process has open and change nothing, nor count
	// running jobs as crashed
	ReadOnly bool
	Log      *slog.Logger
}

const (
	defaultLease       = 10 * time.Second
	defaultMaxAttempts = 8

	// A job that kills its worker (memory, a panic outside its goroutine) would kill the next one
	// for ever: after three times the fourth worker, told by Lease.FinalLoss, only says so where the
	// job is waited for. Whoever merely ran beside the culprit, or when somebody killed a host, is
	// kept apart from it after the second time (crash in lib.lua), and is finished before it falls
	// under suspicion again.
	defaultMaxCrashes = 4

	// GitHub allows a hundred requests at once for an installation, and one job makes a few; more
	// of them would only share the installation's rate limit, and take the workers from the others.
	defaultPerInstallation = 4
)

// Queue is an open queue; its methods may be called from any goroutine.
type Queue struct {
	updates keyLocks // of Update

	rdb     redis.UniversalClient
	scripts map[string]*redis.Script
	o       Options
	log     *slog.Logger

	engine  *engine  // nil: Redis
	journal *journal // nil: Redis

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	owned  sync.WaitGroup // goroutines and waits that Close waits for
	closed sync.RWMutex   // held for reading while a wait is added to owned
}

// Open opens the queue.
//
// With a URL it doesn't wait for Redis: while it is away every call fails within seconds, and Ping
// says so. It looks once, when Redis answers, whether that Redis is set up to keep what it is
// given, and logs what to change.
//
// Without a URL it opens the journal in Dir and brings back every job: those that ran are claimable
// at once, their crash counted. ErrLocked: another process has it.
func Open(ctx context.Context, o Options) (*Queue, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Lease = or(o.Lease, defaultLease)
	o.MaxAttempts = or(o.MaxAttempts, defaultMaxAttempts)
	o.MaxCrashes = or(o.MaxCrashes, defaultMaxCrashes)
	o.PerInstallation = or(o.PerInstallation, defaultPerInstallation)

	if o.Name == "" {
		host, _ := os.Hostname() // without one, the process id says something still
		o.Name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	q := &Queue{o: o, log: o.Log}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if q.scripts, err = loadScripts(); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if o.URL == "" {
		err = q.openEmbedded(ctx)
	} else {
		err = q.openRedis()
	}
	if err != nil {
		q.cancel()
		return nil, fmt.Errorf("queue: %w", err)
	}
	return q, nil
}

// priority of a job that is to be stored.
func (q *Queue) priority(j Job) Priority { return or(j.Priority, q.o.Priorities[j.Kind]) }

// apart is how long suspects of a crash are kept apart: the last of eight waits 20 s under leases
// of 10 s.
func (q *Queue) apart() int64 { return q.o.Lease.Milliseconds() / 4 }

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// Close ends the queue's goroutines and waits for them, and for Claims that wait, at most a second.
// Leases that are still held are left to run out.
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

// own runs f in a goroutine that Close waits for.
func (q *Queue) own(f func(ctx context.Context)) {
	q.owned.Add(1)
	go func() {
		defer q.owned.Done()
		f(q.ctx)
	}()
}

// Ping returns nil when the queue can store a job now.
func (q *Queue) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if q.ctx.Err() != nil {
		return fmt.Errorf("queue: ping: %w", ErrClosed)
	}
	// A Redis that is full, or became a replica, still answers; what it would not take is a job.
	_, err := q.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, prefix+"ping", "", time.Minute)
		p.Del(ctx, prefix+"ping")
		return nil
	})
	if err != nil {
		return fmt.Errorf("queue: ping: %w", err)
	}
	return q.sync(ctx, "ping")
}

// Skew is how far the clock of this process is ahead of the server's, give or take half the time
// that the question took.
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

// Embedded says whether the queue lives in this process and its journal.
func (q *Queue) Embedded() bool { return q.engine != nil }
