package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// transport sends the calls of one installation, or of the App itself.
type transport struct {
	api     *api
	limiter *limiter
	auth    auth
	closed  *atomic.Bool // shared by the clients of an installation
}

// RoundTrip implements http.RoundTripper. Errors are *LimitError, *TokenError, ErrForgotten and
// connection errors.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.GetBody != nil {
		defer r.Body.Close() // only copies are sent
	}
	if !t.api.contains(r.URL) {
		return nil, fmt.Errorf(
			"github: %s %s://%s is outside of the API %s: no credentials for it",
			r.Method,
			r.URL.Scheme,
			r.URL.Host,
			t.api.rest,
		)
	}
	ctx := r.Context()
	free := t.api.is(r.URL, "rate_limit")
	if r.Method == http.MethodPost && creates(r.URL.Path) {
		if err := t.limiter.space(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.limiter.enter(ctx, free); err != nil {
		return nil, err
	}
	defer t.limiter.leave()
	renewed := false
	return t.api.repeat(r, safe(r), func(q *http.Request) (*http.Response, error) {
		for {
			resp, used, err := t.once(q, free)
			if err != nil || resp.StatusCode != http.StatusUnauthorized || renewed ||
				!replayable(r) ||
				!t.auth.renew(used) {
				return resp, err
			}
			renewed = true
			drain(resp)
			if q, err = replay(r); err != nil {
				return nil, err
			}
		}
	})
}

// once sends one request unless a limit lasts, and records a limit in the response.
func (t *transport) once(q *http.Request, free bool) (*http.Response, any, error) {
	if t.closed.Load() {
		return nil, nil, ErrForgotten
	}
	ctx := q.Context()
	if err := t.limiter.checkAll(ctx, free); err != nil {
		return nil, nil, err
	}
	key, old, now := t.api.etags.conditional(t.limiter.installation, q)
	if now != nil {
		return now, nil, nil
	}
	resp, used, err := t.auth.send(q)
	if err != nil {
		var l *LimitError
		if errors.As(err, &l) { // of the token request
			return nil, used, t.limiter.block(ctx, l)
		}
		return nil, used, err
	}
	switch resp.StatusCode {
	case http.StatusForbidden, http.StatusTooManyRequests:
		body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBytes))
		resp.Body.Close()
		if l := readLimit(resp, body, time.Now()); l != nil && !free {
			return nil, used, t.limiter.block(ctx, l)
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
	default:
		if l := spent(resp, time.Now()); l != nil && !free {
			_ = t.limiter.block(ctx, l) // for the next call; this one succeeded
		} else if resp.StatusCode < 400 {
			t.limiter.open(ctx)
		}
	}
	resp, err = t.api.etags.settle(key, old, resp)
	return resp, used, err
}

type repeatable struct{}

// safe reports whether a request can be sent twice.
func safe(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead ||
		r.Context().Value(repeatable{}) != nil
}

// creates reports whether a POST creates content with notifications, which GitHub limits most.
func creates(path string) bool {
	return strings.HasSuffix(path, "/comments") || strings.HasSuffix(path, "/reviews") ||
		strings.HasSuffix(path, "/replies")
}

// broken reports whether err is a connection error, so that the request may or may not have
// arrived.
func broken(err error) bool {
	var l *LimitError
	var t *TokenError
	return !errors.As(err, &l) && !errors.As(err, &t) && !errors.Is(err, ErrForgotten)
}

// unsent reports whether a request cannot have arrived, because no connection was made.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
