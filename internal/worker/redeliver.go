package worker

import (
	"context"
	"strconv"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

const (
	// sweepWindow is how long GitHub redelivers (docs: redelivering webhooks).
	sweepWindow = 3 * 24 * time.Hour

	// sweepOverlap is how far the next look goes back behind the last one: what GitHub lists late is seen all the same.
	sweepOverlap = 10 * time.Minute

	// askedFor is how long an attempt is not asked about again by whoever leads next: its answer is on the way, or not listed yet.
	askedFor = 10 * time.Minute
)

// cursorKey is where the time stands up to which every delivery has arrived.
const cursorKey = "sweeper/deliveries"

func askedKey(guid string) string { return "sweeper/asked/" + guid }

// redeliver asks GitHub again for the deliveries that never arrived: it sends each only once by itself. Each GUID is asked for at most once while
// this process lives, and each attempt by one process only; what compat refused itself, or has stored meanwhile, isn't asked for.
//
// GitHub's list is read back to the oldest delivery that has yet to arrive, wherever that look was made.
func (w *Worker) redeliver(ctx context.Context, term *queue.Term, asked map[string]bool) (time.Duration, error) {
	began := w.Now()
	since := began.Add(-sweepWindow)
	cursor, err := w.Queue.Get(ctx, cursorKey)
	if err != nil {
		return 0, err
	}
	if at, err := time.Parse(time.RFC3339Nano, string(cursor)); err == nil && at.After(since) {
		since = at
	}
	failed, err := w.App.FailedDeliveries(ctx, since)
	if err != nil {
		return 0, err
	}
	settled := began.Add(-sweepOverlap)
	for i := len(failed) - 1; i >= 0; i-- { // oldest first
		d := failed[i]
		if err := term.Check(ctx); err != nil {
			return 0, err
		}
		// It may have come since GitHub made the list: sent again by hand, or asked for by the process that led before.
		arrived, err := w.Queue.Arrived(ctx, d.GUID)
		if err != nil {
			return 0, err
		}
		if arrived {
			continue
		}
		if d.At.Before(settled) {
			settled = d.At
		}
		if asked[d.GUID] {
			continue
		}
		attempt := strconv.FormatInt(d.ID, 10)
		last, err := w.Queue.Get(ctx, askedKey(d.GUID))
		if err != nil {
			return 0, err
		}
		if string(last) == attempt {
			continue
		}
		asked[d.GUID] = true
		if err := w.App.Redeliver(ctx, d.ID); err != nil {
			return 0, err
		}
		if err := w.Queue.Put(ctx, askedKey(d.GUID), []byte(attempt), askedFor); err != nil {
			return 0, err
		}
		w.metrics.redelivered.Inc()
		w.Log.Info("delivery asked for again", "delivery", d.GUID, "event", d.Event, "action", d.Action, "code", d.Code)
	}
	if settled.Before(since) {
		settled = since
	}
	return sweepEvery, w.Queue.Put(ctx, cursorKey, []byte(settled.UTC().Format(time.RFC3339Nano)), sweepWindow)
}
