package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/sleep"
)

// MaxBlob is the limit of a value in Put, in bytes. A report of 100,000 findings, as package store
// stores it, has a few MB.
const MaxBlob = 16 << 20

// blobPrefix has no hash tag: blobs are used one at a time, so they can be in any slot of a
// Cluster.
const blobPrefix = "compat:blob:"

// Put stores a value (a report, the facts of an object) for ttl, which must be positive. An
// embedded queue stores it on disk only. It returns ErrTooLarge above MaxBlob.
//
// With Options.Bucket a large value is an object of the bucket, see bucket.go. If the bucket does
// not respond it is stored here for up to a day.
func (q *Queue) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := checkPut(key, value, ttl); err != nil {
		return err
	}
	if q.ctx.Err() != nil {
		return fmt.Errorf("queue: put %s: %w", key, ErrClosed)
	}
	value, ttl = q.objects.move(ctx, value, ttl)
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

func checkPut(key string, value []byte, ttl time.Duration) error {
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
	return nil
}

// Get returns a value stored by Put; nil, nil if there is none or it has expired. It returns
// ErrBucket if the value is an object of the bucket, which does not respond.
func (q *Queue) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := q.stored(ctx, key)
	if err == nil {
		value, err = q.objects.resolve(ctx, value)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: get %s: %w", key, err)
	}
	return value, nil
}

// stored returns what is stored in Redis or the journal: a value, or the name of an object.
func (q *Queue) stored(ctx context.Context, key string) ([]byte, error) {
	if checkName(key) != nil {
		return nil, nil
	}
	if q.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if q.journal != nil {
		return q.journal.get(key, time.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	value, err := q.rdb.Get(ctx, blobPrefix+key).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return value, err
}

// Update replaces a value by the result of change, for ttl. The argument of change is nil if there
// is no value. If another process writes the value meanwhile, change is called again with the new
// value. Put must not be used for such a key. If change returns an error, Update returns it and
// stores nothing; if it returns nil, the value is not changed.
func (q *Queue) Update(
	ctx context.Context,
	key string,
	ttl time.Duration,
	change func(old []byte) ([]byte, error),
) error {
	// Goroutines of one process take turns, so that only other processes can interfere.
	unlock := q.updates.lock(key)
	defer unlock()
	for try := 0; ; try++ {
		old, err := q.stored(ctx, key)
		if err != nil {
			return fmt.Errorf("queue: update %s: %w", key, err)
		}
		value, err := change(old)
		if err != nil || value == nil {
			return err
		}
		if q.journal != nil {
			if err := checkPut(key, value, ttl); err != nil {
				return err
			}
			return q.journal.put(key, value, time.Now().Add(ttl))
		}
		swapped, err := q.swap(ctx, key, old, value, ttl)
		if err != nil || swapped {
			return err
		}
		if err := sleep.For(ctx, rand.N(time.Duration(min(try+1, 10))*10*time.Millisecond)); err != nil {
			return fmt.Errorf("queue: update %s: %w", key, err)
		}
	}
}

// swapScript sets KEYS[1] to ARGV[2] for ARGV[3] milliseconds (0 = for ever) if its value is
// ARGV[1] ("" = no value). It returns 1, or 0 if the value differs.
var swapScript = lazy.Value[*redis.Script]{New: func() *redis.Script {
	return redis.NewScript(`
local now = redis.call('GET', KEYS[1])
if (now or '') ~= ARGV[1] then
  return 0
end
if ARGV[3] == '0' then
  redis.call('SET', KEYS[1], ARGV[2])
else
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
end
return 1
`)
}}

func (q *Queue) swap(
	ctx context.Context,
	key string,
	old, value []byte,
	ttl time.Duration,
) (bool, error) {
	if err := checkPut(key, value, ttl); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	keys := []string{blobPrefix + key}
	n, err := swapScript.Get().Run(ctx, q.rdb, keys, old, value, ttl.Milliseconds()).Int()
	if err != nil {
		return false, fmt.Errorf("queue: update %s: %w", key, err)
	}
	return n == 1, nil
}

// keyLocks are mutexes by key.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	sync.Mutex
	users int // goroutines that hold the lock or wait for it
}

func (l *keyLocks) lock(key string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*keyLock{}
	}
	k := l.held[key]
	if k == nil {
		k = &keyLock{}
		l.held[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, key)
		}
	}
}
