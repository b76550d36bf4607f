package worker

import (
	"context"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

const (
	// A process that leads and dies is replaced within sweepLead, and the new one has asked for everything within the 45 s that the contract gives.
	sweepLead = 10 * time.Second

	// sweepEvery is rare enough to cost nothing and often enough for a person who waits.
	sweepEvery = 10 * time.Minute

	// sweepAgain is the first pause after a look that failed, by a rate limit for instance; each further one is twice as long.
	sweepAgain = 3 * time.Second

	// sweepWindow is how long GitHub redelivers (docs: redelivering webhooks).
	sweepWindow = 3 * 24 * time.Hour
)

// sweep asks GitHub again for the deliveries that never arrived: it sends each only once by itself. Each GUID is asked for at most once while
// this process lives; what compat refused itself, or has stored meanwhile, isn't asked for. Of several processes the one that leads does it.
func (w *Worker) sweep(ctx context.Context) {
	asked := map[string]bool{}
	w.Queue.Lead(ctx, "sweeper", sweepLead, func(ctx context.Context, term *queue.Term) {
		w.Log.Debug("this process sweeps", "term", term.Number)
		again := sweepAgain
		for ctx.Err() == nil {
			err := w.sweepOnce(ctx, term, asked)
			w.metrics.swept(err)
			if err != nil && ctx.Err() == nil {
				w.Log.Warn("failed deliveries could not be asked for again", "error", err, "pause", again)
			}
			if err != nil {
				sleep(ctx, again)
				again = min(2*again, sweepEvery)
				continue
			}
			again = sweepAgain
			sleep(ctx, sweepEvery)
		}
	})
}

func (w *Worker) sweepOnce(ctx context.Context, term *queue.Term, asked map[string]bool) error {
	failed, err := w.App.FailedDeliveries(ctx, w.Now().Add(-sweepWindow))
	if err != nil {
		return err
	}
	for i := len(failed) - 1; i >= 0; i-- { // oldest first
		d := failed[i]
		if asked[d.GUID] {
			continue
		}
		if err := term.Check(ctx); err != nil {
			return err
		}
		// It may have come since GitHub made the list: sent again by hand, or asked for by the process that led before.
		arrived, err := w.Queue.Arrived(ctx, d.GUID)
		if err != nil {
			return err
		}
		asked[d.GUID] = true
		if arrived {
			continue
		}
		if err := w.App.Redeliver(ctx, d.ID); err != nil {
			return err
		}
		w.metrics.redelivered.Inc()
		w.Log.Info("delivery asked for again", "delivery", d.GUID, "event", d.Event, "action", d.Action, "code", d.Code)
	}
	return nil
}
