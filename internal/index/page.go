package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

const (
	maxPage  = 64 << 20 // bytes; the largest pages of the public index have less than 20 MB
	maxFiles = 200_000
	// PEP 691, "Content types": prefer JSON, then HTML of either kind.
	acceptPage = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, " +
		"text/html;q=0.01"
)

// page is the page of a project.
type page struct {
	name  string
	files []file
	at    time.Time // when it was requested; zero = it is from the cache
}

// of returns the files of a version.
func (p *page) of(v pkgmeta.Version) (all []file) {
	for _, f := range p.files {
		if f.version.Compare(v) == 0 {
			all = append(all, f)
		}
	}
	return all
}

// file is a wheel or source archive of a project.
type file struct {
	name           string
	project        string // normalized name
	url            *url.URL
	sha256         string // "" = unknown
	size           int64  // bytes; 0 = unknown
	version        pkgmeta.Version
	tags           []pkgmeta.Tag // nil for a source archive
	build          string
	yanked         bool
	requiresPython string // Requires-Python; "" = any
	metadata       bool   // the index has FILE.metadata (PEP 658)
	metaSum        string // SHA-256 of FILE.metadata; "" = unknown
	locked         bool   // a lock file lists it; url is nil if it has none
}

// page returns the page of a project, at most ten minutes old.
func (i *Index) page(ctx context.Context, name string) (*page, error) {
	name = pkgmeta.Normalize(name)
	if r, err := pkgmeta.ParseRequirement(name); err != nil || r.Raw != name || r.Name != name {
		return nil, i.errorf(packages.ErrUnknown, "%.80q is not a project name", name)
	}
	return i.pages.do(ctx, name, func(ctx context.Context) (*page, error) {
		body, kind, final, at, err := i.fetchPage(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p := &page{name: name, at: at}
		var entries []entry
		if media, _, _ := mime.ParseMediaType(kind); strings.HasSuffix(media, "json") {
			entries, err = parseJSON(body)
		} else {
			entries, final, err = parseHTML(body, final)
		}
		if err != nil {
			return nil, i.errorf(packages.ErrUnavailable, "the page of %s cannot be read: %v", name, err)
		}
		for _, e := range entries {
			if f, ok := e.file(name, final); ok {
				p.files = append(p.files, f)
			}
		}
		return p, nil
	})
}

// missLife is how long a page is not requested again because something is not on it. A check asks
// for the same package several times.
const missLife = 30 * time.Second

// pageWith is page if has accepts it. Otherwise it returns a page that was requested in the last
// seconds, because what it lacks may have been published.
func (i *Index) pageWith(ctx context.Context, name string, has func(*page) bool) (*page, error) {
	p, err := i.page(ctx, name)
	if err != nil || has(p) || time.Since(p.at) < missLife {
		return p, err
	}
	i.storeCached(ctx, i.pageKey(p.name), PageLife, nil)
	i.pages.drop(p.name)
	return i.page(ctx, name)
}

// cachedPage is the cached form of a page. The index confirms one of more than PageLife by its ETag
// (RFC 9110, 13.1.2), so that it is not sent again.
type cachedPage struct {
	Body, Kind, Final string
	ETag              string    // "" = it is not used for longer than PageLife
	At                time.Time // when the index sent or confirmed it
}

// staleLife is how long a page with an ETag is cached: long enough for the next pushes to a pull
// request. The pages of a lock file with 500 packages have 137 MB before they are compressed, and
// Redis keeps them in memory.
const staleLife = 2 * time.Hour

// pageKey returns the cache key of a project's page.
func (i *Index) pageKey(name string) string {
	return "index/3/page/" + hashed(i.base.JoinPath(name, "/").String()) + "/" + name
}

// fetchPage returns the bytes, content type and final URL of a page, from the cache if possible,
// and when it was requested.
func (i *Index) fetchPage(
	ctx context.Context,
	name string,
) (body []byte, kind string, final *url.URL, at time.Time, err error) {
	key := i.pageKey(name)
	var known cachedPage
	if !i.newPages && loadCached(ctx, i, key, &known) && known.Final != "" {
		if final, err = url.Parse(known.Final); err != nil {
			known = cachedPage{}
		}
	}
	at = time.Now()
	if age := at.Sub(known.At); final != nil && age >= 0 && age < PageLife {
		return []byte(known.Body), known.Kind, final, time.Time{}, nil
	}
	answer, err := i.get(ctx, i.base.JoinPath(name, "/"), acceptPage, known.ETag, maxPage)
	if err != nil {
		return nil, "", nil, at, err
	}
	if !answer.same {
		clean := *answer.final
		clean.User = nil
		known = cachedPage{
			Body: string(answer.body), Kind: answer.kind, Final: clean.String(), ETag: answer.etag,
		}
		final = answer.final
	}
	known.At = at
	keep := PageLife
	if known.ETag != "" {
		keep = staleLife
	}
	i.storeCached(ctx, key, keep, known)
	return []byte(known.Body), known.Kind, final, at, nil
}

// entry is a file on a page, in JSON or HTML.
type entry struct {
	Filename string  `json:"filename"`
	URL      string  `json:"url"`
	Hashes   digests `json:"hashes"`
	Size     int64   `json:"size"`
	Yanked   flag    `json:"yanked"`
	Pythons  string  `json:"requires-python"`
	Core     flag    `json:"core-metadata"`
	// the former name of core-metadata in PEP 658
	Old     flag `json:"dist-info-metadata"`
	OldData flag `json:"data-dist-info-metadata"`
}

// digests are those of a file; others than SHA-256 are not used.
type digests struct {
	SHA256 string `json:"sha256"`
}

// flag is a JSON value that is false, true, a string (true, even if empty) or hashes (true).
type flag struct {
	set    bool
	sha256 string
}

func (f *flag) UnmarshalJSON(data []byte) error {
	f.set = string(data) != "false" && string(data) != "null"
	if len(data) > 0 && data[0] == '{' {
		var hashes map[string]string
		if err := json.Unmarshal(data, &hashes); err != nil {
			return err
		}
		f.sha256 = hashes["sha256"]
	}
	return nil
}

func parseJSON(body []byte) ([]entry, error) {
	var p struct {
		Meta struct {
			Version string `json:"api-version"`
		} `json:"meta"`
		Files []entry `json:"files"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, err
	}
	if p.Meta.Version != "" && !strings.HasPrefix(p.Meta.Version, "1.") {
		return nil, fmt.Errorf(
			"it uses Simple API version %.20q, but compat supports 1.x",
			p.Meta.Version,
		)
	}
	if len(p.Files) > maxFiles {
		return nil, fmt.Errorf("it lists %d files, more than the limit of %d", len(p.Files), maxFiles)
	}
	return p.Files, nil
}

// parseHTML returns an entry for each anchor with href, like installers do. It resolves <base
// href>.
func parseHTML(body []byte, at *url.URL) ([]entry, *url.URL, error) {
	var entries []entry
	z := html.NewTokenizer(bytes.NewReader(body))
	var open *entry
	for {
		switch z.Next() {
		case html.ErrorToken:
			return entries, at, nil // the end; the reader has no other error
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			tag := string(name)
			attrs := map[string]string{}
			for more && len(attrs) < 32 {
				var k, v []byte
				k, v, more = z.TagAttr()
				attrs[string(k)] = string(v)
			}
			switch href, ok := attrs["href"]; {
			case tag == "base" && ok:
				if u, err := at.Parse(href); err == nil &&
					(u.Scheme == "https" || u.Scheme == at.Scheme) {
					at = u
				}
			case tag == "a" && ok:
				if len(entries) >= maxFiles {
					return nil, at, fmt.Errorf("it lists more than the limit of %d files", maxFiles)
				}
				entries = append(entries, anchor(href, attrs))
				open = &entries[len(entries)-1]
			}
		case html.TextToken:
			if open != nil {
				open.Filename = strings.TrimSpace(string(z.Text()))
				open = nil
			}
		}
	}
}

func anchor(href string, attrs map[string]string) entry {
	e := entry{URL: href}
	if _, fragment, ok := strings.Cut(href, "#"); ok {
		for part := range strings.SplitSeq(fragment, "&") {
			if sum, ok := strings.CutPrefix(part, "sha256="); ok {
				e.Hashes.SHA256 = sum
			}
		}
	}
	_, e.Yanked.set = attrs["data-yanked"]
	e.Pythons = attrs["data-requires-python"]
	for _, key := range []string{"data-core-metadata", "data-dist-info-metadata"} {
		if v, ok := attrs[key]; ok && v != "false" {
			e.Core = flag{set: true, sha256: strings.TrimPrefix(v, "sha256=")}
		}
	}
	return e
}

// file converts an entry. ok is false if it is not a wheel or source archive of the project.
func (e entry) file(project string, at *url.URL) (file, bool) {
	u, err := at.Parse(e.URL)
	// A page served by https must not link to http, where the response could be forged.
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || at.Scheme != "http") {
		return file{}, false
	}
	u.User, u.Fragment = nil, ""
	f := file{
		name:           e.Filename,
		project:        project,
		url:            u,
		size:           max(e.Size, 0),
		yanked:         e.Yanked.set,
		requiresPython: e.Pythons,
		metadata:       e.Core.set || e.Old.set || e.OldData.set,
	}
	if f.name == "" || !strings.Contains(f.name, ".") {
		f.name = u.Path[strings.LastIndexByte(u.Path, '/')+1:]
	}
	f.sha256 = digest(e.Hashes.SHA256)
	for _, m := range []flag{e.Core, e.Old, e.OldData} {
		if f.metaSum == "" {
			f.metaSum = digest(m.sha256)
		}
	}
	if strings.HasSuffix(f.name, ".whl") {
		w, err := pkgmeta.ParseWheelName(f.name)
		if err != nil || pkgmeta.Normalize(w.Name) != project {
			return file{}, false
		}
		f.version, err = pkgmeta.ParseVersion(strings.ReplaceAll(w.Version, "_", "-"))
		f.tags, f.build = w.Tags, w.Build
		return f, err == nil
	}
	stem, ok := strings.CutSuffix(f.name, ".tar.gz")
	if !ok {
		stem, ok = strings.CutSuffix(f.name, ".zip")
	}
	dash := strings.LastIndexByte(stem, '-')
	if !ok || dash < 0 || pkgmeta.Normalize(stem[:dash]) != project {
		return file{}, false
	}
	f.version, err = pkgmeta.ParseVersion(stem[dash+1:])
	return f, err == nil
}

// digest returns a SHA-256 in lower case hex; "" for anything else.
func digest(s string) string {
	s = strings.ToLower(s)
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return ""
	}
	return s
}
