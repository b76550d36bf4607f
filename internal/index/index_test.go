package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
)

var (
	ctx   = context.Background()
	linux = packages.Target{Python: "3.12", Arch: "x86_64"}
)

// demo has three versions: one with a library and other members, one yanked and one with only a
// source archive.
func demo(t *testing.T) map[string][]wheel {
	lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
	return map[string][]wheel{"demo": {
		build(
			t,
			"demo-1.0-py3-none-manylinux2014_x86_64.whl",
			"numpy>=1",
			"demo/lib/libdemo.so.1",
			lib,
			"demo-1.0.data/platlib/demo/x.so",
			lib,
			"demo/broken.so",
			"no object",
			"demo/a.py",
			"import x",
		),
		build(t, "demo-1.0-py3-none-win_amd64.whl", "pywin32"),
		build(t, "demo-1.1rc1-py3-none-any.whl", ""),
		{name: "demo-2.0.tar.gz"},
		{
			name:   "demo-3.0-py3-none-any.whl",
			yanked: true,
			meta:   "Name: demo\nVersion: 3.0\n",
			data:   build(t, "demo-3.0-py3-none-any.whl", "").data,
		},
		build(t, "demo-4.0-py3-none-win_amd64.whl", "pywin32"),
		{name: "../../etc/passwd-5.0-py3-none-any.whl"},
		{name: "stranger-6.0-py3-none-any.whl"},
	}}
}

func TestVersions(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		s := serve(t, demo(t))
		s.json = asJSON
		got, err := s.index(t, nil).Versions(ctx, "Demo", packages.Target{})
		if want := []string{"1.0", "1.1rc1", "2.0", "4.0"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("json %v: %v, %v", asJSON, got, err)
		}
	}
}

func TestVersionsOfTarget(t *testing.T) {
	number := func(version, tag, python string) wheel {
		w := build(t, "demo-"+version+"-"+tag+".whl", "")
		w.python = python
		return w
	}
	files := map[string][]wheel{"demo": {
		number("1.0", "cp27-cp27mu-manylinux1_x86_64", ">=2.7, !=3.0.*"),
		number("1.1", "cp310-cp310-manylinux2014_x86_64", ">=3.8"),
		number("1.2", "cp310-cp310-manylinux2014_x86_64", ">=3.8"),
		number("1.2", "cp311-cp311-manylinux2014_x86_64", ">=3.8"),
		number("1.3", "cp311-cp311-manylinux2014_aarch64", ">=3.8"),
		number("1.3", "cp312-cp312-manylinux2014_x86_64", ">=3.8"),
		number("2.0", "cp312-cp312-manylinux2014_x86_64", ">=3.12"),
		number("2.1", "cp39-abi3-manylinux2014_x86_64", ">=3.9"),
		{name: "demo-3.0.tar.gz"},
		{name: "demo-3.1.tar.gz", python: ">=3.14"},
	}}
	for _, asJSON := range []bool{true, false} {
		s := serve(t, files)
		s.json = asJSON
		i := s.index(t, nil)
		for _, c := range []struct {
			on   packages.Target
			want string
		}{
			{packages.Target{}, "1.0 1.1 1.2 1.3 2.0 2.1 3.0 3.1"},
			{packages.Target{Python: "3.11", Arch: "x86_64"}, "1.2 2.1 3.0"},
			{packages.Target{Python: "3.11", Arch: "aarch64"}, "1.2 1.3 2.1 3.0"},
			{packages.Target{Python: "3.12", Arch: "x86_64"}, "1.3 2.0 2.1 3.0"},
			{packages.Target{Python: "3.11", Arch: "x86_64", Pythons: ">=3.11,<3.14"},
				"1.2 1.3 2.0 2.1 3.0"},
		} {
			got, err := i.Versions(ctx, "demo", c.on)
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("json %v, %+v: %v, %v, want %s", asJSON, c.on, got, err, c.want)
			}
		}
	}
}

// everything accepts any transfer for a library.
func everything(string) int64 { return 1 << 40 }

// described returns a release with all its libraries.
func described(i *Index, name, version string) (*packages.Release, error) {
	r, err := i.Release(ctx, name, version, linux)
	if err != nil {
		return nil, err
	}
	return i.Read(ctx, r, linux, everything)
}

func TestRelease(t *testing.T) {
	for _, way := range []string{"json", "html", "no metadata file", "no ranges", "far"} {
		wheels := demo(t)
		if way == "far" { // larger than what is downloaded with the directory
			lib := string(object(t, "libdemo.so.1", "demo_run", "DEMO_1"))
			noise := make([]byte, 400<<10)
			rand.NewChaCha8([32]byte{}).Read(noise)
			wheels["demo"][0] = build(
				t,
				wheels["demo"][0].name,
				"numpy>=1",
				"demo/data",
				string(noise),
				"demo/lib/libdemo.so.1",
				lib,
				"demo-1.0.data/platlib/demo/x.so",
				lib,
				"demo/broken.so",
				"no object",
				"demo/more",
				string(noise),
			)
		}
		s := serve(t, wheels)
		s.json, s.metadata, s.noRanges = way != "html", way != "no metadata file" &&
			way != "far", way == "no ranges"
		i := s.index(t, nil)
		r, err := described(i, "demo", "1.0.0")
		if err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		if r.Name != "demo" || r.Version != "1.0.0" || !r.Known || len(r.Requires) != 1 ||
			r.Requires[0].Name != "numpy" ||
			len(r.Libraries) != 3 {
			t.Errorf("%s: %+v", way, r)
			continue
		}
		l := r.Libraries[0]
		if l.Path != "demo/lib/libdemo.so.1" || l.SONAME != "libdemo.so.1" || !l.Known ||
			l.Unread ||
			l.RunPath != "$ORIGIN" ||
			!slices.Equal(l.Needed, []string{"libc.so.6"}) ||
			!slices.Equal(l.Versions, []string{"DEMO_1"}) ||
			!slices.ContainsFunc(l.Exports.List(), func(e elfobj.Export) bool {
				return e.Name == "demo_run" && e.Version == "DEMO_1"
			}) {
			t.Errorf("%s: %+v", way, l)
		}
		if l := r.Libraries[1]; l.Path != "demo/x.so" || !l.Known {
			t.Errorf("%s: %+v", way, l)
		}
		if l := r.Libraries[2]; l.Path != "demo/broken.so" || l.Known || l.Unread {
			t.Errorf("%s: %+v", way, l)
		}
		asked := strings.Join(s.takeRequests(), "\n")
		// only JSON contains the size
		if whole := strings.Contains(asked+"\n", "whl\n"); whole != (way == "json" ||
			way == "no metadata file" || way == "no ranges") {
			t.Errorf("%s: asked\n%s", way, asked)
		}
		// Cached facts need no request.
		if r, err := described(i, "demo", "1.0"); err != nil || !r.Libraries[0].Known ||
			len(s.takeRequests()) != 0 {
			t.Errorf("%s: asked again, %v", way, err)
		}
	}
}

func TestReleaseWithoutAFittingWheel(t *testing.T) {
	s := serve(t, demo(t))
	i := s.index(t, nil)
	if r, err := i.Release(ctx, "demo", "4.0", linux); err != nil || r.Known ||
		len(r.Requires) != 1 ||
		r.Requires[0].Name != "pywin32" ||
		r.Libraries != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := i.Release(ctx, "demo", "3.0", linux); err != nil || !r.Known {
		t.Errorf("a yanked version by its name: %+v, %v", r, err)
	}
	s.takeRequests()
	if r, err := i.Release(ctx, "demo", "1.1rc1", linux); err != nil || !r.Known ||
		r.Libraries != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if got := s.takeRequests(); !slices.Equal(
		got,
		[]string{"/files/demo-1.1rc1-py3-none-any.whl.metadata"},
	) {
		t.Errorf("asked %v", got)
	}
	for _, v := range []string{"2.0", "9.0", "not a version"} {
		if _, err := i.Release(ctx, "demo", v, linux); !errors.Is(err, packages.ErrUnknown) ||
			!strings.Contains(err.Error(), i.Name()) {
			t.Errorf("%s: %v", v, err)
		}
	}
	for _, name := range []string{"nosuch", "../demo", "demo?x=1", "", "demo @ http://x"} {
		if _, err := i.Versions(ctx, name, packages.Target{}); !errors.Is(err, packages.ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := s.takeRequests(); !slices.Equal(got, []string{"/simple/nosuch/"}) {
		t.Errorf("asked %v", got)
	}
}

// The specifier ==1.0 admits 1.0+cu1 (PEP 440), so a pin gets it where there is no 1.0.
func TestReleaseWithALocalVersion(t *testing.T) {
	i := serve(t, map[string][]wheel{"demo": {
		build(t, "demo-1.0+cu1-py3-none-any.whl", ""),
		build(t, "demo-1.0+cu2-py3-none-any.whl", ""),
		build(t, "demo-2.0-py3-none-any.whl", ""),
		build(t, "demo-2.0+cu1-py3-none-any.whl", ""),
	}}).index(t, nil)
	for requested, want := range map[string]string{
		"1.0": "1.0+cu2", "1.0+cu1": "1.0+cu1", "2.0": "2.0",
	} {
		r, err := i.Release(ctx, "demo", requested, linux)
		if err != nil || r.Version != want {
			t.Errorf("%s: %+v, %v", requested, r, err)
		}
	}
	for _, v := range []string{"1.1", "1.0+cu3"} {
		if _, err := i.Release(ctx, "demo", v, linux); !errors.Is(err, packages.ErrUnknown) {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// What a cached page lacks may have been published since: a version, or a wheel for the target.
func TestWhatIsMissingIsNotCached(t *testing.T) {
	s := serve(t, map[string][]wheel{"demo": {build(t, "demo-1.0-py3-none-any.whl", "")}})
	cache := newMemoryCache(1 << 20)
	open := func(newPages bool) *Index {
		return s.index(t, func(o *Options) { o.Cache, o.NewPages = cache, newPages })
	}
	page, fresh := []string{"/simple/demo/"}, linux
	fresh.Fresh = true
	versions := func(i *Index, on packages.Target, want []string, asked []string) {
		t.Helper()
		got, err := i.Versions(ctx, "demo", on)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("versions %v, %v; want %v", got, err, want)
		}
		if got := s.takeRequests(); !slices.Equal(got, asked) {
			t.Errorf("asked %v, want %v", got, asked)
		}
	}
	old, both := []string{"1.0"}, []string{"1.0", "1.1"}
	versions(open(false), linux, old, page)
	s.wheels["demo"] = append(s.wheels["demo"], build(t, "demo-1.1-py3-none-any.whl", ""))
	versions(open(false), linux, old, nil)
	versions(open(true), linux, both, page)
	s.wheels["demo"] = append(s.wheels["demo"], build(t, "demo-1.2-py3-none-any.whl", ""))
	i := open(false)
	versions(i, linux, both, nil)
	versions(i, fresh, []string{"1.0", "1.1", "1.2"}, page)
	versions(i, fresh, []string{"1.0", "1.1", "1.2"}, nil) // it was requested a moment ago
	s.wheels["demo"] = append(s.wheels["demo"], build(t, "demo-1.3-py3-none-any.whl", ""))
	if _, err := open(false).Release(ctx, "demo", "1.3", linux); err != nil {
		t.Error(err)
	}
}

func TestOutages(t *testing.T) {
	status := func(code int, until int, header ...string) func(int, http.ResponseWriter,
		*http.Request) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > until {
				return false
			}
			if len(header) > 0 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
			return true
		}
	}
	for name, c := range map[string]struct {
		fail  func(int, http.ResponseWriter, *http.Request) bool
		want  string // "" = success after retries
		asked int
	}{
		"503 twice":    {status(503, 2), "", 5},
		"503 for ever": {status(503, 99), "503 Service Unavailable (attempts: 3)", 3},
		"429, soon":    {status(429, 1, "Retry-After", "2"), "", 4},
		"429, in an hour": {status(429, 99, "Retry-After", "3600"),
			"429 Too Many Requests (attempts: 1)", 1},
		"401": {status(401, 99), "check the credentials", 1},
		"418": {status(418, 99), "418", 1},
		"broken JSON": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{")
			return true
		}, "the page of demo cannot be read", 1},
		"another version": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"meta":{"api-version":"2.0"}}`)
			return true
		}, `Simple API version "2.0"`, 1},
		"endless": {func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Write(bytes.Repeat([]byte("x"), maxPage+2))
			return true
		}, "more than the limit of 64 MiB", 1},
		"broken off twice": {func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n < 3 {
				w.Header().Set("Content-Length", "1000")
				fmt.Fprint(w, "x")
			}
			return n < 3
		}, "", 5},
		"wheel breaks off": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n != 3 {
				return false
			}
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, "PK")
			return true
		}, "", 4},
		"redirects for ever": {func(_ int, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, "more than 5 redirects", 18},
	} {
		s := serve(t, demo(t))
		s.fail = c.fail
		i := s.index(t, nil)
		r, err := i.Release(ctx, "demo", "1.0", linux)
		switch {
		case c.want == "" && (err != nil || !r.Known):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, packages.ErrUnavailable) ||
			!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), i.Name()) ||
			!strings.Contains(err.Error(), "demo")):
			t.Errorf("%s: %v", name, err)
		}
		if got := s.takeRequests(); len(got) != c.asked {
			t.Errorf("%s: asked %d times: %v", name, len(got), got)
		}
	}
}

func TestDown(t *testing.T) {
	s := serve(t, demo(t))
	i := s.index(t, nil)
	s.Close()
	for n, want := range []string{"attempts: 3", "attempts: 1"} {
		if _, err := i.Versions(ctx, "demo", packages.Target{}); !errors.Is(err, packages.ErrUnavailable) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", n, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := i.Versions(gone, "demo", packages.Target{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWrongDigest(t *testing.T) {
	s := serve(t, demo(t))
	s.digest = strings.Repeat("0", 64)
	if _, err := s.index(t, nil).Release(ctx, "demo", "1.0", linux); !errors.Is(
		err,
		packages.ErrUnavailable,
	) ||
		!strings.Contains(err.Error(), "do not match its digest on the page") {
		t.Error(err)
	}
}

// Credentials are sent to the index only, and are in no message.
func TestCredentials(t *testing.T) {
	var other *server
	s := serve(t, demo(t))
	other = serve(t, demo(t))
	s.fail = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".whl") {
			http.Redirect(w, r, other.URL+r.URL.Path+"?signature=topsecret", http.StatusFound)
			return true
		}
		return false
	}
	var log bytes.Buffer
	with := func(o *Options) {
		o.URL = strings.Replace(s.URL, "://", "://user:hunter2@", 1) + "/simple/"
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	i := s.index(t, with)
	if _, err := i.Release(ctx, "demo", "1.0", linux); err != nil {
		t.Fatal(err)
	}
	for n, a := range s.auth {
		if a != header("user", "hunter2") {
			t.Errorf("request %d to the index has the Authorization %q", n, a)
		}
	}
	if len(other.auth) == 0 || strings.Join(other.auth, "") != "" {
		t.Errorf("the other host got %q", other.auth)
	}
	// Credentials from a netrc file.
	file := filepath.Join(t.TempDir(), "netrc")
	if err := os.WriteFile(file, []byte("machine example.org login a password b\nmachine "+
		"127.0.0.1\n  login user password hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.auth, other.auth = nil, nil
	if _, err := s.index(t, func(o *Options) {
		o.Netrc = file
	}).Release(ctx, "demo", "1.0", linux); err != nil {
		t.Fatal(err)
	}
	if len(s.auth) == 0 || s.auth[0] != header("user", "hunter2") ||
		strings.Join(other.auth, "") != "" {
		t.Errorf("netrc: %q, %q", s.auth, other.auth)
	}
	// Errors.
	other.Close()
	_, err := s.index(t, with).Release(ctx, "demo", "1.0", linux)
	for _, secret := range []string{"hunter2", "topsecret", "user:"} {
		if err == nil || strings.Contains(err.Error()+log.String()+i.String()+i.Name(), secret) {
			t.Errorf("the error or the log contains %s: %v\n%s", secret, err, log.String())
		}
	}
}

func TestNewNamesABadURLWithoutItsCredentials(t *testing.T) {
	for _, raw := range []string{"", "host/simple", "ftp://user:hunter2@host/",
		"https://user:hunter2@ho st/", "https://user:hun%ter2@host/", "file:///etc",
		"https://user:hunter2@host:port/simple?hunter2", "https:///simple", "https://user:12#hunter2@host/simple"} {
		_, err := New(Options{URL: raw})
		if err == nil || strings.Contains(err.Error(), "hunter2") ||
			strings.Contains(err.Error(), "hun%ter2") ||
			!strings.Contains(err.Error(), "https://host/simple/") {
			t.Errorf("%q: %v", raw, err)
		}
	}
	i, err := New(Options{URL: " https://user:hunter2@host:8443/simple "})
	if err != nil || i.Name() != "host:8443" || i.String() != "https://host:8443/simple/" {
		t.Error(i, err)
	}
}

func TestNetrc(t *testing.T) {
	for text, want := range map[string]string{
		"machine host login a password b": header("a",
			"b"),
		"default login d password e\nmachine host login a password b": header("a",
			"b"),
		"machine x login a password b default login d password e": header("d",
			"e"),
		"machine x login a password b": "",
		"# machine host login no password no\nmachine HOST account z password only": header("",
			"only"),
		"macdef init\nmachine host login m password m\n\nmachine host login a password b": header("a",
			"b"),
		"machine host login": "",
		"machine":            "",
		"":                   "",
		"login a password b": "",
	} {
		if got := netrc(text, "host"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestHTTPSLinksStayHTTPS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "moved") {
			http.Redirect(w, r, "http://"+r.Host+"/simple/x/", http.StatusFound)
			return
		}
		fmt.Fprint(
			w,
			`<a href="http://elsewhere.invalid/demo-1-py3-none-any.whl">demo-1-py3-none-any.whl</a><a href="demo-2-py3-none-any.whl">demo-2-py3-none-any.whl</a><a href="file:///demo-3-py3-none-any.whl">x</a>`,
		)
	}))
	defer s.Close()
	i, err := New(Options{URL: s.URL, Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	i.pause = func(context.Context, time.Duration) error { return nil }
	if got, err := i.Versions(ctx, "demo", packages.Target{}); err != nil || !slices.Equal(got, []string{"2"}) {
		t.Error(got, err)
	}
	if _, err := i.Versions(ctx, "moved", packages.Target{}); !errors.Is(err, packages.ErrUnavailable) ||
		!strings.Contains(err.Error(), "from https to http") {
		t.Error(err)
	}
}

// Concurrent callers share one download, and a canceled one does not affect the others.
func TestConcurrentReads(t *testing.T) {
	s := serve(t, demo(t))
	started, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.fail = func(int, http.ResponseWriter, *http.Request) bool {
		once.Do(func() { close(started) })
		<-free
		return false
	}
	i := s.index(t, nil)
	short, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := i.Release(short, "demo", "1.0", linux); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-started
	for range 8 {
		wg.Go(func() {
			if r, err := i.Release(ctx, "demo", "1.0", linux); err != nil || !r.Known {
				t.Error(err)
			}
		})
	}
	cancel()
	close(free)
	wg.Wait()
	whole := 0
	for _, r := range s.takeRequests() {
		if strings.HasSuffix(r, ".whl") {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("%d downloads", whole)
	}
}

// failing is a Cache that is down.
type failing struct{}

func (failing) Get(context.Context, string) ([]byte, error) { return nil, errors.New("down") }
func (failing) Put(context.Context, string, []byte, time.Duration) error {
	return errors.New("down")
}

func TestCaches(t *testing.T) {
	s := serve(t, demo(t))
	if _, err := s.index(t, func(o *Options) {
		o.Cache = failing{}
	}).Release(ctx, "demo", "1.0", linux); err != nil {
		t.Errorf("a cache that is down: %v", err)
	}
	shared := newMemoryCache(1 << 20)
	var releases []*packages.Release
	for range 2 {
		s.takeRequests()
		r, err := s.index(t, func(o *Options) { o.Cache = shared }).
			Release(ctx, "demo", "1.0", linux)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, r)
	}
	if fmt.Sprintf("%+v", releases[0]) != fmt.Sprintf("%+v", releases[1]) {
		t.Errorf("%+v\n%+v", releases[0], releases[1])
	}
	if got := s.takeRequests(); len(got) != 0 {
		t.Errorf("asked %v with a warm cache", got)
	}
	// A damaged entry is computed again.
	for key := range shared.keys {
		shared.Put(ctx, key, []byte("?"), 0)
	}
	if r, err := s.index(t, func(o *Options) {
		o.Cache = shared
	}).Release(ctx, "demo", "1.0", linux); err != nil ||
		!r.Known {
		t.Error(err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemoryCache(100)
	for n := range 50 {
		m.Put(ctx, strconv.Itoa(n), make([]byte, 10), 0)
		m.Get(ctx, "0")
	}
	m.Put(ctx, "huge", make([]byte, 101), 0)
	m.Put(ctx, "49", make([]byte, 20), 0)
	zero, _ := m.Get(ctx, "0")
	one, _ := m.Get(ctx, "1")
	huge, _ := m.Get(ctx, "huge")
	if m.size > 100 || m.order.Len() != len(m.keys) || zero == nil || one != nil || huge != nil {
		t.Errorf("%d bytes, %d and %d entries", m.size, m.order.Len(), len(m.keys))
	}
}
