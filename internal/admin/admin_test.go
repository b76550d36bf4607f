package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestEndpoints(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "compat_test_total"}))
	h := New(Options{
		Metrics: registry,
		Health:  map[string]any{"sandbox": []string{"seccomp"}},
		Problems: func(text []byte) []string {
			if strings.Contains(string(text), "wiht") {
				return []string{".github/compat.yml:1: wiht: unknown key"}
			}
			return nil
		},
	})
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"GET", "/metrics", "", 200, "compat_test_total 0"},
		{"GET", "/healthz", "", 200, `"sandbox":["seccomp"]`},
		{"GET", "/debug/pprof/", "", 200, "goroutine"},
		{"GET", "/debug/pprof/heap", "", 200, "\x1f\x8b"},
		{"GET", "/debug/pprof/goroutine?debug=1", "", 200, "goroutine profile: total"},
		{"GET", "/debug/pprof/nothing", "", 404, ""},
		{"GET", "/debug/pprof/profile?seconds=1", "", 200, "\x1f\x8b"},
		{"GET", "/debug/pprof/profile?seconds=101", "", 400, "1 to 100"},
		{"PUT", "/validate", "platforms: []", 200, `{"valid":true,"problems":[]}`},
		{"PUT", "/validate", "wiht: 1", 422, "unknown key"},
		{"PUT", "/validate", strings.Repeat("#", maxValidate+1), 413, "larger than 1 MiB"},
		{"GET", "/validate", "", 405, ""},
		{"POST", "/webhook", "{}", 404, ""},
		{"GET", "/reports/x", "", 404, ""},
		{"GET", "/readyz", "", 404, ""},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %.200s", c.method, c.path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("PUT", "/validate", broken{}))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a body that breaks: %d", w.Code)
	}
}

// broken is a body whose connection fails while it is read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, http.ErrBodyReadAfterClose }
