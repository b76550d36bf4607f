// Package reportpage serves the stored reports as web pages.
//
// Anybody who has the link may read a page, and a report of thousands of findings takes a hundred
// times its bytes while it is rendered. So one page is rendered at a time, to a file, from which
// any number of readers, slow ones too, get it with a few KiB of memory each. A reader who comes
// while other pages are rendered gets 503 with Retry-After.
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
	// renderWait is how long a reader waits for other pages to be rendered.
	renderWait = 10 * time.Second

	// maxPages and pageTTL bound the rendered pages that are kept.
	maxPages = 32
	pageTTL  = 10 * time.Minute

	// readTime is how long a reader may take for a page.
	readTime = 5 * time.Minute
)

// Blobs is what New needs of the queue.
type Blobs interface {
	Get(ctx context.Context, key string) ([]byte, error) // nil, nil: there is nothing
}

// reportID is exactly what store.NewReportID makes. The id is compared as a string: another
// spelling of the same bytes is another id.
var reportID = lazyregexp.New(`^[0-9a-f]{32}$`)

var (
	errBusy    = errors.New("the server is busy rendering other pages")
	errMissing = errors.New("this report does not exist")
)

type pages struct {
	blobs  Blobs
	log    *slog.Logger
	dir    string
	render chan struct{} // holds one while a page is rendered

	mu   sync.Mutex
	made map[string]time.Time // id -> when its page was rendered
}

// New serves /reports/ID from the stored reports, and their style sheet. Whoever has the link may
// read: the id can't be guessed, and the page asks browsers and caches to keep it to themselves.
// Rendered pages are kept for some minutes in a folder of dir, which is emptied first.
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
	// A server without deadlines has no SetWriteDeadline to extend.
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
	if file, err := os.Open(path); err == nil { // rendered for the reader before
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

// write renders a page to a file of another name first, so that nobody reads a half of it.
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

// trim removes the pages that are too old, and the oldest when there are too many. Whoever reads
// one has it open.
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
