package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/lazyregexp"
	gh "github.com/google/go-github/v60/github"
)

// Registered is a new App that was created from a manifest. GitHub returns Key and WebhookSecret
// only once.
type Registered struct {
	ID   int64
	Slug string // name in URLs
	Name string // display name
	// public page of the App; "" if GitHub's response has an address on another host
	Page          string
	Key           []byte // private key, a PEM
	WebhookSecret []byte
}

// ErrCode is the error of Register if GitHub does not know the code: it was used before, is older
// than an hour, or never existed.
var ErrCode = errors.New("github: the code of the new App is not known")

// RegisterError reports that GitHub rejected the exchange for another reason than the code.
type RegisterError struct {
	Status  int
	Message string // GitHub's message, truncated
}

func (e *RegisterError) Error() string {
	return fmt.Sprintf("github: the code of the new App was rejected: %d %s", e.Status, e.Message)
}

// registerLimit is the timeout of the request; a person waits for it.
const registerLimit = 30 * time.Second

// codes matches GitHub's codes, which need no escaping in a path.
var codes = lazyregexp.New(`^[A-Za-z0-9_-]{1,200}$`)

// slugs matches GitHub's slugs.
var slugs = lazyregexp.New(`^[A-Za-z0-9-]{1,100}$`)

// Register exchanges the code of an App that was created from a manifest for its secrets: POST
// /app-manifests/{code}/conversions (docs.github.com: registering a GitHub App from a manifest).
// web is the root of GitHub's web pages. The request has no credentials and is not retried,
// because a code works once. It returns ErrCode, a *RegisterError or a connection error. No error
// contains the code.
func Register(ctx context.Context, o Options, web *url.URL, code string) (*Registered, error) {
	at, err := newRoots(o.API)
	if err != nil {
		return nil, err
	}
	if !codes.MatchString(code) {
		return nil, ErrCode
	}
	base := o.Transport
	if base == nil {
		base = newBase()
	}
	client := gh.NewClient(
		&http.Client{
			Transport:     base,
			Timeout:       registerLimit,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	)
	client.BaseURL, client.UserAgent = at.rest, "compat"
	app, _, err := client.Apps.CompleteAppManifest(ctx, code)
	if err != nil {
		return nil, registerError(err)
	}
	r := &Registered{
		ID:            app.GetID(),
		Slug:          app.GetSlug(),
		Name:          app.GetName(),
		Key:           []byte(app.GetPEM()),
		WebhookSecret: []byte(app.GetWebhookSecret()),
	}
	if page, err := url.Parse(app.GetHTMLURL()); err == nil && page.Scheme == web.Scheme &&
		page.Host == web.Host &&
		page.User == nil {
		r.Page = page.String()
	}
	if _, err := appkey.Parse(r.Key); err != nil || r.ID <= 0 || !slugs.MatchString(r.Slug) ||
		len(r.WebhookSecret) == 0 {
		return nil, &RegisterError{
			Status:  http.StatusCreated,
			Message: "the response lacks the App's id, name, key or webhook secret",
		}
	}
	return r, nil
}

// registerError removes the address from an error: until it is exchanged, the code in it is as
// valuable as the App's key.
func registerError(err error) error {
	var resp *gh.ErrorResponse
	var primary *gh.RateLimitError
	var abuse *gh.AbuseRateLimitError
	var broke *url.Error
	switch {
	case errors.As(err, &primary):
		return &RegisterError{primary.Response.StatusCode, brief(primary.Message)}
	case errors.As(err, &abuse):
		return &RegisterError{abuse.Response.StatusCode, brief(abuse.Message)}
	case errors.As(err, &resp) && resp.Response.StatusCode == http.StatusNotFound:
		return ErrCode
	case errors.As(err, &resp):
		return &RegisterError{resp.Response.StatusCode, brief(resp.Message)}
	case errors.As(err, &broke):
		return broke.Err
	}
	return errors.New("the response cannot be read")
}
