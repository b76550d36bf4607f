// Package admin serves endpoints for operators on a separate address (COMPAT_ADMIN_ADDR):
//
//	GET /metrics         Prometheus text format
//	PUT /validate        validates the text of a .github/compat.yml
//	GET /healthz         the layers of the sandbox, as JSON
//	GET /debug/pprof/    profiles of the Go runtime
//
// Nothing is authenticated: only operators may reach the address. The public port serves none of
// these.
package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options configures New.
type Options struct {
	Metrics prometheus.Gatherer
	// Problems returns the problems of a .github/compat.yml, one per line; nil = valid.
	Problems func(text []byte) []string
	// Health is the JSON response of /healthz.
	Health any
}

// maxValidate is above the limit of a configuration, so that the parser reports the size.
const maxValidate = 1 << 20

// New returns the handler of the operator's endpoints.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("PUT /validate", func(w http.ResponseWriter, r *http.Request) {
		code, v := validate(http.MaxBytesReader(w, r.Body, maxValidate), o.Problems)
		write(w, code, v)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, o.Health)
	})
	mux.HandleFunc("GET /debug/pprof/{$}", func(w http.ResponseWriter, _ *http.Request) {
		for _, p := range pprof.Profiles() {
			fmt.Fprintln(w, p.Name(), p.Count())
		}
		fmt.Fprintln(w, "profile")
	})
	mux.HandleFunc("GET /debug/pprof/{name}", profile)
	mux.HandleFunc("GET /debug/pprof/profile", processorTime)
	return mux
}

// profile writes a profile of runtime/pprof in the format of go tool pprof, or as text with
// ?debug=1. It replaces net/http/pprof, which adds handlers to http.DefaultServeMux and costs
// every command memory at start.
func profile(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.NotFound(w, r)
		return
	}
	debug, _ := strconv.Atoi(r.FormValue("debug"))
	_ = p.WriteTo(w, debug) // fails only if the client closed the connection
}

// maxSeconds limits a CPU profile: the server allows 2 minutes for a response.
const maxSeconds = 100

// processorTime writes a CPU profile of the next ?seconds=N, 30 by default.
func processorTime(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(cmp.Or(r.FormValue("seconds"), "30"))
	if err != nil || seconds < 1 || seconds > maxSeconds {
		http.Error(w, fmt.Sprintf("seconds must be 1 to %d", maxSeconds), http.StatusBadRequest)
		return
	}
	if err := pprof.StartCPUProfile(w); err != nil {
		http.Error(w, "another CPU profile is being written", http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	select {
	case <-r.Context().Done():
	case <-time.After(time.Duration(seconds) * time.Second):
	}
}

// validity is the response of PUT /validate.
type validity struct {
	Valid    bool     `json:"valid"`
	Problems []string `json:"problems"` // one line each: file, line, key, problem and what to do
}

// validate returns status 200 for a valid configuration and 422 for an invalid one.
func validate(body io.Reader, problems func([]byte) []string) (int, validity) {
	text, err := io.ReadAll(body)
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge,
			validity{Problems: []string{"the body is larger than 1 MiB; send a .github/compat.yml"}}
	case err != nil:
		return http.StatusBadRequest, validity{Problems: []string{"the body could not be read"}}
	}
	if found := problems(text); len(found) > 0 {
		return http.StatusUnprocessableEntity, validity{Problems: found}
	}
	return http.StatusOK, validity{Valid: true, Problems: []string{}}
}

func write(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client closed the connection
}
