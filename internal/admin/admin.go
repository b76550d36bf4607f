// Package admin serves the operator's endpoints, on an address of their own (COMPAT_ADMIN_ADDR):
//
//	GET /metrics         Prometheus' text format
//	PUT /validate        validates the text of a .github/compat.yml
//	GET /healthz         the layers of the sandbox, as JSON
//	GET /debug/pprof/    profiles of the Go runtime
//
// Nothing here is authenticated: the address must only be reachable for operators. The public port
// serves none of these.
package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Options is what New needs.
type Options struct {
	Metrics prometheus.Gatherer
	// Problems returns the problems of a .github/compat.yml, a line each; none: it is valid.
	Problems func(text []byte) []string
	// Health is encoded as the answer of /healthz.
	Health any
}

// maxValidate is more than a configuration may have, so that the parser reports the size.
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
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// validity is the answer of PUT /validate.
type validity struct {
	Valid    bool     `json:"valid"`
	Problems []string `json:"problems"` // a line each: file, line, key, problem and what to do
}

// validate returns 200 for a valid configuration, 422 for an invalid one.
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
	_ = json.NewEncoder(w).Encode(v) // the client has closed the connection
}
