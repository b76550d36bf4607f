package github

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Cached responses are revalidated with their ETag, blobs are not requested again, and
// installations share nothing.
func TestAnswersAreRevalidated(t *testing.T) {
	h := newHub(t)
	version, statuses := 1, []int{}
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf(`W/"%d"`, version)
		w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(100-len(statuses)))
		if r.Header.Get("If-None-Match") == tag {
			statuses = append(statuses, 304)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		statuses = append(statuses, 200)
		w.Header().Set("ETag", tag)
		answer(
			w,
			200,
			map[string]any{
				"sha":      fmt.Sprint("v", version),
				"number":   version,
				"title":    strings.Repeat("x", version),
				"content":  "eA==",
				"encoding": "base64",
			},
		)
	}
	a := h.app(nil)
	get := func(installation int64) string {
		c, err := a.Installation(installation)
		if err != nil {
			t.Fatal(err)
		}
		p, resp, err := c.PullRequests.Get(t.Context(), "o", "r", 1)
		if err != nil || resp.StatusCode != 200 || resp.Rate.Remaining != 101-len(statuses) {
			t.Fatalf("%v, %d, %d remain after %d", err, resp.StatusCode, resp.Rate.Remaining, len(statuses))
		}
		return p.GetTitle()
	}
	for i, step := range []struct {
		installation int64
		version      int
		status       int
	}{{5, 1, 200}, {5, 1, 304}, {6, 1, 200}, {5, 2, 200}, {5, 2, 304}, {6, 2, 200}} {
		version = step.version
		if got := get(step.installation); len(got) != version || len(statuses) != i+1 ||
			statuses[i] != step.status {
			t.Errorf("step %d: %q, %v", i, got, statuses)
		}
	}
	before := len(statuses)
	c, _ := a.Installation(5)
	for range 3 {
		if b, _, err := c.Git.GetBlob(t.Context(), "o", "r", strings.Repeat("a", 40)); err != nil ||
			b.GetContent() != "eA==" {
			t.Fatalf("%v, %v", b, err)
		}
	}
	if len(statuses) != before+1 {
		t.Errorf("a blob was requested %d times", len(statuses)-before)
	}
}

// The cache is bounded: large responses are not cached, and the least recently used is evicted.
func TestMemoryIsBounded(t *testing.T) {
	m := newETagCache()
	for i := range 200 {
		m.keep(&kept{key: fmt.Sprint(i), body: make([]byte, etagEntryBytes)})
	}
	if m.bytes > etagCacheBytes || len(m.at) != m.order.Len() || m.at["199"] == nil ||
		m.at["0"] != nil {
		t.Errorf("%d bytes in %d entries", m.bytes, len(m.at))
	}

	h := newHub(t)
	calls, large := 0, strings.Repeat("x", etagEntryBytes+1)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if calls++; r.Header.Get("If-None-Match") != "" {
			t.Error("an answer that is too large was kept")
		}
		w.Header().Set("ETag", `"1"`)
		answer(w, 200, map[string]any{"title": large})
	}
	c := h.client()
	for range 2 {
		if p, _, err := c.PullRequests.Get(t.Context(), "o", "r", 1); err != nil ||
			p.GetTitle() != large {
			t.Fatalf("%d bytes, %v", len(p.GetTitle()), err)
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
