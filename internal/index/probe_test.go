package index

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/test/loopback"
)

// Addresses of indexes, and of other pages of the same servers.
func TestProbe(t *testing.T) {
	const (
		asJSON = "application/vnd.pypi.simple.v1+json"
		pip    = `<a href="/files/pip-25.0-py3-none-any.whl">pip-25.0-py3-none-any.whl</a>`
		site   = `<title>Packages</title><a href="/about/">About</a><a href="/help/">Get help</a>` +
			`<a href="/login">Sign in</a>`
	)
	for _, c := range []struct {
		name  string
		pages map[string]string // path -> page; others are not found
		at    string            // path of the address
		want  string            // the error; "" = an index
	}{
		{"an index", map[string]string{"/simple/pip/": pip}, "/simple", ""},
		{"without pip, JSON", map[string]string{"/simple/": `{"meta":{"api-version":"1.0"},"projects":[]}`},
			"/simple/", ""},
		{"without pip, HTML", map[string]string{"/team/simple/": `<a name="top">Index</a>
			<a href="/team/simple/my-project/">My.Project</a> <a href="other/">other</a>`}, "/team/simple", ""},
		{"without pip, a folder", map[string]string{"/w/": `<a href="../">../</a><a href="demo/">demo/</a>
			<a href="more/">more/</a>`}, "/w", ""},
		{"the root of a site", map[string]string{"/": site, "/simple/pip/": pip}, "",
			"URL/ is not a simple index (PEP 503, PEP 691), but URL/simple/ is"},
		{"a site that answers every address", map[string]string{"/": site, "/pip/": site,
			"/simple/pip/": pip}, "/", "URL/ is not a simple index (PEP 503, PEP 691), but URL/simple/ is"},
		{"devpi", map[string]string{"/root/pypi/+simple/pip/": pip}, "/root/pypi",
			"URL/root/pypi/ is not a simple index (PEP 503, PEP 691), but URL/root/pypi/+simple/ is"},
		{"another site", map[string]string{"/": site}, "", "URL/ has neither a page of pip nor a list " +
			"of projects, as a simple index has (PEP 503, PEP 691)"},
		{"nothing", nil, "/api", "URL/api/ has neither a page of pip nor a list of projects, as a simple " +
			"index has (PEP 503, PEP 691)"},
		{"other JSON", map[string]string{"/": `{"status":"ok"}`}, "", "URL/ has neither a page of pip nor " +
			"a list of projects, as a simple index has (PEP 503, PEP 691)"},
	} {
		var headers []string
		s := loopback.Server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			headers = append(headers, r.Header.Get("Authorization"))
			page, ok := c.pages[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			if strings.HasPrefix(page, "{") {
				w.Header().Set("Content-Type", asJSON)
			}
			fmt.Fprint(w, page)
		}))
		address := strings.Replace(s.URL, "://", "://me:hunter2@", 1) + c.at
		err := Probe(t.Context(), Options{URL: address})
		want := strings.ReplaceAll(c.want, "URL", s.URL)
		var not *NotSimpleError
		if (err != nil || want != "") && (!errors.As(err, &not) || err.Error() != want) {
			t.Errorf("%s: %v, want %q", c.name, err, want)
		}
		for _, h := range headers {
			if h == "" {
				t.Errorf("%s: a request without the credentials", c.name)
			}
		}
	}
}

// Whether a server that does not answer is an index is unknown.
func TestProbeUnavailable(t *testing.T) {
	s := loopback.Server(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	err := Probe(t.Context(), Options{URL: s.URL})
	if !errors.Is(err, packages.ErrUnavailable) || !strings.Contains(err.Error(), "credentials") {
		t.Error(err)
	}
}
