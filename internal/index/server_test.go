package index

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/test/loopback"
)

// wheel is a file of a served project.
type wheel struct {
	name   string
	data   []byte
	meta   string
	yanked bool
	python string // Requires-Python; "" = ">=3.8"
}

// server is a fake package index that can misbehave.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	wheels   map[string][]wheel // by normalized name
	requests []string           // "GET /path [Range]"
	json     bool               // PEP 691
	metadata bool               // serve FILE.metadata (PEP 658)
	noRanges bool
	digest   string // replaces the correct digest
	// returns true if it has sent a response
	fail func(n int, w http.ResponseWriter, r *http.Request) bool
	auth []string
}

func serve(t *testing.T, wheels map[string][]wheel) *server {
	s := &server{wheels: wheels, json: true, metadata: true}
	s.Server = loopback.Server(t, s)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	s.auth = append(s.auth, r.Header.Get("Authorization"))
	n := len(s.requests)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil && fail(n, w, r) {
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		for _, f := range slices.Concat(s.wheels["demo"], s.wheels["other"]) {
			switch {
			case name == f.name && s.noRanges:
				w.Write(f.data)
				return
			case name == f.name:
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
				return
			case name == f.name+".metadata" && s.metadata:
				fmt.Fprint(w, f.meta)
				return
			}
		}
		http.NotFound(w, r)
		return
	}
	files, ok := s.wheels[strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if s.json && strings.Contains(r.Header.Get("Accept"), "application/vnd.pypi.simple.v1+json") {
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		var list []any
		for _, f := range files {
			e := map[string]any{
				"filename": f.name,
				"url":      "../../files/" + url.PathEscape(f.name),
				"hashes":   map[string]string{"sha256": s.sum(f.data)},
				"size":     len(f.data),
				"yanked":   false,

				"requires-python": cmp.Or(f.python, ">=3.8"),
			}
			if f.yanked {
				e["yanked"] = "broken"
			}
			if s.metadata {
				e["core-metadata"] = map[string]string{"sha256": sum([]byte(f.meta))}
			}
			list = append(list, e)
		}
		json.NewEncoder(w).
			Encode(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "files": list})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintln(w, `<!DOCTYPE html><html><body><a name="x">no link</a>`)
	for _, f := range files {
		extra := ""
		if f.yanked {
			extra += ` data-yanked=""`
		}
		if s.metadata {
			extra += ` data-core-metadata="sha256=` + sum([]byte(f.meta)) + `"`
		}
		fmt.Fprintf(
			w,
			"<a href=\"/files/%s#sha256=%s\" data-requires-python=\"%s\"%s>%s</a><br>\n",
			url.PathEscape(f.name),
			s.sum(f.data),
			html.EscapeString(cmp.Or(f.python, ">=3.8")),
			extra,
			html.EscapeString(f.name),
		)
	}
}

func (s *server) sum(data []byte) string {
	if s.digest != "" {
		return s.digest
	}
	return sum(data)
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// takeRequests returns the requests since the last call.
func (s *server) takeRequests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// index returns a client of the server that does not wait between attempts.
func (s *server) index(t *testing.T, change func(*Options)) *Index {
	t.Helper()
	o := Options{URL: s.URL + "/simple", TempDir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	i, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	i.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return i
}

// object returns a shared library that exports symbol@version.
func object(t *testing.T, soname, symbol, version string) []byte {
	t.Helper()
	data, err := elftest.Write(
		&elfobj.Object{
			Class:     64,
			ByteOrder: "little",
			Machine:   62,
			Type:      "ET_DYN",
			Dynamic:   true,
			SONAME:    soname,
			Needed:    []string{"libc.so.6"},
			RunPath:   "$ORIGIN",
			Exports:   elfobj.NewExports(elfobj.Export{Name: symbol, Version: version, Kind: "func"}),
			VersionDefs: []elfobj.VersionDef{
				{Name: soname, Base: true},
				{Name: version},
			},
			HasVersym: true,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// build returns a wheel of demo or other. members is path, content, path, content, …
func build(t *testing.T, file string, requires string, members ...string) wheel {
	t.Helper()
	name, rest, _ := strings.Cut(file, "-")
	version, _, _ := strings.Cut(rest, "-")
	meta := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	if requires != "" {
		meta += "Requires-Dist: " + requires + "\n"
	}
	members = append(members, name+"-"+version+".dist-info/METADATA", meta)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for n := 0; n < len(members); n += 2 {
		w, err := z.Create(members[n])
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(members[n+1]))
	}
	z.Close()
	return wheel{name: file, data: b.Bytes(), meta: meta}
}
