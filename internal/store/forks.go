package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// CountFork counts an analysis for a fork of a repository. false: share were counted within the
// window already, and this one was not.
func (s *Store) CountFork(
	ctx context.Context,
	repository, fork int64,
	share int,
	window time.Duration,
) (bool, error) {
	s.heads.Lock()
	defer s.heads.Unlock()
	key := fmt.Sprintf("crowd/%d/%d", repository, fork) // the name is that of earlier releases
	var times []time.Time
	if err := s.Get(ctx, key, &times); err != nil {
		return false, err
	}
	now := s.Now()
	times = slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= window })
	if len(times) >= share {
		return false, nil
	}
	return true, s.Put(ctx, key, append(times, now.UTC()), window)
}
