package index

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
)

const (
	attempts   = 3 // what fails three times in some seconds usually keeps failing
	firstPause = 500 * time.Millisecond
	// a longer Retry-After is treated as an outage, because a person waits for the check
	longestPause = 30 * time.Second
	// tries only once for this long after an outage, so that 50 packages do not wait 50 times
	downFor      = 30 * time.Second
	stall        = 60 * time.Second // time without a byte
	maxRedirects = 5
)

// connect returns a client with timeouts. certificates is the path of a PEM file, or of a folder of
// them, that replaces the certificate authorities of the system, and proxy replaces the proxy of
// the environment; "" = nothing is replaced.
func connect(certificates, proxy string) (*http.Client, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
	}
	if proxy != "" {
		if !strings.Contains(proxy, "://") {
			proxy = "http://" + proxy // as pip's example "user:password@proxy:port"
		}
		u, err := url.Parse(proxy)
		if err != nil || u.Host == "" {
			// The parser's message would contain the password.
			return nil, fmt.Errorf("the proxy %q is not an address; correct PIP_PROXY", redact(proxy))
		}
		t.Proxy = http.ProxyURL(u)
	}
	if certificates == "" {
		return &http.Client{Transport: t}, nil
	}
	trusted, err := authorities(certificates)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &trusting{Transport: t, pem: trusted}}, nil
}

// trusting is a transport that trusts only given authorities. They are parsed before the first
// request, because a check without one would take a tenth longer.
type trusting struct {
	*http.Transport
	pem  []byte
	once sync.Once
	err  error
}

// RoundTrip implements http.RoundTripper.
func (t *trusting) RoundTrip(r *http.Request) (*http.Response, error) {
	t.once.Do(func() {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(t.pem) {
			t.err = errors.New("PIP_CERT, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE has no " +
				"certificate that can be read")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	})
	if t.err != nil {
		return nil, t.err
	}
	return t.Transport.RoundTrip(r)
}

// authorities returns the certificates in a PEM file, or in the files of a folder.
func authorities(file string) ([]byte, error) {
	files := []string{file}
	if entries, err := os.ReadDir(file); err == nil {
		files = nil
		for _, e := range entries {
			files = append(files, filepath.Join(file, e.Name()))
		}
	}
	var all []byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("the certificates: %w; correct PIP_CERT, REQUESTS_CA_BUNDLE, "+
				"CURL_CA_BUNDLE or SSL_CERT_FILE", err)
		}
		all = append(append(all, text...), '\n')
	}
	if !bytes.Contains(all, []byte("-----BEGIN CERTIFICATE-----")) {
		return nil, fmt.Errorf("%s has no certificate in PEM form; give a file that begins with "+
			"-----BEGIN CERTIFICATE-----", file)
	}
	return all, nil
}

// newClient returns a copy of a client with a redirect policy: credentials are only sent to the
// host of the index, and no redirect leads from https to http.
func (i *Index) newClient(given *http.Client) *http.Client {
	c := &http.Client{}
	*c = *given
	c.Jar = nil
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("a redirect from https to " + r.URL.Scheme)
		}
		r.URL.User = nil
		r.Header.Del("Referer")
		i.authorize(r)
		return nil
	}
	return c
}

// authorize sets the credentials if scheme, host and port are those of the index.
func (i *Index) authorize(r *http.Request) {
	r.Header.Del("Authorization")
	if i.auth != "" && r.URL.Host == i.base.Host && r.URL.Scheme == i.base.Scheme {
		r.Header.Set("Authorization", i.auth)
	}
}

// request is a GET request.
type request struct {
	url    *url.URL
	header map[string]string
}

const ifNoneMatch = "If-None-Match"

// do sends a request, with retries, until the status is 200 or 206, or 304 if the request has an
// ETag. The caller closes the body.
// Errors wrap ErrUnknown (404, 410), ErrUnavailable, ErrRefused (401, 403) or the error of ctx.
func (i *Index) do(ctx context.Context, q request) (*http.Response, error) {
	tries := i.tries()
	pause := firstPause
	for try := 1; ; try++ {
		resp, err := i.once(ctx, q)
		if err == nil {
			i.down.Store(0)
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var again *retryError
		if !errors.As(err, &again) {
			return nil, err
		}
		wait := max(again.after, pause)
		if try >= tries || wait > longestPause {
			i.outage()
			return nil, i.errorf(packages.ErrUnreachable, "%s (attempts: %d)", again.why, try)
		}
		i.log.DebugContext(
			ctx,
			"repeating a request to the package index",
			"host",
			q.url.Host,
			"reason",
			again.why,
			"in",
			wait,
		)
		if err := i.pause(ctx, wait); err != nil {
			return nil, err
		}
		pause *= 4
	}
}

// tries returns the number of attempts, which is 1 directly after an outage.
func (i *Index) tries() int {
	if time.Now().UnixNano() < i.down.Load() {
		return 1
	}
	return attempts
}

// outage records that all attempts failed.
func (i *Index) outage() { i.down.Store(time.Now().Add(downFor).UnixNano()) }

// retryError is a temporary failure.
type retryError struct {
	why    string
	after  time.Duration
	sha256 string // of a file that was received, but has another digest than expected
}

func (e *retryError) Error() string { return e.why }

func (i *Index) once(ctx context.Context, q request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.url.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, i.errorf(packages.ErrUnavailable, "%s has no usable address", q.url.Host)
	}
	for k, v := range q.header {
		r.Header.Set(k, v)
	}
	r.Header.Set("User-Agent", "compat")
	i.authorize(r)
	i.meter.requests.Add(1)
	resp, err := i.client.Do(r)
	if err != nil {
		cancel(nil)
		// *url.Error quotes the URL, whose query may contain a signature.
		var quoted *url.Error
		if errors.As(err, &quoted) {
			err = quoted.Err
		}
		return nil, &retryError{why: fmt.Sprintf("%s: %v", q.url.Host, err)}
	}
	resp.Body = &stalling{
		body:   resp.Body,
		timer:  time.AfterFunc(stall, func() { cancel(stalled{}) }),
		ctx:    ctx,
		cancel: cancel,
		meter:  &i.meter,
	}
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent,
		code == http.StatusNotModified && q.header[ifNoneMatch] != "":
		return resp, nil
	case code == http.StatusNotFound, code == http.StatusGone:
		err = i.errorf(packages.ErrUnknown, "%s answers %s", q.url.Host, resp.Status)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		err = i.errorf(
			packages.ErrRefused,
			"%s answers %s: check the credentials in the index URL or in netrc",
			q.url.Host,
			resp.Status,
		)
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		err = &retryError{
			why:   fmt.Sprintf("%s answers %s", q.url.Host, resp.Status),
			after: retryAfter(resp.Header.Get("Retry-After")),
		}
	default:
		err = i.errorf(packages.ErrUnavailable, "%s answers %s", q.url.Host, resp.Status)
	}
	resp.Body.Close()
	return nil, err
}

// retryAfter parses Retry-After, seconds or a date (RFC 9110, 10.2.3); 0 for neither.
func retryAfter(s string) time.Duration {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// stalled is the error of a body that stalls.
type stalled struct{}

func (stalled) Error() string { return fmt.Sprintf("no data for %v", stall) }

// stalling fails a body that stalls, and releases its context when it is closed.
type stalling struct {
	body   io.ReadCloser
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
	meter  *meter
}

func (s *stalling) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	s.meter.bytes.Add(int64(n))
	s.timer.Reset(stall)
	if err != nil && err != io.EOF && errors.Is(context.Cause(s.ctx), stalled{}) {
		err = stalled{}
	}
	return n, err
}

func (s *stalling) Close() error {
	s.timer.Stop()
	defer s.cancel(nil)
	return s.body.Close()
}

// answer is a whole response.
type answer struct {
	body  []byte
	kind  string   // Content-Type
	final *url.URL // after redirects
	etag  string   // "" = the server sends none, or one that cannot be sent back
	same  bool     // it is what has the ETag that was given; then there is nothing else
}

// maxETag limits an ETag in bytes, because it is cached and sent back.
const maxETag = 256

// get reads a whole body of at most limit bytes and retries interrupted ones. etag is that of an
// earlier response; "" = there is none.
func (i *Index) get(
	ctx context.Context,
	u *url.URL,
	accept, etag string,
	limit int64,
) (*answer, error) {
	tries := i.tries()
	header := map[string]string{"Accept": accept}
	if etag != "" {
		header[ifNoneMatch] = etag
	}
	for try := 1; ; try++ {
		resp, err := i.do(ctx, request{url: u, header: header})
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusNotModified {
			resp.Body.Close()
			return &answer{same: true}, nil
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
		resp.Body.Close()
		switch {
		case err == nil && int64(len(body)) > limit:
			return nil, i.errorf(
				packages.ErrUnavailable,
				"%s sends more than the limit of %d MiB",
				u.Host,
				limit>>20,
			)
		case err == nil:
			a := &answer{
				body: body, kind: resp.Header.Get("Content-Type"), final: resp.Request.URL,
				etag: resp.Header.Get("ETag"),
			}
			if len(a.etag) > maxETag {
				a.etag = ""
			}
			return a, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case try >= tries:
			i.outage()
			return nil, i.errorf(
				packages.ErrUnavailable,
				"%s did not send a complete response: %v (%d attempts)",
				u.Host,
				err,
				try,
			)
		}
	}
}
