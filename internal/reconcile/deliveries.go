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
	// sweepWindow is how long GitHub keeps deliveries for redelivery (docs: redelivering
	// webhooks).
	sweepWindow = 3 * 24 * time.Hour

	// sweepOverlap is how far a search overlaps the previous one, because GitHub may list
	// deliveries late.
	sweepOverlap = 10 * time.Minute

	// requestedFor is how long a requested attempt is not requested again, also by the next
	// leader: it may be under way, or not be listed yet.
	requestedFor = 10 * time.Minute

	// unsureFor is the same for a request that GitHub did not answer, so that it is unknown
	// whether it was accepted. After that time GitHub's list shows it.
	unsureFor = 15 * time.Second
)

// cursorKey is the key of the time before which all deliveries have arrived.
const cursorKey = "sweeper/deliveries"

// requestedKey is the key of the attempts that were requested recently.
const requestedKey = "sweeper/asked"

// request is a request to redeliver an attempt.
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

// requestAtOnce is the number of concurrent requests to redeliver, which are stored together.
const requestAtOnce = 8

// redeliver requests the deliveries that failed, because GitHub does not retry by itself. Each
// GUID is requested at most once by a process, and each attempt by one process, unless GitHub did
// not answer. Deliveries that compat rejected, or has stored meanwhile, are not requested.
//
// GitHub's list is read back to the oldest delivery that has not arrived, regardless of which
// process found it.
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
	slices.Reverse(failed) // oldest first
	next := sweepEvery
	var ask []github.Delivery
	for _, d := range failed {
		// It may have arrived since GitHub returned the list: redelivered by a person, or
		// requested by the previous leader.
		arrived, err := s.Store.Queue.Arrived(ctx, d.Installation, d.GUID)
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

// requestedLately returns the recent requests by GUID.
func (s *Sweeper) requestedLately(ctx context.Context) (map[string]request, error) {
	lately := map[string]request{}
	data, err := s.Store.Queue.Get(ctx, requestedKey)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 && json.Unmarshal(data, &lately) != nil {
		clear(lately) // written by another release; a delivery may be requested twice
	}
	maps.DeleteFunc(lately, func(_ string, q request) bool { return !q.rests(s.Store.Now()) })
	return lately, nil
}

// requestAll requests some deliveries concurrently, and returns their errors.
func (s *Sweeper) requestAll(ctx context.Context, some []github.Delivery) []error {
	errs := make([]error, len(some))
	var all sync.WaitGroup
	for i, d := range some {
		all.Go(func() {
			// It may have arrived while the previous ones were requested.
			arrived, err := s.Store.Queue.Arrived(ctx, d.Installation, d.GUID)
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
