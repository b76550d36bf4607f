package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// MaxBlob is the most bytes that Put takes: the largest report there is has a few thousand findings
// of a kilobyte or two.
const MaxBlob = 16 << 20

// blobPrefix has no hash tag: blobs are touched one at a time, so in a Cluster they may be
// anywhere.
const blobPrefix = "compat:blob:"

// Put stores a value (a report, the facts of an object) for ttl, which must be positive. Embedded,
// it is kept on disk only. ErrTooLarge over MaxBlob.
func (q *Queue) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := checkName(key); err != nil {
		return fmt.Errorf("queue: put: key %w", err)
	}
	if len(value) > MaxBlob {
		return fmt.Errorf(
			"queue: put %s: a value of %d bytes is %w, which takes %d",
			key,
			len(value),
			ErrTooLarge,
			MaxBlob,
		)
	}
	if ttl <= 0 {
		return fmt.Errorf("queue: put %s: a time to live of %s; it must be positive", key, ttl)
	}
	if q.ctx.Err() != nil {
		return fmt.Errorf("queue: put %s: %w", key, ErrClosed)
	}
	var err error
	switch {
	case q.o.ReadOnly:
		err = ErrReadOnly
	case q.journal != nil:
		err = q.journal.put(key, value, time.Now().Add(ttl))
	default:
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err = q.rdb.Set(ctx, blobPrefix+key, value, ttl).Err()
	}
	if err != nil {
		return fmt.Errorf("queue: put %s: %w", key, err)
	}
	return nil
}

// Get returns what Put stored; nil, nil when there is nothing (any more).
func (q *Queue) Get(ctx context.Context, key string) ([]byte, error) {
	if checkName(key) != nil {
		return nil, nil
	}
	if q.ctx.Err() != nil {
		return nil, fmt.Errorf("queue: get %s: %w", key, ErrClosed)
	}
	if q.journal != nil {
		value, err := q.journal.get(key, time.Now())
		if err != nil {
			return nil, fmt.Errorf("queue: get %s: %w", key, err)
		}
		return value, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	value, err := q.rdb.Get(ctx, blobPrefix+key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("queue: get %s: %w", key, err)
	}
	return value, nil
}
