// Package index reads from a package index (PEP 503 HTML or PEP 691 JSON) which versions of a
// package exist and which shared libraries a version contains. It implements packages.Source.
//
//	i, err := index.New(index.Options{URL: os.Getenv("PIP_INDEX_URL"), Log: log})
//	release, err := i.Release(ctx, "nvidia-nvjitlink-cu12", "12.9.86", packages.Target{Python: "3.12", Arch: "x86_64"})
//
// There is no default index. It only sends GET requests, to the index and to the URLs of files on
// its pages. Credentials (in the URL, in a netrc file or in the keyring) are sent to the host of
// the index only, not to hosts that it redirects or links to, and are in no message.
//
// Wheels are untrusted: analyzer/unpack reads them with limits, and they are neither executed nor
// installed. As little as possible is downloaded. For a wheel whose address a lock file has, no
// page is needed (WithLock). For a release in the built-in history the page of the project is
// enough, because its digests identify the release. For others, Release reads the directory of the
// wheel and Read the requested members, by range requests. If these are most of the file, or the
// index does not support ranges, a wheel of up to 600 MB is downloaded to an unlinked temporary
// file and verified against the digest. Results are cached by digest.
package index

import (
	"cmp"
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

// Options configures an Index. Only URL is required.
type Options struct {
	URL   string // "https://user:secret@host/simple/", http or https
	Netrc string // path of a netrc file; "" = none. Credentials in URL take precedence
	// Keyring asks the program keyring for the password of the user in URL, if URL has none.
	Keyring bool
	// Certificates is the path of a PEM file with the certificate authorities to trust; "" = those
	// of the system. Proxy is the address of the proxy; "" = that of the environment. Both are
	// ignored if Client is set.
	Certificates, Proxy string
	// nil = a client with timeouts and the proxy of the environment. Its redirect policy is
	// replaced
	Client  *http.Client
	History History // describes releases without a download; nil = none
	Cache   Cache   // nil = in memory, up to 64 MiB
	Facts   Facts   // has facts about wheels, which are then not read; nil = none
	// NewPages ignores the pages of projects in Cache; what it has of wheels does not change.
	NewPages bool
	TempDir  string       // for wheels; "" = the system's directory
	Log      *slog.Logger // nil = discard
}

// History describes known releases. WheelOf returns the file name of the wheel that a description
// was made from, and its SHA-256 in hex ("" = unknown).
type History interface {
	packages.Source
	WheelOf(name, version string, on packages.Target) (file, sha256 string, ok bool)
	Listed(file, sha256 string) (packages.Listed, bool)
}

// Cache caches facts about wheels. Get returns nil, nil for an absent key. It must be safe for
// concurrent use.
type Cache interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
}

// Facts returns what facts.Encode returned for the wheel with a SHA-256, or nil. It must be safe
// for concurrent use. *factstore.Store implements it.
type Facts interface {
	Get(ctx context.Context, sha256 string) []byte
}

// Index is a package index. It is safe for concurrent use.
type Index struct {
	*state
	locked *Locked // nil = the pages list all files
}

// state is shared by the forms of an Index.
type state struct {
	base     *url.URL // without credentials; the path ends with "/"
	auth     string   // Authorization header; "" = none
	client   *http.Client
	history  History
	cache    Cache
	store    Facts
	newPages bool // see Options.NewPages
	meter    meter
	tempDir  string
	log      *slog.Logger
	pages    *flights[*page]
	wheels   *flights[*facts]
	reads    *flights[map[string]packages.Library]
	hosts    *flights[[]string] // that the pages link to
	// Unix nanoseconds until which requests to a failing index are not retried
	down  atomic.Int64
	pause func(context.Context, time.Duration) error
	whole int64 // size limit in bytes of a wheel that is downloaded whole
	kept  int64 // size limit in bytes of an opened wheel that is read into memory
}

var _ packages.Reader = (*Index)(nil)

// New returns an Index. It sends no request. The error for an invalid URL does not contain its
// credentials.
func New(o Options) (*Index, error) {
	base, auth, err := address(o.URL)
	if err != nil {
		return nil, err
	}
	if u, err := url.Parse(strings.TrimSpace(o.URL)); err == nil && o.Keyring && u.User != nil {
		if _, has := u.User.Password(); !has {
			auth = cmp.Or(keyring(base, u.User.Username()), auth)
		}
	}
	if auth == "" && o.Netrc != "" {
		data, err := os.ReadFile(o.Netrc)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("package index %s: the netrc file: %w", base.Host, err)
		}
		auth = netrc(string(data), base.Hostname())
	}
	i := &Index{state: &state{
		base:     base,
		auth:     auth,
		history:  o.History,
		cache:    o.Cache,
		store:    o.Facts,
		newPages: o.NewPages,
		tempDir:  o.TempDir,
		log:      o.Log,
		pause:    sleep.For,
		whole:    maxWheel,
		kept:     keptWheel,
		pages:    newFlights[*page](256, PageLife),
		wheels:   newFlights[*facts](256, PageLife),
		reads:    newFlights[map[string]packages.Library](0, 0),
		hosts:    newFlights[[]string](1, factsLife),
	}}
	if i.cache == nil {
		i.cache = newMemoryCache(64 << 20)
	}
	if i.log == nil {
		i.log = slog.New(slog.DiscardHandler)
	}
	i.log = i.log.With("index", base.Host)
	client := o.Client
	if client == nil {
		if client, err = connect(o.Certificates, o.Proxy); err != nil {
			return nil, fmt.Errorf("package index %s: %w", base.Host, err)
		}
	}
	i.client = i.newClient(client)
	return i, nil
}

// Name returns the host of the index, for messages.
func (i *Index) Name() string { return i.base.Host }

// String returns the address without credentials.
func (i *Index) String() string { return i.base.String() }

// address separates the credentials from a URL.
func address(raw string) (*url.URL, string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Fragment != "" { // the fragment is the end of a password with "#"
		// The parser's message would contain the URL.
		return nil, "", fmt.Errorf(
			"package index %q: not a URL (want https://host/simple/, with special characters of a "+
				"password percent-encoded, # as %%23)",
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

// redact removes everything before the last "@", which may be credentials, and after "?".
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
