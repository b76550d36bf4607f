package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// CountFork counts an analysis for a fork of a repository. If share analyses were counted within
// the window, it returns false and does not count this one.
func (s *Store) CountFork(
	ctx context.Context,
	repository, fork int64,
	share int,
	window time.Duration,
) (within bool, _ error) {
	key := fmt.Sprintf("crowd/%d/%d", repository, fork) // the key of earlier releases
	err := update(ctx, s, key, window, func(times []time.Time) ([]time.Time, bool, error) {
		now := s.Now()
		times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= window })
		within = len(times) < share
		return append(times, now.UTC()), within, nil
	})
	return within, err
}
