package worker

import (
	"context"
	"time"
)

const (
	// sweepEvery is rare enough to cost nothing and often enough for a person who waits.
	sweepEvery = 10 * time.Minute

	// sweepWindow is how long GitHub redelivers (docs: redelivering webhooks).
	sweepWindow = 3 * 24 * time.Hour
)

// sweep asks GitHub again for the deliveries that never arrived: it sends each only once by itself. Each GUID is asked for at most once while
// this process lives; what compat refused itself isn't asked for.
func (w *Worker) sweep(ctx context.Context) {
	asked := map[string]bool{}
	for ctx.Err() == nil {
		if err := w.sweepOnce(ctx, asked); err != nil && ctx.Err() == nil {
			w.Log.Warn("failed deliveries could not be asked for again", "error", err)
		}
		sleep(ctx, sweepEvery)
	}
}

func (w *Worker) sweepOnce(ctx context.Context, asked map[string]bool) error {
	failed, err := w.App.FailedDeliveries(ctx, w.Now().Add(-sweepWindow))
	if err != nil {
		return err
	}
	for i := len(failed) - 1; i >= 0; i-- { // oldest first
		d := failed[i]
		if asked[d.GUID] {
			continue
		}
		asked[d.GUID] = true
		if err := w.App.Redeliver(ctx, d.ID); err != nil {
			return err
		}
		w.Log.Info("delivery asked for again", "delivery", d.GUID, "event", d.Event, "action", d.Action, "code", d.Code)
	}
	return nil
}
