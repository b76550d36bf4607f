// Package reportpage serves stored reports as web pages.
//
// Anyone with the link can read a page, and some forms of a report with 100,000 findings need
// hundreds of MB. Therefore one is rendered at a time, to a file that is then served to any number
// of clients with a few KiB of memory each. A request that waits too
// long for other pages gets status 503 with Retry-After.
package reportpage

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
	"github.com/compat-app/compat/internal/queue"
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
	render chan struct{}   // full while a page is rendered
	forms  map[string]form // by the end of the address
	rules  []report.Rule

	mu   sync.Mutex
	made map[string]time.Time // file -> time when it was rendered
}

// New returns a handler for /, for /reports/: pages, downloads as JSON, SARIF and Markdown, the
// search in findings, and the style sheet; and for /rules/, the documentation of the rules. Access
// needs no login: the ID cannot be guessed, and the headers prevent indexing and shared caching.
// Rendered pages are cached in a subdirectory of dir, which is emptied first. rules are all rules.
func New(
	blobs Blobs,
	dir string,
	rules []report.Rule,
	log *slog.Logger,
) (http.Handler, error) {
	dir = filepath.Join(dir, "pages")
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("reportpage: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("reportpage: %w", err)
	}
	return gzhttp.GzipHandler(&pages{
		blobs:  blobs,
		log:    log,
		dir:    dir,
		render: make(chan struct{}, 1),
		forms:  forms(rules),
		rules:  rules,
		made:   map[string]time.Time{},
	}), nil
}

// form is a form of a report that is written to a file.
type form struct {
	kind  string // Content-Type
	write func(w io.Writer, id string, a *store.Archive) error
}

// forms returns the forms of a report by the end of their addresses.
func forms(rules []report.Rule) map[string]form {
	whole := func(write func(io.Writer, *analyzer.Report) error) func(
		io.Writer, string, *store.Archive) error {
		return func(w io.Writer, _ string, a *store.Archive) error {
			r, err := a.Report()
			if err != nil {
				return err
			}
			return write(w, r)
		}
	}
	return map[string]form{
		"": {"text/html; charset=utf-8", func(w io.Writer, id string, a *store.Archive) error {
			v, err := a.View()
			if err != nil {
				return err
			}
			return report.Page(w, v, id)
		}},
		".json": {"application/json", whole(report.JSON)},
		".sarif": {"application/sarif+json", whole(func(w io.Writer, r *analyzer.Report) error {
			return report.SARIF(w, r, rules, nil)
		})},
		".md": {"text/markdown; charset=utf-8", whole(func(w io.Writer, r *analyzer.Report) error {
			return report.Markdown(w, r, nil)
		})},
	}
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", report.CSP())
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	name, inside := strings.CutPrefix(r.URL.Path, "/reports/")
	id, end := name, ""
	if len(name) > idLength {
		id, end = name[:idLength], name[idLength:]
	}
	form, known := p.forms[end]
	switch {
	case r.URL.Path == "/":
		p.message(w, http.StatusOK, "",
			"checks binary artifacts",
			"This is the service of a GitHub App that finds symbols which the dynamic loader will not "+
				"resolve. Its results are check runs on GitHub, which link to their reports here.")
	case inside && name == "style.css":
		h.Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(report.Style())
	case strings.HasPrefix(r.URL.Path, "/rules/"):
		p.rule(w, r, strings.TrimPrefix(r.URL.Path, "/rules/"))
	case !inside:
		p.missing(w, r.URL.Path, "There is no page at this address. Check runs on GitHub link to "+
			"their reports.")
	case reportID.MatchString(id) && end == "/findings":
		p.findings(w, r, id)
	case reportID.MatchString(id) && known:
		p.form(w, r, id, end, form)
	default:
		p.missing(w, r.URL.Path, "The address is incomplete. Follow the link in the check run on GitHub.")
	}
}

// rule serves the documentation of a rule, or the list of all rules if id is empty.
func (p *pages) rule(w http.ResponseWriter, r *http.Request, id string) {
	var b bytes.Buffer
	i := slices.IndexFunc(p.rules, func(r report.Rule) bool { return r.ID == id })
	var err error
	switch {
	case id == "":
		err = report.RulesPage(&b, p.rules)
	case i >= 0:
		err = report.RulePage(&b, &p.rules[i])
	default:
		p.missing(w, r.URL.Path, "There is no rule of this name. Findings in check runs on GitHub "+
			"link to their rules.")
		return
	}
	if err != nil {
		p.failed(w, r, err)
		return
	}
	sum := sha256.Sum256(b.Bytes())
	h := w.Header()
	h.Set("Etag", fmt.Sprintf(`"%x"`, sum[:8]))
	h.Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b.Bytes()))
}

// idLength is the number of characters of a report's ID.
const idLength = 32

// form serves a form of a report.
func (p *pages) form(w http.ResponseWriter, r *http.Request, id, end string, f form) {
	file, err := p.open(r.Context(), id, end, f)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	// Fails for a server without deadlines, which is fine.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(readTime))
	h := w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Etag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	h.Set("Content-Type", f.kind)
	if end != "" {
		h.Set("Content-Disposition", `attachment; filename="compat`+end+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, file)
}

// findings serves a page of the findings that match the query.
func (p *pages) findings(w http.ResponseWriter, r *http.Request, id string) {
	done, err := p.turn(r.Context())
	if err != nil {
		p.failed(w, r, err)
		return
	}
	var b bytes.Buffer
	page, _ := strconv.Atoi(r.FormValue("page")) // anything else is the first page
	archive, err := p.stored(r.Context(), id)
	if err == nil {
		var found *report.Found
		if found, err = archive.Search(mdsafe.Cut(r.FormValue("q"), maxQuery), page); err == nil {
			err = report.FindingsPage(&b, id, found)
		}
	}
	done()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

const maxQuery = 200 // characters of a search

// failed reports why a report cannot be shown.
func (p *pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errMissing) {
		p.missing(w, r.URL.Path, "This report does not exist or has expired. Press Re-run in the "+
			"check run on GitHub for a new one.")
		return
	}
	if errors.Is(err, queue.ErrBucket) {
		p.log.Warn("a report can't be shown", "error", err)
		w.Header().Set("Retry-After", "60")
		p.message(w, http.StatusServiceUnavailable, r.URL.Path, "cannot read this report",
			"The result is in the check run on GitHub. The storage of the reports does not respond at "+
				"the moment. Try again in a few minutes.")
		return
	}
	if !errors.Is(err, errBusy) {
		p.log.Warn("a report can't be shown", "error", err)
	}
	w.Header().Set("Retry-After", "10")
	p.message(w, http.StatusServiceUnavailable, r.URL.Path, "is busy",
		"The report cannot be shown at the moment. Try again in a few seconds.")
}

func (p *pages) missing(w http.ResponseWriter, path, sentence string) {
	p.message(w, http.StatusNotFound, path, "found nothing here", sentence)
}

// message serves a page with a sentence. path is that of the request, for relative links.
func (p *pages) message(w http.ResponseWriter, code int, path, title, sentence string) {
	root := strings.Repeat("../", max(0, strings.Count(path, "/")-1))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = report.MessagePage(w, root, title, sentence) // fails only if the client closed the connection
}

// turn waits until no other page is rendered. done ends the turn.
func (p *pages) turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, renderWait)
	defer cancel()
	select {
	case p.render <- struct{}{}:
		return func() { <-p.render }, nil
	case <-ctx.Done():
		return nil, errBusy
	}
}

// stored opens a report.
func (p *pages) stored(ctx context.Context, id string) (*store.Archive, error) {
	data, err := p.blobs.Get(ctx, store.ReportKey(id))
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, errMissing
	}
	archive, err := store.OpenReport(data)
	if err != nil {
		p.log.Warn("a report can't be shown", "error", err)
		return nil, errMissing
	}
	return archive, nil
}

// open opens a form of a report.
func (p *pages) open(ctx context.Context, id, end string, f form) (*os.File, error) {
	path := filepath.Join(p.dir, id+end)
	if file, err := os.Open(path); err == nil {
		return file, nil
	}
	done, err := p.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if file, err := os.Open(path); err == nil { // rendered for another request
		return file, nil
	}
	stored, err := p.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	err = p.write(path, func(w io.Writer) error { return f.write(w, id, stored) })
	if err != nil {
		os.Remove(path)
		return nil, err
	}
	p.trim(id + end)
	return os.Open(path)
}

// write writes a temporary file and renames it, so that partial pages are not served.
func (p *pages) write(path string, render func(io.Writer) error) error {
	part := path + ".part"
	file, err := os.Create(part)
	if err != nil {
		return err
	}
	defer os.Remove(part)
	out := bufio.NewWriter(file)
	if err := errors.Join(render(out), out.Flush(), file.Close()); err != nil {
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
