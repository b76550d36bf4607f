package github

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gh "github.com/google/go-github/v60/github"
)

func TestReadsAreRepeated(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"502": func(w http.ResponseWriter) { w.WriteHeader(502); fmt.Fprint(w, "<html>") },
		"503": func(w http.ResponseWriter) { w.WriteHeader(503) },
		"504": func(w http.ResponseWriter) { w.WriteHeader(504) },
		"cut": func(http.ResponseWriter) { cut() },
		"cut in the body": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"id":`)
			w.(http.Flusher).Flush()
			cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			var n atomic.Int32
			h.handle = func(w http.ResponseWriter, r *http.Request) {
				if n.Add(1) < tries {
					fail(w)
					return
				}
				answer(w, 200, map[string]any{"id": 9})
			}
			r, _, err := h.client().Repositories.Get(t.Context(), "o", "r")
			if err != nil || r.GetID() != 9 {
				t.Errorf("%v, %v after %d requests", r, err, n.Load())
			}
		})
	}
}

// A write is sent once; the error class says whether it may have succeeded.
func TestWritesAreNotRepeated(t *testing.T) {
	for name, x := range map[string]struct {
		fail   func(http.ResponseWriter)
		unsure bool
		kind   ErrorKind
	}{
		"502":             {func(w http.ResponseWriter) { w.WriteHeader(502) }, true, Retry},
		"500":             {func(w http.ResponseWriter) { w.WriteHeader(500) }, true, Retry},
		"cut":             {func(http.ResponseWriter) { cut() }, true, Retry},
		"cut in the body": {func(w http.ResponseWriter) { cutBody(w, 201) }, true, Retry},
		"422": {func(w http.ResponseWriter) {
			answer(w, 422, map[string]any{"message": "no"})
		}, false, Invalid},
		"404": {func(w http.ResponseWriter) {
			answer(w, 404, map[string]any{"message": "no"})
		}, false, Missing},
		"403": {func(w http.ResponseWriter) {
			answer(w, 403, map[string]any{"message": "Resource not accessible"})
		}, false, Forbidden},
		"429": {func(w http.ResponseWriter) { w.WriteHeader(429) }, false, After},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			var n atomic.Int32
			h.handle = func(w http.ResponseWriter, r *http.Request) { n.Add(1); x.fail(w) }
			_, _, err := h.client().Checks.CreateCheckRun(
				t.Context(),
				"o",
				"r",
				gh.CreateCheckRunOptions{Name: "compat", HeadSHA: "abc"},
			)
			if f := Classify(err); f.Kind != x.kind || f.Unsure != x.unsure || n.Load() != 1 {
				t.Errorf("%+v after %d requests, of %v", f, n.Load(), err)
			}
		})
	}
}

func cutBody(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100")
	w.WriteHeader(code)
	fmt.Fprint(w, `{"id":`)
	w.(http.Flusher).Flush()
	cut()
}

// A request that never left this machine may be sent again.
func TestUnsentWrite(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 201, map[string]any{"id": 1}) }
	c := h.client()
	if _, _, err := c.Repositories.Get(t.Context(), "o", "r"); err != nil {
		t.Fatal(err)
	}
	h.api.Close()
	c.api.base.(*http.Transport).CloseIdleConnections()
	_, _, err := c.Issues.CreateComment(
		t.Context(),
		"o",
		"r",
		1,
		&gh.IssueComment{Body: gh.String("x")},
	)
	if f := Classify(err); f.Kind != Retry || f.Unsure {
		t.Errorf("%+v of %v", f, err)
	}
}

func TestErrorBodiesAreBounded(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(422)
		fmt.Fprintf(w, `{"message":"%s"}`, strings.Repeat("a", 8<<20))
	}
	_, resp, err := h.client().Repositories.Get(t.Context(), "o", "r")
	if err == nil || len(err.Error()) > errorBytes*2 || resp == nil {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
	if f := Classify(err); f.Kind != Invalid || len(f.Reason) > 1000 {
		t.Errorf("%s, %d bytes of reason", f.Kind, len(f.Reason))
	}
}

func TestAtMostTenAtOnce(t *testing.T) {
	h := newHub(t)
	var now, most atomic.Int32
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		answer(w, 200, map[string]any{"id": 1})
	}
	c := h.client()
	done := make(chan error, 40)
	for range cap(done) {
		go func() { _, _, err := c.Repositories.Get(t.Context(), "o", "r"); done <- err }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if m := most.Load(); m > atOnce || m < 2 {
		t.Errorf("%d at once", m)
	}
}
