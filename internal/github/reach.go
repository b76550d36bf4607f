package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Reach requests the rate limit without credentials, which does not count against it. It returns an
// error if no server answers. Each status is an answer: that of a GitHub Enterprise Server without
// limits is 404.
func Reach(ctx context.Context, o Options) error {
	at, err := newRoots(o.API)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, registerLimit)
	defer cancel()
	limit := at.rest.JoinPath("rate_limit").String()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, limit, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "compat")
	base := o.Transport
	if base == nil {
		base = newBase()
	}
	res, err := base.RoundTrip(req)
	var sent *url.Error
	if errors.As(err, &sent) { // the caller names the address
		return sent.Err
	}
	if err != nil {
		return err
	}
	return res.Body.Close()
}
