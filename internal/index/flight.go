package index

import (
	"context"
	"sync"
	"time"
)

// flights merges concurrent calls for the same key into one, and caches successful results for a
// while.
type flights[T any] struct {
	mu      sync.Mutex
	running map[string]*flight[T]
	kept    map[string]cached[T]
	most    int // maximum number of cached results; 0 = no cache
	keep    time.Duration
}

type flight[T any] struct {
	done    chan struct{}
	value   T
	err     error
	dropped bool // the context of the running call was canceled, so a waiting caller tries itself
}

type cached[T any] struct {
	value T
	until time.Time
}

func newFlights[T any](most int, keep time.Duration) *flights[T] {
	return &flights[T]{
		running: map[string]*flight[T]{},
		kept:    map[string]cached[T]{},
		most:    most,
		keep:    keep,
	}
}

// do returns a cached result or waits for a running call with the same key. Otherwise it calls fn
// in the caller's goroutine.
func (f *flights[T]) do(
	ctx context.Context,
	key string,
	fn func(context.Context) (T, error),
) (T, error) {
	for {
		f.mu.Lock()
		if k, ok := f.kept[key]; ok && time.Now().Before(k.until) {
			f.mu.Unlock()
			return k.value, nil
		}
		if c, ok := f.running[key]; ok {
			f.mu.Unlock()
			select {
			case <-c.done:
			case <-ctx.Done():
				var none T
				return none, ctx.Err()
			}
			if c.dropped {
				continue
			}
			return c.value, c.err
		}
		c := &flight[T]{done: make(chan struct{}), dropped: true}
		f.running[key] = c
		f.mu.Unlock()
		return f.run(ctx, key, c, fn)
	}
}

// drop removes a cached result.
func (f *flights[T]) drop(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kept, key)
}

func (f *flights[T]) run(
	ctx context.Context,
	key string,
	c *flight[T],
	fn func(context.Context) (T, error),
) (T, error) {
	defer func() { // also if fn panics, so that no caller waits forever
		f.mu.Lock()
		delete(f.running, key)
		f.mu.Unlock()
		close(c.done)
	}()
	c.value, c.err = fn(ctx)
	c.dropped = c.err != nil && ctx.Err() != nil
	if c.err == nil && f.most > 0 {
		f.mu.Lock()
		for k := range f.kept { // in any order, because pages are cheap to fetch again
			if len(f.kept) < f.most {
				break
			}
			delete(f.kept, k)
		}
		f.kept[key] = cached[T]{c.value, time.Now().Add(f.keep)}
		f.mu.Unlock()
	}
	return c.value, c.err
}
