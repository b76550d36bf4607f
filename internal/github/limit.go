package github

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// a limit answer that names no time (docs.github.com: wait at least one minute, then longer)
	vagueWait = time.Minute
	vagueMost = 15 * time.Minute // and no longer
	// primary limits are per hour; a later time is a mistake of somebody's clock
	longest = 65 * time.Minute
)

// LimitError says that GitHub limits an installation. No call of it is made before Until, with
// Content no comment and no review.
type LimitError struct {
	Installation int64 // 0: the App itself
	Until        time.Time
	Vague        bool // GitHub named no time
	Content      bool // it is ours, to stay below GitHub's, and for comments and reviews only
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
		return &LimitError{Until: now.Add(vagueWait), Vague: true}
	}
	return &LimitError{Until: now.Add(min(max(wait, time.Second), longest))}
}
