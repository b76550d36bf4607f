// Package reconcile finds what no event will come for again: webhook deliveries that never arrived,
// and open pull requests, merge groups and releases without a verdict and without a job.
//
// Of several processes one leads and looks; what the next one has to know is kept in the queue. The
// package writes nothing on GitHub but requests to deliver an event again.
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
	// A process that leads and dies is replaced within sweepLead, and the new one has requested
	// everything within the 45 s that the contract gives.
	sweepLead = 10 * time.Second

	// sweepEvery is rare enough to cost nothing and often enough for a person who waits.
	sweepEvery = 10 * time.Minute

	// sweepRetry is the first pause after a look that failed, by a rate limit for instance; each
	// further one is twice as long.
	sweepRetry = 3 * time.Second
)

// Options is what New needs. App and Store are required.
type Options struct {
	App   *github.App
	Store *store.Store
	// Wait is how long a check may wait for its artifacts; the open heads are looked at once in
	// that time.
	Wait    time.Duration
	Log     *slog.Logger          // nil = none
	Metrics prometheus.Registerer // nil = none
}

// Sweeper looks again and again for what was lost.
type Sweeper struct {
	Options
	metrics *metrics
}

// New checks the options.
func New(o Options) (*Sweeper, error) {
	if o.App == nil || o.Store == nil {
		return nil, errors.New("reconcile: app and store are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Sweeper{Options: o, metrics: newMetrics(o.Metrics)}, nil
}

// A look is what the sweeper repeats. It returns how long to wait before the next one.
type look func(ctx context.Context, term *queue.Term) (time.Duration, error)

// Run looks for lost deliveries (deliveries.go) and for heads without a verdict and a job
// (heads.go) whenever this process leads, until ctx ends.
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

// look repeats one look until the term ends.
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

// once looks once; a panic is a look that failed.
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
