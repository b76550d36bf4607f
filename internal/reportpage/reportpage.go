// Package reportpage serves stored reports as web pages.
//
// Anyone with the link can read a page, and rendering a report with thousands of findings needs a
// hundred times its size in memory. Therefore one page is rendered at a time, to a file that is
// then served to any number of clients with a few KiB of memory each. A request that waits too
// long for other pages gets status 503 with Retry-After.
package reportpage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
)

const (
	// renderWait is how long a request waits while other pages are rendered.
	renderWait = 10 * time.Second

	// maxPages and pageTTL limit the cache of rendered pages.
	maxPages = 32
	pageTTL  = 10 * time.Minute

	// readTime is the time limit for sending a page.
	readTime = 5 * time.Minute
)

// Blobs is the part of the queue that New uses.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, error) // nil, nil = there is no value
}

// reportID matches the IDs of store.NewReportID. IDs are compared as strings, so another spelling
// of the same bytes is another ID.
var reportID = lazyregexp.New(`^[0-9a-f]{32}$`)

var (
	errBusy    = errors.New("the server is busy rendering other pages")
	errMissing = errors.New("this report does not exist")
)

type pages struct {
	blobs  Blobs
	log    *slog.Logger
	dir    string
	render chan struct{} // full while a page is rendered

	mu   sync.Mutex
	made map[string]time.Time // ID -> time when its page was rendered
}

// New returns a handler for /reports/ID and the style sheet. Access needs no login: the ID cannot
// be guessed, and the headers prevent indexing and shared caching. Rendered pages are cached in a
// subdirectory of dir, which is emptied first.
func New(blobs Blobs, dir string, log *slog.Logger) (http.Handler, error) {
	dir = filepath.Join(dir, "pages")
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("reportpage: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("reportpage: %w", err)
	}
	return &pages{
		blobs:  blobs,
		log:    log,
		dir:    dir,
		render: make(chan struct{}, 1),
		made:   map[string]time.Time{},
	}, nil
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
	file, err := p.open(r.Context(), id)
	switch {
	case errors.Is(err, errMissing):
		http.NotFound(w, r)
		return
	case err != nil:
		if !errors.Is(err, errBusy) {
			p.log.Warn("a report can't be shown", "error", err)
		}
		h.Set("Retry-After", "10")
		http.Error(
			w,
			"The report can't be shown at the moment. Try again in some seconds.",
			http.StatusServiceUnavailable,
		)
		return
	}
	defer file.Close()
	// Fails for a server without deadlines, which is fine.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readTime))
	h.Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, file)
}

// open opens the rendered page of a report.
func (p *pages) open(ctx context.Context, id string) (*os.File, error) {
	path := filepath.Join(p.dir, id)
	if file, err := os.Open(path); err == nil {
		return file, nil
	}
	ctx, cancel := context.WithTimeout(ctx, renderWait)
	defer cancel()
	select {
	case p.render <- struct{}{}:
		defer func() { <-p.render }()
	case <-ctx.Done():
		return nil, errBusy
	}
	if file, err := os.Open(path); err == nil { // rendered for another request
		return file, nil
	}
	data, err := p.blobs.Get(ctx, store.ReportKey(id))
	if err != nil {
		return nil, err
	}
	var stored analyzer.Report
	if data == nil || json.Unmarshal(data, &stored) != nil {
		return nil, errMissing
	}
	if err := p.write(path, &stored); err != nil {
		os.Remove(path)
		return nil, err
	}
	p.trim(id)
	return os.Open(path)
}

// write renders a page to a temporary file and renames it, so that partial pages are not served.
func (p *pages) write(path string, r *analyzer.Report) error {
	part := path + ".part"
	file, err := os.Create(part)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	out := bufio.NewWriter(file)
	if err := errors.Join(report.Page(out, r), out.Flush(), file.Close()); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// trim removes expired pages, and the oldest if there are too many. Open files stay readable.
func (p *pages) trim(newest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[newest] = time.Now()
	for len(p.made) > 0 {
		oldest := newest
		for id, at := range p.made {
			if at.Before(p.made[oldest]) {
				oldest = id
			}
		}
		if len(p.made) <= maxPages && time.Since(p.made[oldest]) < pageTTL {
			return
		}
		delete(p.made, oldest)
		os.Remove(filepath.Join(p.dir, oldest))
	}
}
