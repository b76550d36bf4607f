package github

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	gh "github.com/google/go-github/v60/github"
)

const (
	// what is read of an answer that reports an error; GitHub's are under 4 KiB
	errorBytes = 64 << 10
	// JSON answers up to this size are read within the retry loop, so that a cut in the body is
	// repeated too
	bufferBytes = 4 << 20
	// a whole call with its repeats: a backstop, jobs bring their own deadline
	callLimit = 5 * time.Minute
	idleLimit = 60 * time.Second // a download that brings no byte for so long is broken
	tries     = 4                // the first and three repeats
)

// api is what every client shares.
type api struct {
	roots
	log   *slog.Logger
	agent string
	base  http.RoundTripper
	idle  time.Duration
	wait  func(try int) time.Duration // before the repeat number try

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

// newClient makes a go-github client on a transport. A redirect that leaves the API isn't followed:
// its answer is returned as an error.
func (x *api) newClient(tr http.RoundTripper) *gh.Client {
	c := gh.NewClient(
		&http.Client{
			Transport: tr,
			Timeout:   callLimit,
			CheckRedirect: func(r *http.Request, via []*http.Request) error {
				if !x.holds(r.URL) || len(via) >= 5 {
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

// plain is the transport for requests that bring their own credentials (JWT, tokens): it names us,
// logs, and bounds error bodies.
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
	if err != nil { // may hold an address, so it is only returned
		x.log.DebugContext(
			r.Context(),
			"github call broke",
			"method",
			r.Method,
			"path",
			r.URL.Path,
			took,
		)
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
