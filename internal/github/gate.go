package github

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	atOnce = 10 // requests of one installation; GitHub allows 100 to all replicas together

	// GitHub allows 80 comments and reviews a minute and advises a second between them
	// (docs.github.com: rate limits for the REST API). A few may go at once, so that a single pull
	// request isn't slow.
	contentBurst = 10
	contentEvery = time.Second

	contentHour = 500 // and 500 an hour
)

// gate holds back the calls of one installation.
type gate struct {
	installation int64
	slots        chan struct{}

	mu    sync.Mutex
	until time.Time   // no call before
	vague int         // limit answers in a row that named no time
	ahead time.Time   // when the content already allowed would be due at one a contentEvery
	hour  []time.Time // of the content of the last hour, the oldest first
}

func newGate(installation int64) *gate {
	return &gate{installation: installation, slots: make(chan struct{}, atOnce)}
}

// enter waits for one of the slots. free calls (the limit's own state) pass while a limit holds.
func (g *gate) enter(ctx context.Context, free bool) error {
	if err := g.check(free); err != nil {
		return err
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) leave() { <-g.slots }

// check fails with a *LimitError while a limit holds.
func (g *gate) check(free bool) error {
	if until := g.blocked(); !free && time.Now().Before(until) {
		return &LimitError{Installation: g.installation, Until: until}
	}
	return nil
}

func (g *gate) blocked() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

// block remembers a limit answer. Answers without a time last a minute and double while they
// repeat, as GitHub asks.
func (g *gate) block(l *LimitError) *LimitError {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	until := l.Until
	if l.Vague {
		if now.Before(g.until) { // answers to calls that were on their way together count once
			until = g.until
		} else {
			until = now.Add(min(vagueWait<<min(g.vague, 4), vagueMost))
			g.vague++
		}
	}
	if until.After(g.until) {
		g.until = until
	}
	return &LimitError{Installation: g.installation, Until: g.until, Vague: l.Vague}
}

// open notes that GitHub answers again.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !time.Now().Before(g.until) {
		g.vague = 0
	}
}

// space waits until another comment or review is due. When the hour has had enough of them it
// doesn't wait but fails with a *LimitError for them alone.
func (g *gate) space(ctx context.Context) error {
	if err := g.check(false); err != nil {
		return err
	}
	g.mu.Lock()
	now := time.Now()
	g.hour = slices.DeleteFunc(g.hour, func(t time.Time) bool { return now.Sub(t) >= time.Hour })
	if len(g.hour) >= contentHour {
		until := g.hour[0].Add(time.Hour)
		g.mu.Unlock()
		return &LimitError{Installation: g.installation, Until: until, Content: true}
	}
	g.hour = append(g.hour, now)
	if g.ahead.Before(now) {
		g.ahead = now
	}
	g.ahead = g.ahead.Add(contentEvery)
	wait := g.ahead.Sub(now) - contentBurst*contentEvery
	g.mu.Unlock()
	if wait > 0 && !sleep(ctx, wait) {
		return context.Cause(ctx)
	}
	return nil
}
