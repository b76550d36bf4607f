// Package index asks a package index (PEP 503 HTML or PEP 691 JSON) what versions of a package
// exist and which shared libraries a version brings. It implements packages.Source.
//
//	i, err := index.New(index.Options{URL: os.Getenv("PIP_INDEX_URL"), Log: log})
//	release, err := i.Release(ctx, "nvidia-nvjitlink-cu12", "12.9.86", packages.On{Python: "3.12", Arch: "x86_64"})
//
// There is no built-in address: without a configured index nobody is asked. Only GET requests are
// made, to the index and to the places where its pages say that files are. Credentials (in the URL,
// or for its host in a netrc file) go to the host of the index alone, never to one it redirects or
// links to, and into no message.
//
// What a wheel holds is outside data: it is read by analyzer/unpack under limits and never executed
// or installed. Nothing is read that need not be: a release that the built-in history describes
// costs its project's page, whose digests prove that it is the one; of another, Release reads the
// wheel's directory and Read those members that are asked for, by ranges. Where these are most of
// the file, or the index sends no ranges, a wheel up to 600 MB is fetched whole, to a temporary
// file without a name, and checked against the index's digest. What was read once is cached by that
// digest.
package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/sleep"
)

// Options configure an Index. Only URL is required.
type Options struct {
	URL   string // "https://user:secret@host/simple/"; http or https
	Netrc string // path of a netrc file; "" none. A URL's own credentials come first
	// nil: one with time limits and the environment's proxy. Its redirect policy is replaced
	Client  *http.Client
	History History      // describes releases without their files; nil: none
	Cache   Cache        // nil: memory of this process, up to 64 MiB
	TempDir string       // for wheels; "" the system's
	Log     *slog.Logger // nil: silent
}

// History describes releases, and tells from which file it knows one: its name, and its SHA-256 in
// hex ("" unknown).
type History interface {
	packages.Source
	Recorded(name, version string, on packages.On) (file, sha256 string, ok bool)
}

// Cache keeps what was found out about a wheel. Get gives nil, nil for an absent key. It must be
// safe for concurrent use.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Index is a package index. It is safe for concurrent use.
type Index struct {
	base    *url.URL // without credentials, path ends in "/"
	auth    string   // Authorization header, "" none
	client  *http.Client
	history History
	cache   Cache
	meter   meter
	tempDir string
	log     *slog.Logger
	pages   *flights[*page]
	wheels  *flights[*facts]
	reads   *flights[map[string]packages.Library]
	down    atomic.Int64 // Unix nanoseconds until which a failing index is asked once only
	pause   func(context.Context, time.Duration) error
	whole   int64 // the largest wheel that is fetched whole
}

var _ packages.Reader = (*Index)(nil)

// New checks the options; it asks nothing yet. The error for an unusable URL shows it without
// credentials.
func New(o Options) (*Index, error) {
	base, auth, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if auth == "" && o.Netrc != "" {
		data, err := os.ReadFile(o.Netrc)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("package index %s: the netrc file: %w", base.Host, err)
		}
		auth = netrc(string(data), base.Hostname())
	}
	i := &Index{
		base:    base,
		auth:    auth,
		history: o.History,
		cache:   o.Cache,
		tempDir: o.TempDir,
		log:     o.Log,
		pause:   sleep.For,
		whole:   maxWheel,
		pages: newFlights[*page](
			256,
			10*time.Minute,
		),
		wheels: newFlights[*facts](0, 0),
		reads:  newFlights[map[string]packages.Library](0, 0),
	}
	if i.cache == nil {
		i.cache = newMemory(64 << 20)
	}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	i.log = i.log.With("index", base.Host)
	i.client = i.newClient(o.Client)
	return i, nil
}

// Name is the host of the index, for messages.
func (i *Index) Name() string { return i.base.Host }

// String is the address without credentials.
func (i *Index) String() string { return i.base.String() }

// address takes the credentials out of a URL.
func address(raw string) (*url.URL, string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		// The parser's own message would quote the URL.
		return nil, "", fmt.Errorf(
			"package index %q: not a URL (want https://host/simple/)",
			redact(raw),
		)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, "", fmt.Errorf(
			"package index %q: not an http or https URL (want https://host/simple/)",
			redact(raw),
		)
	}
	auth := basic(u.User)
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	return u, auth, nil
}

// redact drops everything in front of the last "@", where a URL has its credentials, and everything
// behind a "?".
func redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "***" + rest[at:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + rest
}
