// Package store stores what jobs share, as blobs in the queue: verdicts, which subjects have the
// same commit, accepted findings and reports.
//
// All of it may be lost or expire. Then GitHub is read again, or work is repeated with the same
// result.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// TTL is how long verdicts and reports are stored.
const TTL = 30 * 24 * time.Hour

// Store reads and writes the stored values. All fields but Public are required.
type Store struct {
	Queue  *queue.Queue
	Log    *slog.Logger
	Now    func() time.Time
	Public *url.URL // root address of the service; nil = report pages have no address
}

// Get decodes the value of a key into to. If there is none, it is damaged, or its bucket does not
// respond, to is not changed.
func (s *Store) Get(ctx context.Context, key string, to any) error {
	data, err := s.Queue.Get(ctx, key)
	if errors.Is(err, queue.ErrBucket) {
		s.Log.Warn("a stored value can't be read", "key", key, "error", err)
		return nil
	}
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

// update replaces the value of a key by the result of change, without losing concurrent writes.
// The argument of change is the zero value if there is no value or it is damaged. change may be
// called several times. If it returns false the value is not changed.
func update[T any](
	ctx context.Context,
	s *Store,
	key string,
	ttl time.Duration,
	change func(T) (T, bool, error),
) error {
	var refused error // the error of change, which is returned unchanged
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

// Today returns the current day as YYYY-MM-DD in UTC.
func (s *Store) Today() string { return s.Now().UTC().Format(time.DateOnly) }
