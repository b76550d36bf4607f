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

// storageHosts hold the artifacts, assets and logs of GitHub's public service (docs.github.com:
// self-hosted runners, accessible domains).
var storageHosts = []string{
	".githubusercontent.com",
	".blob.core.windows.net",
	"codeload.github.com",
	".s3.amazonaws.com",
}

// allowed says whether bytes may be fetched from an address that a redirect names. GitHub's public
// API only sends to hosts that are known; another GitHub has storage of its own, over plain http
// only on this machine or where the API has no TLS either.
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

// open follows the redirects by hand: with the token while the address is the API's, and never
// again after it was not.
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
		trusted = trusted && x.holds(req.URL)
		req.Header.Set("User-Agent", x.agent)
		req.Header.Set("Accept-Encoding", "identity") // the digest is of the bytes as stored
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
			return nil, again(
				"github: download: storage host %s: %w",
				req.URL.Hostname(),
				bare(err),
			)
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

// trustedError sorts the errors of the authenticated hop: limits and tokens are final, the
// transport has repeated the rest already.
func trustedError(err error) error {
	if err = bare(err); broken(err) {
		return again("github: download: %w", err)
	}
	return fmt.Errorf("github: download: %w", err)
}

// apiError reads an error answer of the API itself.
func apiError(resp *http.Response) error {
	if resp.StatusCode == http.StatusGone {
		return &DownloadError{Err: ErrExpired}
	}
	err := gh.CheckResponse(resp)
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode >= 500 {
		return &againError{err}
	}
	return fmt.Errorf("github: download: %w", err)
}

// bare takes net/http's wrapping off an error: it holds the whole address, with the signature that
// opens it.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
