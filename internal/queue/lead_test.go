package queue

import (
	"context"
	"sync"
	"testing"
	"time"
)

func testLead(t *testing.T, q *Queue) {
	const length = 200 * time.Millisecond
	terms := make(chan *Term)
	var wait sync.WaitGroup
	lead := func(ctx context.Context) {
		wait.Go(func() {
			q.Lead(ctx, "sweeper", length, func(ctx context.Context, t *Term) {
				terms <- t
				<-ctx.Done()
			})
		})
	}
	first, stop := context.WithCancel(t.Context())
	defer stop()
	lead(first)
	a := <-terms
	must(t, a.Check(t.Context()))
	second, stopSecond := context.WithCancel(t.Context())
	defer stopSecond()
	lead(second)
	select {
	case b := <-terms:
		t.Fatalf("terms %d and %d at once", a.Number, b.Number)
	case <-time.After(3 * length): // it is renewed
	}
	stop() // gives it up
	b := <-terms
	if b.Number <= a.Number {
		t.Errorf("term %d after term %d", b.Number, a.Number)
	}
	wantErr(t, "the first term", a.Check(t.Context()), ErrLost)

	// A leader that somebody else took the place of ends by itself.
	must(t, q.rdb.HSet(t.Context(), prefix+"lead:sweeper", "token", "another").Err())
	wantErr(t, "the second term", b.Check(t.Context()), ErrLost)
	c := <-terms // the other is silent, so its lead runs out
	if c.Number <= b.Number {
		t.Errorf("term %d after term %d", c.Number, b.Number)
	}
	stopSecond()
	wait.Wait()

	// Nobody gave this one up.
	n, err := q.number(t.Context(), "lead", "sweeper", "gone", length.Milliseconds())
	must(t, err)
	third, stopThird := context.WithCancel(t.Context())
	lead(third)
	if d := <-terms; d.Number <= n {
		t.Errorf("term %d after term %d", d.Number, n)
	}
	stopThird()
	wait.Wait()
}
