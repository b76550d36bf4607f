package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
)

const (
	// sweepWindow is how long GitHub redelivers (docs: redelivering webhooks).
	sweepWindow = 3 * 24 * time.Hour

	// sweepOverlap is how far the next look goes back behind the last one: what GitHub lists late
	// is seen all the same.
	sweepOverlap = 10 * time.Minute

	// askedFor is how long an attempt is not asked about again by whoever leads next: its answer is
	// on the way, or not listed yet.
	askedFor = 10 * time.Minute

	// unsureFor is how long an attempt rests whose question GitHub did not answer: nobody knows
	// whether it sends it. By then its list tells.
	unsureFor = 15 * time.Second
)

// cursorKey is where the time stands up to which every delivery has arrived.
const cursorKey = "sweeper/deliveries"

// askedKey is where the attempts stand that were asked about lately.
const askedKey = "sweeper/asked"

// question is an attempt of a delivery that was asked about.
type question struct {
	Attempt int64     `json:"attempt"`
	At      time.Time `json:"at"`
	Unsure  bool      `json:"unsure,omitempty"` // GitHub did not answer
}

func (q question) rests(now time.Time) bool {
	if q.Unsure {
		return now.Sub(q.At) <= unsureFor
	}
	return now.Sub(q.At) <= askedFor
}

// askAtOnce deliveries are asked for side by side, and noted together.
const askAtOnce = 8

// redeliver asks GitHub again for the deliveries that never arrived: it sends each only once by
// itself. Each GUID is asked for at most once while this process lives, and each attempt by one
// process only, unless GitHub did not answer; what compat refused itself, or has stored meanwhile,
// isn't asked for.
//
// GitHub's list is read back to the oldest delivery that has yet to arrive, wherever that look was
// made.
func (w *Worker) redeliver(
	ctx context.Context,
	term *queue.Term,
	asked map[string]bool,
) (time.Duration, error) {
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
	lately, err := w.askedLately(ctx)
	if err != nil {
		return 0, err
	}
	settled := began.Add(-sweepOverlap)
	slices.Reverse(failed) // the oldest first
	next := sweepEvery
	var ask []github.Delivery
	for _, d := range failed {
		// It may have come since GitHub made the list: sent again by hand, or asked for by the
		// process that led before.
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
		switch q := lately[d.GUID]; {
		case q.Attempt != d.ID && !asked[d.GUID]:
			ask = append(ask, d)
		case q.Attempt == d.ID && q.Unsure:
			next = unsureFor
		}
	}
	for some := range slices.Chunk(ask, askAtOnce) {
		if err := term.Check(ctx); err != nil {
			return 0, err
		}
		errs := w.ask(ctx, some)
		for i, d := range some {
			if limited := (*github.LimitError)(nil); errors.As(errs[i], &limited) {
				continue
			}
			asked[d.GUID] = errs[i] == nil
			lately[d.GUID] = question{d.ID, w.Now(), errs[i] != nil}
		}
		data, err := json.Marshal(lately)
		if err != nil {
			return 0, fmt.Errorf("worker: %w", err)
		}
		if err := errors.Join(append(errs, w.Queue.Put(ctx, askedKey, data, askedFor))...); err != nil {
			return 0, err
		}
	}
	if settled.Before(since) {
		settled = since
	}
	return next, w.Queue.Put(
		ctx,
		cursorKey,
		[]byte(settled.UTC().Format(time.RFC3339Nano)),
		sweepWindow,
	)
}

// askedLately reads what was asked about and rests, by GUID.
func (w *Worker) askedLately(ctx context.Context) (map[string]question, error) {
	lately := map[string]question{}
	data, err := w.Queue.Get(ctx, askedKey)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && json.Unmarshal(data, &lately) != nil {
		clear(lately) // a note of another release; a delivery may be asked for once more
	}
	maps.DeleteFunc(lately, func(_ string, q question) bool { return !q.rests(w.Now()) })
	return lately, nil
}

// ask has GitHub send some deliveries again, and returns what went wrong with each.
func (w *Worker) ask(ctx context.Context, some []github.Delivery) []error {
	errs := make([]error, len(some))
	var all sync.WaitGroup
	for i, d := range some {
		all.Go(func() {
			// Those before it took their time, and it may have come meanwhile.
			arrived, err := w.Queue.Arrived(ctx, d.GUID)
			if err != nil || arrived {
				errs[i] = err
				return
			}
			if errs[i] = w.App.Redeliver(ctx, d.ID); errs[i] == nil {
				w.metrics.redelivered.Inc()
				w.Log.Info(
					"delivery asked for again",
					"delivery",
					d.GUID,
					"event",
					d.Event,
					"action",
					d.Action,
					"code",
					d.Code,
				)
			}
		})
	}
	all.Wait()
	return errs
}
