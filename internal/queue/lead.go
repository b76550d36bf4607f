package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/compat-app/compat/internal/sleep"
	"time"
)

// Term is the time for which this process leads. Another takes over when the process falls silent
// for the length that Lead was given.
type Term struct {
	Number int64 // higher than that of every term of the name before

	q           *Queue
	name, token string
}

// Check returns nil while the term lasts, as the server sees it, and ErrLost after it. Call it
// before each write to the outside.
func (t *Term) Check(ctx context.Context) error {
	n, err := t.q.number(ctx, "lead", t.name, t.token, 0)
	if err == nil && n != t.Number {
		return fmt.Errorf("queue: lead %s: %w", t.name, ErrLost)
	}
	return err
}

// Lead calls f while this process, and no other on the same queue, leads the name. It asks for the
// lead until it has it, renews it while f runs, and gives it up when f returns; then it asks again,
// until ctx ends. The context of f ends with the term: when the lead is lost, when the store has
// not answered for so long that another may have it, and with ctx.
//
// An embedded queue has one process, which leads at once.
func (q *Queue) Lead(
	ctx context.Context,
	name string,
	length time.Duration,
	f func(ctx context.Context, t *Term),
) {
	for ctx.Err() == nil {
		t := &Term{q: q, name: name, token: rand.Text()}
		// A lead counts from before it was asked for: this process believes in it no longer than
		// the server does.
		asked := time.Now()
		n, err := q.number(ctx, "lead", name, t.token, length.Milliseconds())
		if err == nil && n > 0 {
			t.Number = n
			t.run(ctx, asked, length, f)
			continue
		}
		if err != nil && ctx.Err() == nil {
			q.log.Debug("the lead could not be asked for", "name", name, "error", err)
		}
		_ = sleep.For(ctx, length/4) // the loop looks at ctx
	}
}

// run calls f and renews the term beside it.
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
			n, err := t.q.number(termCtx, "lead", t.name, t.token, length.Milliseconds())
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
	// Where this fails, the lead runs out.
	if _, err := t.q.number(context.WithoutCancel(ctx), "lead", t.name, t.token, -1); err != nil {
		t.q.log.Debug("the lead could not be given up", "name", t.name, "error", err)
	}
}
