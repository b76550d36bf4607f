package reconcile

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

	// requestedFor is how long an attempt is not asked about again by whoever leads next: its answer
	// is on the way, or not listed yet.
	requestedFor = 10 * time.Minute

	// unsureFor is how long an attempt rests whose request GitHub did not answer: nobody knows
	// whether it sends it. By then its list tells.
	unsureFor = 15 * time.Second
)

// cursorKey is where the time is kept up to which every delivery has arrived.
const cursorKey = "sweeper/deliveries"

// requestedKey is where the attempts are kept that were requested lately.
const requestedKey = "sweeper/asked"

// request is an attempt of a delivery that GitHub was asked to repeat.
type request struct {
	Attempt int64     `json:"attempt"`
	At      time.Time `json:"at"`
	Unsure  bool      `json:"unsure,omitempty"` // GitHub did not answer
}

func (q request) rests(now time.Time) bool {
	if q.Unsure {
		return now.Sub(q.At) <= unsureFor
	}
	return now.Sub(q.At) <= requestedFor
}

// requestAtOnce deliveries are asked for side by side, and noted together.
const requestAtOnce = 8

// redeliver asks GitHub again for the deliveries that never arrived: it sends each only once by
// itself. Each GUID is asked for at most once while this process lives, and each attempt by one
// process only, unless GitHub did not answer; what compat refused itself, or has stored meanwhile,
// isn't asked for.
//
// GitHub's list is read back to the oldest delivery that has yet to arrive, wherever that look was
// made.
func (s *Sweeper) redeliver(
	ctx context.Context,
	term *queue.Term,
	requested map[string]bool,
) (time.Duration, error) {
	began := s.Store.Now()
	since := began.Add(-sweepWindow)
	cursor, err := s.Store.Queue.Get(ctx, cursorKey)
	if err != nil {
		return 0, err
	}
	if at, err := time.Parse(time.RFC3339Nano, string(cursor)); err == nil && at.After(since) {
		since = at
	}
	failed, err := s.App.FailedDeliveries(ctx, since)
	if err != nil {
		return 0, err
	}
	lately, err := s.requestedLately(ctx)
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
		arrived, err := s.Store.Queue.Arrived(ctx, d.GUID)
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
		case q.Attempt != d.ID && !requested[d.GUID]:
			ask = append(ask, d)
		case q.Attempt == d.ID && q.Unsure:
			next = unsureFor
		}
	}
	for some := range slices.Chunk(ask, requestAtOnce) {
		if err := term.Check(ctx); err != nil {
			return 0, err
		}
		errs := s.requestAll(ctx, some)
		for i, d := range some {
			if limited := (*github.LimitError)(nil); errors.As(errs[i], &limited) {
				continue
			}
			requested[d.GUID] = errs[i] == nil
			lately[d.GUID] = request{d.ID, s.Store.Now(), errs[i] != nil}
		}
		data, err := json.Marshal(lately)
		if err != nil {
			return 0, fmt.Errorf("reconcile: %w", err)
		}
		if err := errors.Join(append(errs, s.Store.Queue.Put(ctx, requestedKey, data,
			requestedFor))...); err != nil {
			return 0, err
		}
	}
	if settled.Before(since) {
		settled = since
	}
	return next, s.Store.Queue.Put(
		ctx,
		cursorKey,
		[]byte(settled.UTC().Format(time.RFC3339Nano)),
		sweepWindow,
	)
}

// requestedLately reads what was asked about and rests, by GUID.
func (s *Sweeper) requestedLately(ctx context.Context) (map[string]request, error) {
	lately := map[string]request{}
	data, err := s.Store.Queue.Get(ctx, requestedKey)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && json.Unmarshal(data, &lately) != nil {
		clear(lately) // a note of another release; a delivery may be asked for once more
	}
	maps.DeleteFunc(lately, func(_ string, q request) bool { return !q.rests(s.Store.Now()) })
	return lately, nil
}

// requestAll has GitHub send some deliveries again, and returns what went wrong with each.
func (s *Sweeper) requestAll(ctx context.Context, some []github.Delivery) []error {
	errs := make([]error, len(some))
	var all sync.WaitGroup
	for i, d := range some {
		all.Go(func() {
			// Those before it took their time, and it may have come meanwhile.
			arrived, err := s.Store.Queue.Arrived(ctx, d.GUID)
			if err != nil || arrived {
				errs[i] = err
				return
			}
			if errs[i] = s.App.Redeliver(ctx, d.ID); errs[i] == nil {
				s.metrics.redelivered.Inc()
				s.Log.Info(
					"delivery requested again",
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
