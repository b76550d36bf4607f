package worker

import (
	"context"
	"sync"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

const (
	// A process that leads and dies is replaced within sweepLead, and the new one has asked for
	// everything within the 45 s that the contract gives.
	sweepLead = 10 * time.Second

	// sweepEvery is rare enough to cost nothing and often enough for a person who waits.
	sweepEvery = 10 * time.Minute

	// sweepAgain is the first pause after a look that failed, by a rate limit for instance; each
	// further one is twice as long.
	sweepAgain = 3 * time.Second
)

// A look is what the sweeper does again and again. It returns how long to wait before the next one.
type look func(ctx context.Context, term *queue.Term) (time.Duration, error)

// sweep finds what nobody would come back for: deliveries that never arrived (redeliver.go) and
// heads without a concluded check that no job is about (reconcile.go). Of several processes the one
// that leads does it; what the next one has to know is kept in the queue.
func (w *Worker) sweep(ctx context.Context) {
	asked := map[string]bool{}
	looks := map[string]look{
		"deliveries": func(ctx context.Context, term *queue.Term) (time.Duration, error) {
			return w.redeliver(ctx, term, asked)
		},
		"heads": w.reconcile,
	}
	w.Queue.Lead(ctx, "sweeper", sweepLead, func(ctx context.Context, term *queue.Term) {
		w.Log.Debug("this process sweeps", "term", term.Number)
		var all sync.WaitGroup
		for what, look := range looks {
			all.Go(func() { w.look(ctx, term, what, look) })
		}
		all.Wait()
	})
}

// look repeats one look until the term ends.
func (w *Worker) look(ctx context.Context, term *queue.Term, what string, look look) {
	again := sweepAgain
	for ctx.Err() == nil {
		pause, err := w.once(ctx, term, look)
		if ctx.Err() != nil {
			return
		}
		w.metrics.swept(what, err)
		if err != nil {
			w.Log.Warn("the sweeper could not look", "for", what, "error", err, "pause", again)
			pause, again = again, min(2*again, sweepEvery)
		} else {
			again = sweepAgain
		}
		sleep(ctx, pause)
	}
}

// once looks once; a panic is a look that failed.
func (w *Worker) once(
	ctx context.Context,
	term *queue.Term,
	look look,
) (pause time.Duration, err error) {
	defer func() {
		if e := recovered(w.Log, recover()); e != nil {
			err = e
		}
	}()
	return look(ctx, term)
}
