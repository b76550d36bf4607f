package index

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

// Facts of a wheel whose content may change are kept for an hour.
func TestFactsAreCached(t *testing.T) {
	place, err := url.Parse("https://index.example.com/a-1.0-py3-none-any.whl")
	if err != nil {
		t.Fatal(err)
	}
	for digest, want := range map[string]time.Duration{"": time.Hour, "00ff": 30 * 24 * time.Hour} {
		key, kept := factsKey(file{url: place, sha256: digest})
		if kept != want || key == "" {
			t.Errorf("digest %q: %q is kept for %s, want %s", digest, key, kept, want)
		}
	}
}

// A page of more than ten minutes is not sent again if its ETag is still the same.
func TestPageIsConfirmed(t *testing.T) {
	one := build(t, "demo-1.0-py3-none-any.whl", "")
	two := build(t, "demo-2.0-py3-none-any.whl", "")
	s := serve(t, map[string][]wheel{"demo": {one}})
	tag := `"1"`
	s.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") != tag {
			return false
		}
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	i := s.index(t, nil)
	check := func(want []string, requests int, sent bool) {
		t.Helper()
		before := i.Cost().Bytes
		i.pages.drop("demo")
		if got, err := i.Versions(ctx, "demo", linux); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
		if n := len(s.takeRequests()); n != requests || (i.Cost().Bytes > before) != sent {
			t.Errorf("%d requests, %d bytes", n, i.Cost().Bytes-before)
		}
	}
	age := func() {
		t.Helper()
		var p cachedPage
		if !loadCached(ctx, i, i.pageKey("demo"), &p) || p.ETag != tag {
			t.Fatalf("cached: %+v", p)
		}
		p.At = p.At.Add(-PageLife)
		i.storeCached(ctx, i.pageKey("demo"), staleLife, p)
	}
	check([]string{"1.0"}, 1, true)
	check([]string{"1.0"}, 0, false)
	age()
	check([]string{"1.0"}, 1, false)
	check([]string{"1.0"}, 0, false) // it was confirmed a moment ago
	age()
	s.wheels["demo"], tag = []wheel{one, two}, `"2"`
	check([]string{"1.0", "2.0"}, 1, true)
}
