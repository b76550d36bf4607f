package github

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

const (
	// limit for the body of an error response; GitHub's have less than 4 KiB
	errorBytes = 64 << 10
	// JSON responses up to this size are read inside the retry loop, so that a truncated body is
	// retried too
	bufferBytes = 4 << 20
	// limit for a call with its retries, in addition to the deadline of the job
	callLimit = 5 * time.Minute
	idleLimit = 60 * time.Second // a download without any byte for this long has failed
	tries     = 4                // the first try and three retries
)

// api is shared by all clients.
type api struct {
	roots
	log   *slog.Logger
	agent string
	base  http.RoundTripper
	idle  time.Duration
	wait  func(try int) time.Duration // delay before retry number try

	etags *etagCache
}

func newBase() http.RoundTripper {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second,
			KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   20,
		IdleConnTimeout:       60 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
	}
}

func backoff(try int) time.Duration { return 150 * time.Millisecond << min(2*(try-1), 4) }

// newClient returns a go-github client for a transport. A redirect that leaves the API is not
// followed; the response is returned as an error.
func (x *api) newClient(tr http.RoundTripper) *gh.Client {
	c := gh.NewClient(
		&http.Client{
			Transport: tr,
			Timeout:   callLimit,
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if !x.contains(r.URL) || len(via) >= 5 {
					return http.ErrUseLastResponse
				}
				return nil
			},
		},
	)
	rest := *x.rest
	c.BaseURL, c.UserAgent = &rest, x.agent
	return c
}

// plain is the transport for requests that have credentials already (JWT, tokens). It sets
// User-Agent, logs, and limits error bodies.
func (x *api) plain() http.RoundTripper { return plain{x} }

type plain struct{ *api }

func (x plain) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", x.agent)
	}
	start := time.Now()
	resp, err := x.base.RoundTrip(r)
	took := slog.Duration("took", time.Since(start).Round(time.Millisecond))
	if err != nil { // the error may contain an address, so it is not logged
		x.log.DebugContext(r.Context(), "github call failed",
			"method", r.Method, "path", r.URL.Path, took)
		return nil, err
	}
	x.log.DebugContext(
		r.Context(),
		"github call",
		"method",
		r.Method,
		"path",
		r.URL.Path,
		"status",
		resp.StatusCode,
		took,
	)
	if resp.StatusCode >= 400 {
		resp.Body = bounded{io.LimitReader(resp.Body, errorBytes), resp.Body}
	}
	return resp, nil
}

type bounded struct {
	io.Reader
	io.Closer
}

const publicAPI = "https://api.github.com/"

// roots are the only addresses that receive credentials.
type roots struct {
	rest    *url.URL // ends with a slash, as go-github requires
	graphql *url.URL
}

// newRoots derives the GraphQL address from the REST root; on GitHub Enterprise Server (/api/v3)
// it is /api/graphql.
func newRoots(u *url.URL) (roots, error) {
	if u == nil {
		u, _ = url.Parse(publicAPI)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil ||
		u.RawQuery != "" ||
		u.Fragment != "" {
		return roots{}, fmt.Errorf(
			"github: API root %q: want http(s)://HOST[/PATH] without user name, password, query "+
				"and fragment",
			u.Redacted(),
		)
	}
	rest := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/") + "/"}
	graphql := *rest
	if before, ok := strings.CutSuffix(rest.Path, "/api/v3/"); ok {
		graphql.Path = before + "/api/graphql"
	} else {
		graphql.Path += "graphql"
	}
	return roots{rest, &graphql}, nil
}

// public reports whether this is github.com, whose storage hosts are known.
func (r roots) public() bool { return strings.EqualFold(hostPort(r.rest), "api.github.com:443") }

// contains reports whether an address is part of the API. Dot segments are refused because they
// could leave the root.
func (r roots) contains(u *url.URL) bool {
	if u.User != nil || !strings.EqualFold(u.Scheme, r.rest.Scheme) ||
		!strings.EqualFold(hostPort(u), hostPort(r.rest)) {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return strings.HasPrefix(u.Path, r.rest.Path) || u.Path == r.graphql.Path
}

func (r roots) is(u *url.URL, path string) bool { return u.Path == r.rest.Path+path }

func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case strings.EqualFold(u.Scheme, "http"):
		port = "80"
	default:
		port = "443"
	}
	return u.Hostname() + ":" + port
}
