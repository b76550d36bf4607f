package github

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	gh "github.com/google/go-github/v60/github"
)

func TestReadLimit(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	unix := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, x := range map[string]struct {
		code        int
		head        map[string]string
		body        string
		want        time.Duration // 0 = no limit
		unspecified bool
	}{
		"primary": {403, map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": unix(90 * time.Second)}, "", 90 * time.Second, false},
		"primary as 429": {429, map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": unix(90 * time.Second)}, "", 90 * time.Second, false},
		"primary, our clock ahead": {403, map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": unix(-30 * time.Second), "Date": date(-120 * time.Second)}, "",
			90 * time.Second, false},
		"primary long over": {403, map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": "1"}, "", 60 * time.Second, true},
		"primary in a year": {403, map[string]string{"X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": unix(365 * 24 * time.Hour)}, "", maxWait, false},
		"secondary": {403, map[string]string{"Retry-After": "4",
			"X-RateLimit-Remaining": "4990", "X-RateLimit-Reset": unix(time.Hour)}, "", 4 * time.Second,
			false},
		"secondary by message": {403, nil, `{"message":"You have exceeded a secondary rate limit."}`,
			time.Minute, true},
		"abuse by message": {403, nil,
			`{"message":"You have triggered an abuse detection mechanism."}`, time.Minute, true},
		"429 with Retry-After": {429, map[string]string{"Retry-After": "7"}, "", 7 * time.Second,
			false},
		"429 with a date": {429, map[string]string{"Retry-After": date(20 * time.Second),
			"Date": date(0)}, "", 20 * time.Second, false},
		"429 with zero": {429, map[string]string{"Retry-After": "0"}, "", time.Second, false},
		"429 with nonsense": {429, map[string]string{"Retry-After": "soon"}, "", time.Minute,
			true},
		"429 bare": {429, map[string]string{"X-RateLimit-Remaining": "4990",
			"X-RateLimit-Reset": unix(time.Hour)}, "", time.Minute, true},
		"403 of a permission": {403, map[string]string{"X-RateLimit-Remaining": "4990"},
			`{"message":"Resource not accessible by integration"}`, 0, false},
		"404": {404, map[string]string{"X-RateLimit-Remaining": "0"}, "", 0, false},
	} {
		h := http.Header{}
		for k, v := range x.head {
			h.Set(k, v)
		}
		l := readLimit(&http.Response{StatusCode: x.code, Header: h}, []byte(x.body), now)
		switch {
		case x.want == 0 && l != nil, x.want != 0 && l == nil:
			t.Errorf("%s: %v", name, l)
		case l != nil && (l.Until.Sub(now) != x.want || l.Unspecified != x.unspecified):
			t.Errorf("%s: %v %t, want %v %t", name, l.Until.Sub(now), l.Unspecified, x.want, x.unspecified)
		}
	}
}

// A rate limit stops all calls of one installation (reads, writes, GraphQL, downloads), and none
// of others.
func TestLimitPausesOneInstallation(t *testing.T) {
	h := newHub(t)
	limited := true
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if limited && r.URL.Path == "/repos/o/limited" {
			w.WriteHeader(429)
			return
		}
		answer(w, 200, map[string]any{"id": 1, "resources": map[string]any{}})
	}
	a := h.app(nil)
	one, _ := a.Installation(1)
	two, _ := a.Installation(2)
	start := time.Now()
	_, _, err := one.Repositories.Get(t.Context(), "o", "limited")
	var l *LimitError
	if !errors.As(err, &l) || l.Installation != 1 || l.Until.Before(start.Add(time.Minute)) ||
		l.Until.After(time.Now().Add(61*time.Second)) {
		t.Fatalf("bare 429: %v", err)
	}
	if f := Classify(err); f.Kind != After || f.After <= 0 || f.After > time.Minute {
		t.Errorf("%+v", f)
	}
	limited = false
	before := len(h.calls)
	_, _, e1 := one.Repositories.Get(t.Context(), "o", "other")
	_, _, e2 := one.Issues.CreateComment(t.Context(), "o", "r", 1, &gh.IssueComment{})
	e3 := one.GraphQL(t.Context(), "{viewer{login}}", nil, nil)
	_, _, e4 := one.Download(
		t.Context(),
		"repos/o/r/actions/artifacts/1/zip",
		&bytes.Buffer{},
		DownloadOptions{},
	)
	for i, err := range []error{e1, e2, e3, e4} {
		if !errors.As(err, &l) || Classify(err).Kind != After {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if len(h.calls) != before {
		t.Errorf("calls during the limit: %v", h.calls[before:])
	}
	if _, _, err := one.RateLimit.Get(t.Context()); err != nil {
		t.Errorf("/rate_limit: %v", err)
	}
	if _, _, err := two.Repositories.Get(t.Context(), "o", "other"); err != nil {
		t.Errorf("another installation: %v", err)
	}
	a.Forget(1)
	one, _ = a.Installation(1)
	if _, _, err := one.Repositories.Get(t.Context(), "o", "other"); !errors.As(err, &l) {
		t.Errorf("a new client forgot the limit: %v", err)
	}
}

func TestLimitEnds(t *testing.T) {
	h := newHub(t)
	n := 0
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Retry-After", "1")
			answer(w, 403, map[string]any{"message": "secondary rate limit"})
			return
		}
		answer(w, 200, map[string]any{"id": 1})
	}
	c := h.client()
	_, _, err := c.Repositories.Get(t.Context(), "o", "r")
	time.Sleep(Classify(err).After)
	if _, _, err := c.Repositories.Get(t.Context(), "o", "r"); err != nil {
		t.Error(err)
	}
}

// Rate limits without a time last a minute, then longer. Concurrent ones count once, and a
// success resets the wait.
func TestLimitsWithoutATimeGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLimiter(1, nil)
		vague := func() time.Duration {
			return time.Until(
				g.block(t.Context(), &LimitError{Unspecified: true, Until: time.Now().Add(time.Minute)}).Until,
			)
		}
		if a, b := vague(), vague(); a != time.Minute || b != time.Minute {
			t.Errorf("two at once: %v, %v", a, b)
		}
		want := []time.Duration{2, 4, 8, 15, 15}
		for _, w := range want {
			time.Sleep(time.Until(g.blocked()))
			if d := vague(); d != w*time.Minute {
				t.Errorf("%v, want %d minutes", d, w)
			}
		}
		time.Sleep(time.Until(g.blocked()))
		g.open(t.Context())
		if d := vague(); d != time.Minute {
			t.Errorf("after a good answer: %v", d)
		}
	})
}

func TestCommentsHaveAMinimumInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newLimiter(1, nil)
		start := time.Now()
		var at []time.Duration
		for range 200 {
			if err := g.space(context.Background()); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
		}
		if at[contentBurst-1] != 0 {
			t.Errorf("the first %d took %v", contentBurst, at[contentBurst-1])
		}
		for i := range at {
			if j := i + 80; j < len(at) && at[j]-at[i] <= time.Minute {
				t.Fatalf("more than 80 in a minute, from %v", at[i])
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		g, start := newLimiter(1, nil), time.Now()
		var l *LimitError
		for i := range 501 {
			if err := g.space(context.Background()); (err != nil) != (i == 500) ||
				err != nil && !errors.As(err, &l) {
				t.Fatalf("comment %d: %v", i, err)
			}
		}
		if !l.Content || l.Until.Sub(start) != time.Hour || g.check(false) != nil {
			t.Errorf("after 500 in an hour: %+v, other calls: %v", l, g.check(false))
		}
		time.Sleep(time.Until(l.Until))
		if err := g.space(context.Background()); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
	for path, want := range map[string]bool{"/repos/o/r/issues/1/comments": true,
		"/repos/o/r/pulls/1/reviews": true, "/repos/o/r/check-runs": false, "/graphql": false} {
		if creates(path) != want {
			t.Errorf("creates(%s) is %t", path, !want)
		}
	}
}

func FuzzReadLimit(f *testing.F) {
	f.Add(429, "4", "0", "1700000000", "", "rate limit")
	f.Add(403, "Sat, 01 Mar 2025 12:00:20 GMT", "", "-1", "Sat, 01 Mar 2025 12:00:00 GMT", "")
	f.Fuzz(func(t *testing.T, code int, retry, remaining, reset, date, body string) {
		now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
		h := http.Header{}
		for k, v := range map[string]string{"Retry-After": retry, "X-RateLimit-Remaining": remaining,
			"X-RateLimit-Reset": reset, "Date": date} {
			h.Set(k, v)
		}
		l := readLimit(&http.Response{StatusCode: code, Header: h}, []byte(body), now)
		if code == 429 && l == nil {
			t.Error("429 is always a limit")
		}
		if l != nil && (l.Until.Before(now.Add(time.Second)) || l.Until.After(now.Add(maxWait))) {
			t.Errorf("until %v", l.Until.Sub(now))
		}
	})
}

func TestClassifyForeignErrors(t *testing.T) {
	reset := gh.Rate{Reset: gh.Timestamp{Time: time.Now().Add(30 * time.Second)}}
	wait := 5 * time.Second
	for name, x := range map[string]struct {
		err  error
		want ErrorKind
	}{
		"nil":        {nil, ""},
		"go-github":  {&gh.RateLimitError{Rate: reset, Response: &http.Response{}}, After},
		"abuse":      {&gh.AbuseRateLimitError{RetryAfter: &wait, Response: &http.Response{}}, After},
		"unknown":    {errors.New("x"), Retry},
		"network":    {&url.Error{Op: "Get", Err: errors.New("reset")}, Retry},
		"too many":   {ErrTooMany, Invalid},
		"no request": {&gh.ErrorResponse{Response: &http.Response{StatusCode: 410}}, Gone},
		"deadline":   {context.DeadlineExceeded, Retry},
		"digest":     {&DownloadError{Err: ErrDigest}, Invalid},
		"expired":    {&DownloadError{Err: ErrExpired}, Gone},
		"blob gone":  {&DownloadError{Err: ErrRefused, Status: 404}, Missing},
		"graphql":    {&GraphQLError{[]GraphQLFault{{Type: "NOT_FOUND"}}}, Missing},
	} {
		f := Classify(x.err)
		if f.Kind != x.want || (f.Reason == "") != (x.err == nil) ||
			f.Kind == After && f.After < time.Second {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
