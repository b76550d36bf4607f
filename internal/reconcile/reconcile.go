// Package reconcile finds work that no event announces any more: webhook deliveries that failed,
// and open pull requests, merge groups and releases without a verdict and without a job.
//
// One of several processes is elected leader and searches; its progress is stored in the queue.
// The only writes to GitHub are requests to redeliver.
package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/sleep"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

const (
	// A leader that dies is replaced within sweepLead, so that the new one can request all failed
	// deliveries within 45 s.
	sweepLead = 10 * time.Second

	// sweepEvery is the pause between searches: cheap, and short enough for a waiting person.
	sweepEvery = 10 * time.Minute

	// sweepRetry is the first pause after a failed search (a rate limit, for example); it doubles
	// with each failure.
	sweepRetry = 3 * time.Second
)

// Options configures New. App and Store are required.
type Options struct {
	App   *github.App
	Store *store.Store
	// Wait is how long a check may wait for its artifacts. Open heads are searched once per Wait.
	Wait    time.Duration
	Log     *slog.Logger          // nil = discard
	Metrics prometheus.Registerer // nil = not registered
}

// Sweeper repeatedly searches for lost work.
type Sweeper struct {
	Options
	metrics *metrics
}

// New returns an error if App or Store is missing.
func New(o Options) (*Sweeper, error) {
	if o.App == nil || o.Store == nil {
		return nil, errors.New("reconcile: app and store are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Sweeper{Options: o, metrics: newMetrics(o.Metrics)}, nil
}

// look is a search that the sweeper repeats. It returns the pause before the next one.
type look func(ctx context.Context, term *queue.Term) (time.Duration, error)

// Run searches for failed deliveries (deliveries.go) and for heads without a verdict and a job
// (heads.go) while this process is the leader, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	requested := map[string]bool{}
	looks := map[string]look{
		"deliveries": func(ctx context.Context, term *queue.Term) (time.Duration, error) {
			return s.redeliver(ctx, term, requested)
		},
		"heads": s.heads,
	}
	s.Store.Queue.Lead(ctx, "sweeper", sweepLead, func(ctx context.Context, term *queue.Term) {
		s.Log.Debug("this process leads the sweeper", "term", term.Number)
		var all sync.WaitGroup
		for what, look := range looks {
			all.Go(func() { s.look(ctx, term, what, look) })
		}
		all.Wait()
	})
}

// look repeats one search until the term ends.
func (s *Sweeper) look(ctx context.Context, term *queue.Term, what string, look look) {
	retry := sweepRetry
	for ctx.Err() == nil {
		pause, err := s.once(ctx, term, look)
		if ctx.Err() != nil {
			return
		}
		s.metrics.swept(what, err)
		if err != nil {
			s.Log.Warn("the sweeper could not look", "for", what, "error", err, "pause", retry)
			pause, retry = retry, min(2*retry, sweepEvery)
		} else {
			retry = sweepRetry
		}
		_ = sleep.For(ctx, pause)
	}
}

// once runs one search. A panic becomes an error.
func (s *Sweeper) once(
	ctx context.Context,
	term *queue.Term,
	look look,
) (pause time.Duration, err error) {
	defer func() {
		if e := worker.Recovered(s.Log, recover()); e != nil {
			err = e
		}
	}()
	return look(ctx, term)
}
