package index

import (
	"context"
	"sync"
	"time"
)

// flights lets callers that ask for the same thing at once share one answer, and keeps good answers
// for a while.
type flights[T any] struct {
	mu     sync.Mutex
	flying map[string]*flight[T]
	kept   map[string]kept[T]
	most   int // answers kept; 0 none
	keep   time.Duration
}

type flight[T any] struct {
	done    chan struct{}
	value   T
	err     error
	dropped bool // the one who asked went away: the next one asks himself
}

type kept[T any] struct {
	value T
	until time.Time
}

func newFlights[T any](most int, keep time.Duration) *flights[T] {
	return &flights[T]{
		flying: map[string]*flight[T]{},
		kept:   map[string]kept[T]{},
		most:   most,
		keep:   keep,
	}
}

// do calls fn in the caller's goroutine, unless a kept answer is there or another call for the key
// is under way.
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
		if c, ok := f.flying[key]; ok {
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
		f.flying[key] = c
		f.mu.Unlock()
		return f.fly(ctx, key, c, fn)
	}
}

func (f *flights[T]) fly(
	ctx context.Context,
	key string,
	c *flight[T],
	fn func(context.Context) (T, error),
) (T, error) {
	defer func() { // also when fn panics: nobody may wait for ever
		f.mu.Lock()
		delete(f.flying, key)
		f.mu.Unlock()
		close(c.done)
	}()
	c.value, c.err = fn(ctx)
	c.dropped = c.err != nil && ctx.Err() != nil
	if c.err == nil && f.most > 0 {
		f.mu.Lock()
		for k := range f.kept { // any one goes: pages are cheap to ask for again
			if len(f.kept) < f.most {
				break
			}
			delete(f.kept, k)
		}
		f.kept[key] = kept[T]{c.value, time.Now().Add(f.keep)}
		f.mu.Unlock()
	}
	return c.value, c.err
}
