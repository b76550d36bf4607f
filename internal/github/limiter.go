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

// limiter delays the calls of one installation to stay within GitHub's rate limits. What it knows
// is shared with the other replicas; their clocks have to agree to a few seconds.
type limiter struct {
	installation int64
	slots        chan struct{}
	shared       *shared // nil = this is the only replica

	mu       sync.Mutex
	limit    limit
	comments comments
}

func newLimiter(installation int64, s *shared) *limiter {
	return &limiter{installation: installation, slots: make(chan struct{}, atOnce), shared: s}
}

// limit is the rate limit of an installation.
type limit struct {
	Until time.Time `json:"until"` // no call before this time
	// consecutive rate limit responses without a time
	Unspecified int `json:"unspecified,omitempty"`
}

// limitTTL is longer than any limit.
const limitTTL = 2 * time.Hour

// add returns the limit after a rate limit response. One without a time blocks for a minute,
// doubled for each consecutive one, as GitHub requires.
func (m limit) add(l *LimitError, now time.Time) limit {
	until := l.Until
	if l.Unspecified {
		if now.Before(m.Until) { // responses to concurrent calls count once
			until = m.Until
		} else {
			until = now.Add(min(unspecifiedWait<<min(m.Unspecified, 4), unspecifiedMax))
			m.Unspecified++
		}
	}
	if until.After(m.Until) {
		m.Until = until
	}
	return m
}

// comments are the comments and reviews of an installation. Times are Unix milliseconds.
type comments struct {
	Due  int64   `json:"due"`  // when the content so far would be due at one per contentEvery
	Hour []int64 `json:"hour"` // times of content in the last hour, oldest first
}

// take counts one more. It returns how long to wait before it, or if the hourly limit is used up,
// the time until when.
func (c comments) take(now time.Time) (next comments, wait time.Duration, full time.Time) {
	ms := now.UnixMilli()
	hour := slices.DeleteFunc(slices.Clone(c.Hour), func(at int64) bool {
		return ms-at >= time.Hour.Milliseconds()
	})
	if len(hour) >= contentHour {
		return c, 0, time.UnixMilli(hour[0]).Add(time.Hour)
	}
	due := max(c.Due, ms) + contentEvery.Milliseconds()
	wait = time.Duration(due-ms)*time.Millisecond - contentBurst*contentEvery
	return comments{Due: due, Hour: append(hour, ms)}, wait, time.Time{}
}

func (g *limiter) key(of string) string { return fmt.Sprintf("github/%s/%d", of, g.installation) }

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

// check returns a *LimitError during a rate limit that this replica knows.
func (g *limiter) check(free bool) error {
	if until := g.blocked(); !free && time.Now().Before(until) {
		return &LimitError{Installation: g.installation, Until: until}
	}
	return nil
}

// checkAll returns a *LimitError during a rate limit that any replica knows.
func (g *limiter) checkAll(ctx context.Context, free bool) error {
	err := g.check(free)
	if free || err != nil {
		return err
	}
	var known limit
	if g.shared.read(ctx, g.key("limit"), &known) {
		g.mu.Lock()
		if known.Until.After(g.limit.Until) {
			g.limit.Until = known.Until
		}
		g.limit.Unspecified = known.Unspecified
		g.mu.Unlock()
	}
	return g.check(false)
}

func (g *limiter) blocked() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit.Until
}

// block records a rate limit response.
func (g *limiter) block(ctx context.Context, l *LimitError) *LimitError {
	now := time.Now()
	known, ok := update(ctx, g.shared, g.key("limit"), limitTTL, func(m limit) (limit, bool) {
		next := m.add(l, now)
		return next, next != m
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		known = g.limit.add(l, now)
	}
	if known.Until.Before(g.limit.Until) {
		known.Until = g.limit.Until
	}
	g.limit = known
	return &LimitError{Installation: g.installation, Until: g.limit.Until, Unspecified: l.Unspecified}
}

// open records a successful response.
func (g *limiter) open(ctx context.Context) {
	g.mu.Lock()
	reset := g.limit.Unspecified > 0 && !time.Now().Before(g.limit.Until)
	if reset {
		g.limit.Unspecified = 0
	}
	g.mu.Unlock()
	if reset {
		update(ctx, g.shared, g.key("limit"), limitTTL, func(m limit) (limit, bool) {
			if m.Unspecified == 0 || time.Now().Before(m.Until) {
				return m, false
			}
			m.Unspecified = 0
			return m, true
		})
	}
}

// space waits until another comment or review is allowed. Once the hourly limit is used up it
// returns a *LimitError with Content set instead of waiting.
func (g *limiter) space(ctx context.Context) error {
	if err := g.check(false); err != nil {
		return err
	}
	var wait time.Duration
	var full time.Time
	now := time.Now()
	take := func(c comments) (comments, bool) {
		c, wait, full = c.take(now)
		return c, full.IsZero()
	}
	known, ok := update(ctx, g.shared, g.key("comments"), time.Hour, take)
	g.mu.Lock()
	if !ok {
		known, _ = take(g.comments)
	}
	g.comments = known
	g.mu.Unlock()
	if !full.IsZero() {
		return &LimitError{Installation: g.installation, Until: full, Content: true}
	}
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

// spent returns the limit after a response that used the last call of the hour; nil if calls
// remain.
// The limits of searches and GraphQL are separate and not handled here.
func spent(resp *http.Response, now time.Time) *LimitError {
	h := resp.Header
	of := h.Get("X-RateLimit-Resource")
	if h.Get("X-RateLimit-Remaining") != "0" || of != "" && of != "core" {
		return nil
	}
	l := readLimit(&http.Response{StatusCode: http.StatusTooManyRequests, Header: h}, nil, now)
	if l.Unspecified {
		return nil
	}
	return l
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
