package github

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

const mostHops = 6

// storageHosts store the artifacts, assets and logs of github.com (docs.github.com: self-hosted
// runners, accessible domains).
var storageHosts = []string{
	".githubusercontent.com",
	".blob.core.windows.net",
	"codeload.github.com",
	".s3.amazonaws.com",
}

// allowed reports whether a redirect to an address may be followed. github.com redirects only to
// known hosts. Other servers may use any storage host, with plain http only on this machine or if
// the API has no TLS either.
func (r roots) allowed(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if host == "" || u.User != nil {
		return false
	}
	if r.public() {
		for _, h := range storageHosts {
			if u.Scheme == "https" &&
				(host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)) {
				return true
			}
		}
		return false
	}
	ip := net.ParseIP(host)
	return u.Scheme == "https" ||
		u.Scheme == "http" &&
			(r.rest.Scheme == "http" || host == "localhost" || ip != nil && ip.IsLoopback())
}

// open follows redirects. It sends the token as long as all addresses belong to the API, and not
// after the first that does not.
func (d *download) open(ctx context.Context) (*http.Response, error) {
	x := d.c.api
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	inside := &http.Client{Transport: d.c.tr, CheckRedirect: stay}
	outside := &http.Client{Transport: x.base, CheckRedirect: stay}
	next, trusted := d.url.String(), true
	for range mostHops {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, next, nil)
		if err != nil {
			return nil, errors.New("github: download: a redirect names no usable address")
		}
		trusted = trusted && x.contains(req.URL)
		req.Header.Set("User-Agent", x.agent)
		req.Header.Set("Accept-Encoding", "identity") // the digest is that of the stored bytes
		client := outside
		if trusted {
			client = inside
			if req.Header.Set("Accept", d.o.Accept); d.o.Accept == "" {
				req.Header.Set("Accept", "application/vnd.github+json")
			}
		} else if !x.allowed(req.URL) {
			return nil, &DownloadError{Err: ErrHost, Host: req.URL.Hostname()}
		} else if d.n > 0 {
			req.Header.Set("Range", "bytes="+strconv.FormatInt(d.n, 10)+"-")
			if d.etag != "" {
				req.Header.Set("If-Range", d.etag)
			}
		}
		resp, err := client.Do(req)
		if err != nil {
			if trusted {
				return nil, trustedError(err)
			}
			return nil, retryable("github: download: storage host %s: %w", req.URL.Hostname(), bare(err))
		}
		switch resp.StatusCode {
		case http.StatusMovedPermanently,
			http.StatusFound,
			http.StatusSeeOther,
			http.StatusTemporaryRedirect,
			http.StatusPermanentRedirect:
			drain(resp)
			to, err := resp.Location()
			if err != nil {
				return nil, errors.New("github: download: a redirect names no usable address")
			}
			next = to.String()
			continue
		}
		if trusted && resp.StatusCode >= 400 {
			defer resp.Body.Close()
			return nil, apiError(resp)
		}
		return resp, nil
	}
	return nil, errors.New("github: download: more than 6 redirects")
}

// trustedError classifies errors of authenticated requests: limits and token errors are final,
// and the transport has retried the others.
func trustedError(err error) error {
	if err = bare(err); broken(err) {
		return retryable("github: download: %w", err)
	}
	return fmt.Errorf("github: download: %w", err)
}

// apiError converts an error response of the API.
func apiError(resp *http.Response) error {
	if resp.StatusCode == http.StatusGone {
		return &DownloadError{Err: ErrExpired}
	}
	err := gh.CheckResponse(resp)
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 {
		return &retryableError{err}
	}
	return fmt.Errorf("github: download: %w", err)
}

// bare unwraps net/http's error, which contains the whole address with its signature.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
