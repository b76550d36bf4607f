// Package store keeps what jobs need of each other, in the queue's blobs: the verdicts on subjects
// and which subjects share a commit, the findings that people accepted, and the reports.
//
// It knows keys and values, and nothing of GitHub. Everything in it may be lost or expire: then
// GitHub is asked again, or the same work is done again with the same result.
package store

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// TTL is how long verdicts and reports are kept.
const TTL = 30 * 24 * time.Hour

// Store reads and writes the values of all jobs. All fields but Public are required.
type Store struct {
	Queue  *queue.Queue
	Log    *slog.Logger
	Now    func() time.Time
	Public *url.URL // of the service; nil: report pages have no address
}

// Get decodes the value of a key into to. Where there is none, or one that can't be decoded, to
// stays as it is.
func (s *Store) Get(ctx context.Context, key string, to any) error {
	data, err := s.Queue.Get(ctx, key)
	if err != nil {
		return worker.Internal(fmt.Errorf("store: read %s: %w", key, err))
	}
	if len(data) > 0 && json.Unmarshal(data, to) != nil {
		s.Log.Warn("a stored value is damaged", "key", key)
	}
	return nil
}

// Put stores a value as JSON for ttl.
func (s *Store) Put(ctx context.Context, key string, value any, ttl time.Duration) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = s.Queue.Put(ctx, key, data, ttl)
	}
	if err != nil {
		return worker.Internal(fmt.Errorf("store: write %s: %w", key, err))
	}
	return nil
}

// update replaces the value of a key by what change makes of it, without losing what other jobs and
// processes write. change gets the zero value where there is none or one that can't be decoded, and
// may be called several times; false leaves the value as it is.
func update[T any](
	ctx context.Context,
	s *Store,
	key string,
	ttl time.Duration,
	change func(T) (T, bool, error),
) error {
	var refused error // of change, which is passed on as it is
	err := s.Queue.Update(ctx, key, ttl, func(old []byte) ([]byte, error) {
		var value T
		if len(old) > 0 && json.Unmarshal(old, &value) != nil {
			s.Log.Warn("a stored value is damaged", "key", key)
			value = *new(T)
		}
		value, changed, err := change(value)
		if refused = err; err != nil || !changed {
			return nil, err
		}
		return json.Marshal(value)
	})
	if refused != nil {
		return refused
	}
	if err != nil {
		return worker.Internal(fmt.Errorf("store: update %s: %w", key, err))
	}
	return nil
}

// Today is the current day, YYYY-MM-DD in UTC.
func (s *Store) Today() string { return s.Now().UTC().Format(time.DateOnly) }
