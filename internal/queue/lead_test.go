package queue

import (
	"context"
	"sync"
	"testing"
	"time"
)

// leaders are goroutines that compete for one name.
type leaders struct {
	q     *Queue
	terms chan *Term // receives each term at its start
	wait  sync.WaitGroup
}

// lead competes for terms of the given length until stop.
func (l *leaders) lead(ctx context.Context, length time.Duration) (stop context.CancelFunc) {
	ctx, stop = context.WithCancel(ctx)
	l.wait.Go(func() {
		l.q.Lead(ctx, "sweeper", length, func(ctx context.Context, t *Term) {
			select {
			case l.terms <- t:
				<-ctx.Done()
			case <-ctx.Done():
			}
		})
	})
	return stop
}

func testLead(t *testing.T, q *Queue) {
	const length = 400 * time.Millisecond
	l := &leaders{q: q, terms: make(chan *Term)}
	stop, stopOther := l.lead(t.Context(), length), l.lead(t.Context(), length)
	a := <-l.terms
	// The term is renewed. On a machine that was stopped for the length of a term it is lost and
	// another leader elected, but there are never two leaders.
	for try := 0; ; try++ {
		var next *Term
		select {
		case next = <-l.terms:
		case <-time.After(3 * length):
		}
		if next == nil {
			break
		}
		wantErr(t, "the term before", a.Check(t.Context()), ErrLost)
		if a = next; try == 20 {
			t.Fatal("no term lasts")
		}
	}

	// A leader whose token was replaced stops, and the replaced token expires.
	must(t, q.rdb.HSet(t.Context(), prefix+"lead:sweeper", "token", "another").Err())
	wantErr(t, "the term that was taken", a.Check(t.Context()), ErrLost)
	if b := <-l.terms; b.Number <= a.Number {
		t.Errorf("term %d after term %d", b.Number, a.Number)
	}
	stop()
	stopOther()
	l.wait.Wait()

	// A leader that stops resigns; otherwise the next one would have to wait for an hour.
	stop = l.lead(t.Context(), time.Hour)
	c := <-l.terms
	stop()
	l.wait.Wait()
	wantErr(t, "the term that was given up", c.Check(t.Context()), ErrLost)
	stop = l.lead(t.Context(), time.Hour)
	if d := <-l.terms; d.Number <= c.Number {
		t.Errorf("term %d after term %d", d.Number, c.Number)
	}
	stop()
	l.wait.Wait()
}
