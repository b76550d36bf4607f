// Package worker runs the jobs of the queue: it claims them, renews their leases, and stores what
// becomes of each. What a job is about is the business of the handler of its kind; this package
// knows nothing of GitHub.
//
// It expects of a handler:
//
//   - Handling a job twice, late, or again after a crash has the same result.
//   - Before each write to the outside it calls Attempt.Fence: when the lease is lost or a newer
//     job
//     of the subject has come, nothing more is written.
//   - It stops soon after its context ends.
//
// A job ends as its handler returns: Done, snoozed (Later), or by the class of its error (Failure).
//
//	w, err := worker.New(worker.Options{Queue: q, Handlers: handlers, Workers: 4, Lease: 10 * time.Second, Log: log})
//	err = w.Run(ctx) // until ctx ends and every lease is given back
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

// Handler does an attempt at a job whose body is b.
type Handler func(ctx context.Context, a *Attempt, b job.Body) (Outcome, error)

// Handle makes a Handler of a function for one kind of body.
func Handle[B job.Body](do func(context.Context, *Attempt, B) (Outcome, error)) Handler {
	return func(ctx context.Context, a *Attempt, b job.Body) (Outcome, error) {
		body, ok := b.(B)
		if !ok {
			return Done, Permanent(fmt.Sprintf("A job of kind %s has another body.", b.Kind()))
		}
		return do(ctx, a, body)
	}
}

// Options is what New needs. Queue and Handlers are required.
type Options struct {
	Queue    *queue.Queue
	Handlers map[job.Kind]Handler // one for each of job.Kinds
	Workers  int                  // jobs at once; 0: none
	Lease    time.Duration        // as the queue has it
	Log      *slog.Logger
	Metrics  prometheus.Registerer // nil = none
	Now      func() time.Time      // nil = time.Now
}

// Worker runs jobs. One Run at a time.
type Worker struct {
	Options
	metrics *metrics
}

// New checks the options. It returns an error when the queue is missing, or the handler of a kind.
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

// Run takes jobs with as many workers as configured until ctx ends. It returns when every job under
// way has stopped and its lease is given back, some seconds later at most.
func (w *Worker) Run(ctx context.Context) {
	var wait sync.WaitGroup
	for range w.Workers {
		wait.Go(func() { w.work(ctx) })
	}
	wait.Wait()
}

// work is one worker: it claims and runs one job after another.
func (w *Worker) work(ctx context.Context) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		lease, err := w.Queue.Claim(ctx, 5*time.Second)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			pause = min(max(2*pause, 100*time.Millisecond), 3*time.Second)
			w.Log.Warn("the queue does not respond", "error", err, "pause", pause)
			_ = sleep.For(ctx, pause) // the loop looks at ctx
			continue
		}
		pause = 0
		if lease != nil {
			w.run(ctx, lease)
		}
	}
}
