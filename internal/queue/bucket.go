package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Bucket stores objects outside of Redis.
type Bucket interface {
	Put(ctx context.Context, name string, value []byte) error
	Get(ctx context.Context, name string) ([]byte, error) // nil, nil = there is no object
}

// ErrBucket reports that the bucket does not respond.
var ErrBucket = errors.New("the bucket of COMPAT_BLOBS does not respond")

const (
	// largeValue is the least size of an object, in bytes. Smaller values cost more requests than
	// memory.
	largeValue = 4 << 10

	bucketTimeout = 3 * time.Second  // of one request, so that no verdict is late
	bucketPause   = 10 * time.Second // without requests after one failed
	bucketOutage  = 24 * time.Hour   // how long a value is stored that could not be moved
)

// objectMark begins a stored value that is the name of an object. JSON and archives begin with
// other bytes.
var objectMark = []byte("\x00object:")

// objectDays are the lifetimes of objects. The name begins with the lifetime, "31d/", so that a
// lifecycle rule of the bucket for each of them deletes its objects after that many days.
var objectDays = []int{1, 7, 31, 91, 366}

// objects moves large values to a bucket. nil does not. The name of an object is the digest of its
// content, so it is never changed, and a bucket with the same value twice has it once.
type objects struct {
	bucket Bucket
	log    *slog.Logger

	mu     sync.Mutex
	resume time.Time // no request before that
}

// move stores a large value in the bucket, and returns what to store instead. If that fails, it
// returns the value and a shorter lifetime.
func (o *objects) move(
	ctx context.Context,
	value []byte,
	ttl time.Duration,
) ([]byte, time.Duration) {
	if o == nil || len(value) < largeValue && !bytes.HasPrefix(value, objectMark) {
		return value, ttl
	}
	days := objectDays[len(objectDays)-1]
	for _, d := range objectDays {
		if ttl <= time.Duration(d)*24*time.Hour-time.Hour {
			days = d
			break
		}
	}
	name := fmt.Sprintf("%dd/%x", days, sha256.Sum256(value))
	err := o.request(ctx, func(ctx context.Context) error {
		return o.bucket.Put(ctx, name, value)
	})
	if err != nil {
		return value, min(ttl, bucketOutage)
	}
	return append(bytes.Clone(objectMark), name...), ttl
}

// resolve returns the value for what is stored; nil if its object was deleted.
func (o *objects) resolve(ctx context.Context, stored []byte) (value []byte, _ error) {
	name, is := bytes.CutPrefix(stored, objectMark)
	if !is {
		return stored, nil
	}
	if o == nil {
		return nil, fmt.Errorf("%w: COMPAT_BLOBS is not set", ErrBucket)
	}
	err := o.request(ctx, func(ctx context.Context) (err error) {
		value, err = o.bucket.Get(ctx, string(name))
		return err
	})
	return value, err
}

// request makes a request, unless one failed lately.
func (o *objects) request(ctx context.Context, f func(context.Context) error) error {
	o.mu.Lock()
	paused := time.Now().Before(o.resume)
	o.mu.Unlock()
	if paused {
		return ErrBucket
	}
	limited, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	err := f(limited)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		o.mu.Lock()
		o.resume = time.Now().Add(bucketPause)
		o.mu.Unlock()
		o.log.Warn("the bucket does not respond; large values are stored in the queue for a day",
			"error", err)
	}
	return fmt.Errorf("%w: %w", ErrBucket, err)
}
