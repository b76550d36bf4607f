package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/compat-app/compat/internal/sleep"
	"time"
)

// Term is a period in which this process is the leader. Another process takes over when this one
// has not renewed the term for the length given to Lead.
type Term struct {
	Number int64 // increases with each term of a name

	q           *Queue
	name, token string
}

// Check returns nil while the term lasts according to the server, and ErrLost afterwards. Call it
// before each write to GitHub.
func (t *Term) Check(ctx context.Context) error {
	n, err := t.q.number(ctx, prefix, "lead", t.name, t.token, 0)
	if err == nil && n != t.Number {
		return fmt.Errorf("queue: lead %s: %w", t.name, ErrLost)
	}
	return err
}

// Lead calls f while this process is the leader for a name, of which there is at most one per
// queue. It tries until it is elected, renews the term while f runs, and resigns when f returns;
// then it tries again, until ctx ends. The context of f ends with the term: when the lead is
// lost, when the store has not responded for so long that another process may lead, and with ctx.
//
// The only process of an embedded queue is elected at once.
func (q *Queue) Lead(
	ctx context.Context,
	name string,
	length time.Duration,
	f func(ctx context.Context, t *Term),
) {
	for ctx.Err() == nil {
		t := &Term{q: q, name: name, token: rand.Text()}
		// The term starts before the request, so that this process does not lead longer than the
		// server allows.
		asked := time.Now()
		n, err := q.number(ctx, prefix, "lead", name, t.token, length.Milliseconds())
		if err == nil && n > 0 {
			t.Number = n
			t.run(ctx, asked, length, f)
			continue
		}
		if err != nil && ctx.Err() == nil {
			q.log.Debug("the lead could not be requested", "name", name, "error", err)
		}
		_ = sleep.For(ctx, length/4) // the loop checks ctx
	}
}

// run calls f and renews the term concurrently.
func (t *Term) run(
	ctx context.Context,
	asked time.Time,
	length time.Duration,
	f func(ctx context.Context, t *Term),
) {
	termCtx, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		defer cancel()
		for sleep.For(termCtx, length/4) == nil {
			now := time.Now()
			n, err := t.q.number(termCtx, prefix, "lead", t.name, t.token, length.Milliseconds())
			if err == nil {
				asked = now
			}
			if err == nil && n != t.Number || errors.Is(err, ErrClosed) ||
				time.Since(asked) > length*3/4 {
				return
			}
		}
	}()
	f(termCtx, t)
	cancel()
	<-renewed
	// If this fails, the term expires.
	if _, err := t.q.number(
		context.WithoutCancel(ctx), prefix, "lead", t.name, t.token, -1,
	); err != nil {
		t.q.log.Debug("the lead could not be given up", "name", t.name, "error", err)
	}
}
