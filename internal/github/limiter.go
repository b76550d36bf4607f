package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/internal/sleep"
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

// limiter delays the calls of one installation to stay within GitHub's rate limits.
type limiter struct {
	installation int64
	slots        chan struct{}

	mu          sync.Mutex
	until       time.Time   // no call before
	unspecified int         // consecutive limit answers without a time
	ahead       time.Time   // when the content allowed so far would be due at one per contentEvery
	hour        []time.Time // of the content of the last hour, the oldest first
}

func newLimiter(installation int64) *limiter {
	return &limiter{installation: installation, slots: make(chan struct{}, atOnce)}
}

// enter waits for a slot. Free calls (reading the rate limit itself) pass while a limit holds.
func (g *limiter) enter(ctx context.Context, free bool) error {
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

func (g *limiter) leave() { <-g.slots }

// check fails with a *LimitError while a limit holds.
func (g *limiter) check(free bool) error {
	if until := g.blocked(); !free && time.Now().Before(until) {
		return &LimitError{Installation: g.installation, Until: until}
	}
	return nil
}

func (g *limiter) blocked() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until
}

// block records a limit answer. One without a time blocks for a minute, doubled while they repeat,
// as GitHub requires.
func (g *limiter) block(l *LimitError) *LimitError {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	until := l.Until
	if l.Unspecified {
		if now.Before(g.until) { // answers to calls that were on their way together count once
			until = g.until
		} else {
			until = now.Add(min(unspecifiedWait<<min(g.unspecified, 4), unspecifiedMax))
			g.unspecified++
		}
	}
	if until.After(g.until) {
		g.until = until
	}
	return &LimitError{Installation: g.installation, Until: g.until, Unspecified: l.Unspecified}
}

// open records that GitHub answers again.
func (g *limiter) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !time.Now().Before(g.until) {
		g.unspecified = 0
	}
}

// space waits until another comment or review is allowed. Once the hourly limit is used up it
// returns a *LimitError with Content set instead of waiting.
func (g *limiter) space(ctx context.Context) error {
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
	if wait > 0 && sleep.For(ctx, wait) != nil {
		return context.Cause(ctx)
	}
	return nil
}

const (
	// a limit answer that names no time (docs.github.com: wait at least one minute, then longer)
	unspecifiedWait = time.Minute
	unspecifiedMax  = 15 * time.Minute // and no longer
	// primary limits are per hour; a later time is a mistake of somebody's clock
	maxWait = 65 * time.Minute
)

// LimitError reports that GitHub limits an installation: no call is made before Until; with Content
// set, no comment and no review.
type LimitError struct {
	Installation int64 // 0: the App itself
	Until        time.Time
	Unspecified  bool // GitHub named no time
	Content      bool // our own limit below GitHub's, for comments and reviews only
}

func (e *LimitError) Error() string {
	who := "the App"
	if e.Installation != 0 {
		who = fmt.Sprintf("installation %d", e.Installation)
	}
	return fmt.Sprintf(
		"github: %s is rate limited until %s",
		who,
		e.Until.UTC().Format(time.RFC3339),
	)
}

// readLimit reads a limit answer; nil when a 403 is about something else. go-github v60 knows
// neither 429 nor a 403 without its documentation_url. The order is GitHub's: Retry-After, then the
// reset of an empty budget, then a minute.
func readLimit(resp *http.Response, body []byte, now time.Time) *LimitError {
	h := resp.Header
	empty := h.Get("X-RateLimit-Remaining") == "0"
	text := strings.ToLower(string(body))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
	case resp.StatusCode != http.StatusForbidden:
		return nil
	case empty, h.Get("Retry-After") != "":
	case strings.Contains(text, "rate limit"), strings.Contains(text, "abuse detection"):
	default:
		return nil
	}
	// Both times are GitHub's; what counts is how far away they were by GitHub's own clock.
	theirs := now
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		theirs = d
	}
	wait := time.Duration(-1)
	if s := h.Get("Retry-After"); s != "" {
		if n, err := strconv.ParseInt(s, 10, 32); err == nil && n >= 0 {
			wait = time.Duration(n) * time.Second
		} else if at, err := http.ParseTime(s); err == nil {
			wait = at.Sub(theirs)
		}
	}
	if reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); wait < 0 && empty &&
		err == nil {
		wait = time.Unix(reset, 0).Sub(theirs)
	}
	if wait < 0 {
		return &LimitError{Until: now.Add(unspecifiedWait), Unspecified: true}
	}
	return &LimitError{Until: now.Add(min(max(wait, time.Second), maxWait))}
}
