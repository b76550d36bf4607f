package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/compat-app/compat/internal/lazyregexp"
	gh "github.com/google/go-github/v60/github"
)

// Registered is an App that was made from a manifest a moment ago. Key and WebhookSecret are told
// once and never again.
type Registered struct {
	ID   int64
	Slug string // its name in addresses
	Name string // as people see it
	// its public page; "" where GitHub told an address of another host than its own
	Page          string
	Key           []byte // its private key, a PEM that ParseKey takes
	WebhookSecret []byte
}

// ErrCode is what Register answers when GitHub doesn't know the code: it was exchanged before, is
// older than an hour, or never was one.
var ErrCode = errors.New("github: the code of the new App is not known")

// RegisterError says that GitHub refused to exchange a code for another reason than the code.
type RegisterError struct {
	Status  int
	Message string // GitHub's words, cut
}

func (e *RegisterError) Error() string {
	return fmt.Sprintf("github: the code of the new App was rejected: %d %s", e.Status, e.Message)
}

// registerLimit is for the one request: a person waits for it.
const registerLimit = 30 * time.Second

// codes are what GitHub makes: nothing in them has to be escaped in a path.
var codes = lazyregexp.New(`^[A-Za-z0-9_-]{1,200}$`)

// slugs are GitHub's: lower-case letters, digits and hyphens.
var slugs = lazyregexp.New(`^[A-Za-z0-9-]{1,100}$`)

// Register exchanges the code of an App that somebody made from a manifest for the App's secrets:
// POST /app-manifests/{code}/conversions (docs.github.com: registering a GitHub App from a
// manifest). web is the root of GitHub's pages. The request carries no credentials, and is sent
// once: its answer can't be had again. It returns ErrCode, a *RegisterError, or an error of the
// connection, none of which holds the code.
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
	if _, err := ParseKey(r.Key); err != nil || r.ID <= 0 || !slugs.MatchString(r.Slug) ||
		len(r.WebhookSecret) == 0 {
		return nil, &RegisterError{
			Status:  http.StatusCreated,
			Message: "the response lacks the App's id, name, key or webhook secret",
		}
	}
	return r, nil
}

// registerError keeps the address out of an error: the code in it is as good as the App's key until
// it is exchanged.
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
