// Package reportpage serves the stored reports as web pages.
package reportpage

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
)

// Blobs is what New needs of the queue.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, error) // nil, nil: there is nothing
}

// reportID is exactly what store.NewReportID makes. The id is compared as a string: another spelling of
// the same bytes is another id.
var reportID = lazyregexp.New(`^[0-9a-f]{32}$`)

// New serves /reports/ID from the stored reports, and their style sheet. Whoever has the link may
// read: the id can't be guessed, and the page asks browsers and caches to keep it to themselves.
func New(blobs Blobs, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", report.CSP)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Robots-Tag", "noindex")
		id := strings.TrimPrefix(r.URL.Path, "/reports/")
		if id == "style.css" {
			h.Set("Content-Type", "text/css; charset=utf-8")
			_, _ = w.Write(report.Style())
			return
		}
		h.Set("Cache-Control", "private, no-store")
		if !reportID.MatchString(id) {
			http.NotFound(w, r)
			return
		}
		data, err := blobs.Get(r.Context(), store.ReportKey(id))
		if err != nil {
			log.Warn("a report can't be read", "error", err)
			http.Error(w, "The report can't be read at the moment.", http.StatusServiceUnavailable)
			return
		}
		var stored analyzer.Report
		if data == nil || json.Unmarshal(data, &stored) != nil {
			http.NotFound(w, r)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		if err := report.Page(w, &stored); err != nil {
			log.Warn("a report can't be shown", "error", err)
		}
	})
}
