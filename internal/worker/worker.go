// Package worker runs the jobs of the queue: it claims them, renews their leases and stores their
// outcome. The handlers of the job kinds do the work; this package does not depend on GitHub.
//
// It expects of a handler:
//   - Handling a job twice, late, or again after a crash has the same result.
//   - It calls Attempt.Fence before each write to GitHub, and writes nothing more when the lease
//     is lost or a newer job of the subject waits.
//   - It stops soon after its context ends.
//
// A job ends with the result of its handler: Done, Later, or the class of its error (Failure).
//
//	w, err := worker.New(worker.Options{Queue: q, Handlers: handlers, Workers: 4, Lease: 10 * time.Second, Log: log})
//	err = w.Run(ctx) // until ctx ends and every lease is released
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/sleep"
)

// Handler makes an attempt at a job with the body b.
type Handler func(ctx context.Context, a *Attempt, b job.Body) (Outcome, error)

// Handle converts a function for one type of body to a Handler.
func Handle[B job.Body](do func(context.Context, *Attempt, B) (Outcome, error)) Handler {
	return func(ctx context.Context, a *Attempt, b job.Body) (Outcome, error) {
		body, ok := b.(B)
		if !ok {
			return Done, Permanent(fmt.Sprintf("A job of kind %s has another body.", b.Kind()))
		}
		return do(ctx, a, body)
	}
}

// Options configures New. Queue and Handlers are required.
type Options struct {
	Queue    *queue.Queue
	Handlers map[job.Kind]Handler // one for each of job.Kinds
	Workers  int                  // concurrent jobs; 0 = none
	Lease    time.Duration        // as configured for the queue
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil = not registered
	Now      func() time.Time      // nil = time.Now
}

// Worker runs jobs. Call Run only once at a time.
type Worker struct {
	Options
	metrics *metrics
	outage  outage
}

// New returns an error if the queue or the handler of a kind is missing.
func New(o Options) (*Worker, error) {
	if o.Queue == nil {
		return nil, errors.New("worker: the queue is missing")
	}
	for _, k := range job.Kinds() {
		if o.Handlers[k] == nil {
			return nil, fmt.Errorf("worker: there is no handler for jobs of kind %s", k)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Worker{Options: o, metrics: newMetrics(o.Metrics, o.Queue)}, nil
}

// Run handles jobs with the configured number of workers until ctx ends. It returns when all jobs
// have stopped and their leases are released, at most some seconds later.
func (w *Worker) Run(ctx context.Context) {
	var wait sync.WaitGroup
	for range w.Workers {
		wait.Go(func() { w.work(ctx) })
	}
	wait.Wait()
}

// work claims and runs one job after another.
func (w *Worker) work(ctx context.Context) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		lease, err := w.Queue.Claim(ctx, 5*time.Second)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			pause = min(max(2*pause, 100*time.Millisecond), 3*time.Second)
			if w.outage.failed(w.Now()) {
				w.Log.Warn("the queue does not respond", "error", err)
			}
			_ = sleep.For(ctx, pause) // the loop checks ctx
			continue
		}
		if pause > 0 && w.outage.ended() {
			w.Log.Info("the queue responds again")
		}
		pause = 0
		if lease != nil {
			w.run(ctx, lease)
		}
	}
}

// outage decides which failures of the queue are logged: all workers see the same outage, and try
// again often.
type outage struct {
	mu    sync.Mutex
	lasts bool
	pause time.Duration // until the next line
	next  time.Time     // no line before that
}

const (
	firstOutagePause = 5 * time.Second
	maxOutagePause   = 5 * time.Minute
)

// failed reports whether to log a failure: the first one, and then one after each pause, which
// doubles. The pause starts again when it has passed twice without a failure.
func (o *outage) failed(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lasts = true
	if now.Before(o.next) {
		return false
	}
	if now.After(o.next.Add(o.pause)) {
		o.pause = 0
	}
	o.pause = min(max(2*o.pause, firstOutagePause), maxOutagePause)
	o.next = now.Add(o.pause)
	return true
}

// ended reports whether to log the end of the outage: once.
func (o *outage) ended() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	lasts := o.lasts
	o.lasts = false
	return lasts
}
