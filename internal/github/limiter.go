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
	atOnce = 10 // requests of one installation; GitHub allows 100 for all replicas together

	// GitHub allows 80 comments and reviews a minute and recommends one second between them
	// (docs.github.com: rate limits for the REST API). A burst keeps a single pull request fast.
	contentBurst = 10
	contentEvery = time.Second

	contentHour = 500 // GitHub's limit for an hour
)

// limiter delays the calls of one installation to stay within GitHub's rate limits.
type limiter struct {
	installation int64
	slots        chan struct{}

	mu          sync.Mutex
	until       time.Time   // no call before this time
	unspecified int         // consecutive rate limit responses without a time
	due         time.Time   // time when the content so far would be due at one per contentEvery
	hour        []time.Time // times of content in the last hour, oldest first
}

func newLimiter(installation int64) *limiter {
	return &limiter{installation: installation, slots: make(chan struct{}, atOnce)}
}

// enter waits for a slot. Free calls (reading the rate limit itself) are allowed during a rate
// limit.
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

// check returns a *LimitError during a rate limit.
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

// block records a rate limit response. One without a time blocks for a minute, doubled for each
// consecutive one, as GitHub requires.
func (g *limiter) block(l *LimitError) *LimitError {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	until := l.Until
	if l.Unspecified {
		if now.Before(g.until) { // responses to concurrent calls count once
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

// open records a successful response.
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
	if g.due.Before(now) {
		g.due = now
	}
	g.due = g.due.Add(contentEvery)
	wait := g.due.Sub(now) - contentBurst*contentEvery
	g.mu.Unlock()
	if wait > 0 && sleep.For(ctx, wait) != nil {
		return context.Cause(ctx)
	}
	return nil
}

const (
	// a limit answer that names no time (docs.github.com: wait at least one minute, then longer)
	unspecifiedWait = time.Minute
	unspecifiedMax  = 15 * time.Minute // and no longer than this
	// primary limits are per hour; a later time is due to a wrong clock
	maxWait = 65 * time.Minute
)

// LimitError reports a rate limit of an installation: no call is made before Until. With Content
// set, only comments and reviews are blocked.
type LimitError struct {
	Installation int64 // 0 = the App itself
	Until        time.Time
	Unspecified  bool // GitHub gave no time
	Content      bool // the hourly limit of this package, for comments and reviews only
}

func (e *LimitError) Error() string {
	who := "the App"
	if e.Installation != 0 {
		who = fmt.Sprintf("installation %d", e.Installation)
	}
	return fmt.Sprintf("github: %s is rate limited until %s", who, e.Until.UTC().Format(time.RFC3339))
}

// readLimit parses a rate limit response; nil if a 403 has another reason. go-github v60 knows
// neither 429 nor a 403 without documentation_url. As GitHub documents, Retry-After comes first,
// then X-RateLimit-Reset if no requests remain, then one minute.
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
	// Both times are by GitHub's clock, so only the difference from its Date is used.
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
