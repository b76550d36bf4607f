package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/compat-app/compat/internal/sleep"
)

// repeat sends a request until there is neither a connection error nor a gateway error. safe
// means that sending it twice does no harm; other requests are retried only if they cannot have
// arrived.
func (x *api) repeat(
	r *http.Request,
	safe bool,
	send func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	for try := 1; ; try++ {
		q, err := replay(r)
		if err != nil {
			return nil, err
		}
		resp, err := send(q)
		if err == nil && resp.StatusCode < 300 {
			err = buffered(resp)
		}
		again := err != nil && (broken(err) && safe || unsent(err)) ||
			err == nil && safe && gateway(resp.StatusCode)
		if !again || try == tries || !replayable(r) || r.Context().Err() != nil {
			if err != nil {
				return nil, err
			}
			return resp, nil
		}
		if err == nil {
			drain(resp)
		}
		if sleep.For(r.Context(), x.wait(try)) != nil {
			return nil, context.Cause(r.Context())
		}
	}
}

// replay copies a request with a new body.
func replay(r *http.Request) (*http.Request, error) {
	q := r.Clone(r.Context())
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("github: read the request again: %w", err)
		}
		q.Body = body
	}
	return q, nil
}

// replayable reports whether the body of a request can be read again.
func replayable(r *http.Request) bool {
	return r.GetBody != nil || r.Body == nil || r.Body == http.NoBody
}

func gateway(status int) bool { return status == 502 || status == 503 || status == 504 }

// buffered reads a JSON response, so that a connection error in the body is found while the
// request can still be retried.
func buffered(resp *http.Response) error {
	if !strings.Contains(resp.Header.Get("Content-Type"), "json") {
		return nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, bufferBytes))
	if err != nil {
		resp.Body.Close()
		return err
	}
	resp.Body = bounded{io.MultiReader(strings.NewReader(string(head)), resp.Body), resp.Body}
	return nil
}

// drain reads the rest of a body, so that the connection can be used again.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, errorBytes))
	resp.Body.Close()
}

// lost wraps the error of a truncated response like net/http wraps connection errors.
func lost(r *http.Request, err error) error {
	op := r.Method[:1] + strings.ToLower(r.Method[1:])
	if safe(r) {
		op = "Get"
	}
	return &url.Error{Op: op, URL: r.URL.Host, Err: err}
}
