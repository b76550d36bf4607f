package stories

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/loopback"
)

// packageIndex is a package index with the simple API (PEP 503) that serves the metadata of wheels
// (PEP 658).
type packageIndex struct {
	url string

	mu    sync.Mutex
	paths []string // of all requests
}

// asked returns the requests whose path has a prefix, such as "/files/", except those for metadata.
func (x *packageIndex) asked(prefix string) (out []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.paths {
		if strings.HasPrefix(p, prefix) && !strings.HasSuffix(p, ".metadata") {
			out = append(out, p)
		}
	}
	return out
}

// index starts a package index. A request with GitHub's token fails the story.
func index(t *testing.T, wheels ...cases.Wheel) *packageIndex {
	x := &packageIndex{}
	mux := http.NewServeMux()
	pages := map[string]string{}
	for _, w := range wheels {
		name, content := w.File()
		pages[w.Name] += fmt.Sprintf(
			"<a href=\"../../files/%s#sha256=%x\" data-core-metadata=\"true\">%s</a>\n",
			name,
			sha256.Sum256(content),
			name,
		)
		mux.HandleFunc("/files/"+name, func(rw http.ResponseWriter, r *http.Request) {
			http.ServeContent(rw, r, name, time.Time{}, bytes.NewReader(content))
		})
		mux.HandleFunc("/files/"+name+".metadata", func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, w.Metadata())
		})
	}
	for name, page := range pages {
		mux.HandleFunc("/simple/"+name+"/", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<!DOCTYPE html><html><body>\n%s</body></html>\n", page)
		})
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if _, _, own := r.BasicAuth(); r.Header.Get("Authorization") != "" && !own {
			t.Errorf("the index was sent an Authorization header: %s", r.URL)
		}
		x.mu.Lock()
		x.paths = append(x.paths, r.URL.Path)
		x.mu.Unlock()
		mux.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	x.url = server.URL + "/simple/"
	return x
}

// The contents of a release are read from the index if one is configured.
func TestCaseBFromThePackageIndex(t *testing.T) {
	s := tell(
		t,
		world{
			env: map[string]string{
				"PIP_INDEX_URL": index(t, cases.NvJitLink("12.8.93", 8),
					cases.NvJitLink("12.9.86", 9)).url,
			},
		},
	)
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "__nvJitLinkGetErrorLogSize_12_9", "12.8.93")
	s.tells(p, k, "nvidia-nvjitlink-cu12>=12.9")

	s.Push(p, requiring("nvidia-nvjitlink-cu12>=12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.1", "nvidia-nvjitlink-cu12>=12.9")))
	s.want(s.Concluded(p.HeadSHA), "success")
}

// A result that depends on an index which does not respond is no pass.
func TestIndexDown(t *testing.T) {
	s := tell(
		t,
		world{env: map[string]string{"PIP_INDEX_URL": "http://" + loopback.Addr(t) + "/simple/"}},
	)
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	if text := shown(k); !strings.Contains(text, "nvidia-nvjitlink-cu12") &&
		!strings.Contains(text, "index") {
		s.Errorf("names neither the package nor the index:\n%s", text)
	}
}
