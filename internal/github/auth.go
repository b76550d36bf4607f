package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/sleep"
)

// auth sends a request with credentials.
type auth interface {
	// send authenticates and sends one request. used identifies the credentials, for renew.
	send(r *http.Request) (resp *http.Response, used any, err error)
	// renew drops credentials that a 401 rejected. It returns false if there are no others.
	renew(used any) bool
}

// jwtAuth authenticates as the App itself. Each request gets a new signature.
type jwtAuth struct{ signed http.RoundTripper }

func (j jwtAuth) send(r *http.Request) (*http.Response, any, error) {
	resp, err := j.signed.RoundTrip(r)
	return resp, nil, err
}

func (j jwtAuth) renew(any) bool { return false }

// tokenAuth authenticates as one installation. It caches the token, here and for all replicas,
// until it expires or GitHub rejects it.
type tokenAuth struct {
	app     *App
	limiter *limiter
	key     string // name of the token in App.shared
	// permissions of the tokens; nil = all that the installation grants
	options *gh.InstallationTokenOptions

	mu       sync.Mutex // held while a token is requested
	now      token
	rejected string // the last token that a 401 rejected
}

// token is an installation token.
type token struct {
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// until when one replica requests a token, and the others wait for it
	Requested time.Time `json:"requested,omitzero"`
}

const (
	// a token is not used in the last minute before it expires
	tokenMargin = time.Minute
	// how long the other replicas wait for a replica that requests a token
	tokenRequest = 10 * time.Second
	tokenPoll    = 50 * time.Millisecond
)

// valid reports whether a request can use the token.
func (k token) valid() bool { return time.Now().Before(k.Expires.Add(-tokenMargin)) }

// newTokenAuth returns the credentials of an installation. scope identifies the options.
func newTokenAuth(
	a *App,
	g *limiter,
	scope string,
	options *gh.InstallationTokenOptions,
) (*tokenAuth, error) {
	key := fmt.Sprintf("github/token/%d%s", g.installation, scope)
	t := &tokenAuth{app: a, limiter: g, key: key, options: options}
	_, err := t.transport()
	return t, err
}

// transport returns a transport that requests one token. AppsTransports must not be shared:
// refreshToken writes to them.
func (t *tokenAuth) transport() (*ghinstallation.Transport, error) {
	base := tokenCalls{t.app.api}
	signed, err := ghinstallation.NewAppsTransportWithOptions(
		base,
		t.app.id,
		ghinstallation.WithSigner(signer{t.app.key}),
	)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	tr := ghinstallation.NewFromAppsTransport(signed, t.limiter.installation)
	tr.BaseURL = strings.TrimRight(t.app.api.rest.String(), "/")
	tr.InstallationTokenOptions = t.options
	return tr, nil
}

func (t *tokenAuth) send(r *http.Request) (*http.Response, any, error) {
	text, err := t.token(r.Context())
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "token "+text)
	resp, err := t.app.api.plain().RoundTrip(r)
	return resp, text, err
}

// token returns the cached token or a new one. Concurrent calls wait for one request.
func (t *tokenAuth) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.valid() {
		return t.now.Token, nil
	}
	found, err := t.common(ctx)
	if err != nil {
		return "", err
	}
	t.now = found
	return found.Token, nil
}

// common returns the token of all replicas. If there is none, one replica requests it and the
// others wait.
func (t *tokenAuth) common(ctx context.Context) (token, error) {
	for {
		var found token
		mine := false
		ok := updateSealed(ctx, t.app.shared, t.key, tokenRequest, func(k token) (token, bool) {
			found, mine = token{}, false
			switch {
			case k.valid() && k.Token != t.rejected:
				found = k
				return k, false
			case time.Now().Before(k.Requested):
				return k, false
			}
			mine = true
			return token{Requested: time.Now().Add(tokenRequest)}, true
		})
		switch {
		case !ok:
			return t.request(ctx)
		case found.valid():
			return found, nil
		case mine:
			return t.publish(ctx)
		}
		if sleep.For(ctx, tokenPoll) != nil {
			return token{}, context.Cause(ctx)
		}
		if err := t.limiter.checkAll(ctx, false); err != nil { // of the other's request
			return token{}, err
		}
	}
}

// publish requests a token and stores it for the other replicas. If GitHub refuses it, another
// replica may try; in a rate limit the caller stores the limit, which the others find.
func (t *tokenAuth) publish(ctx context.Context) (token, error) {
	fresh, err := t.request(ctx)
	if l := (*LimitError)(nil); errors.As(err, &l) {
		return token{}, err
	}
	ttl := max(time.Until(fresh.Expires), time.Second)
	updateSealed(context.WithoutCancel(ctx), t.app.shared, t.key, ttl, func(token) (token, bool) {
		return fresh, true
	})
	return fresh, err
}

// request requests a token from GitHub.
func (t *tokenAuth) request(ctx context.Context) (token, error) {
	tr, err := t.transport()
	if err != nil {
		return token{}, err
	}
	text, err := tr.Token(ctx)
	if err != nil {
		return token{}, t.tokenError(err)
	}
	expires, _, err := tr.Expiry()
	if err != nil {
		return token{}, t.tokenError(err)
	}
	return token{Token: text, Expires: expires}, nil
}

// renew drops the token if it is still the one used, so that concurrent calls with a 401 request
// one new token together.
func (t *tokenAuth) renew(used any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, _ := used.(string); t.now.Token == text {
		t.now, t.rejected = token{}, text
	}
	return true
}

// jobAuth authenticates one job with tokens of limited scope. If GitHub refuses such a token
// (422: the installation has not granted what the App requests now, or the repository is no
// longer part of it), the job continues with tokens of the whole installation.
type jobAuth struct {
	narrow, all auth
	log         *slog.Logger

	widened atomic.Bool
}

func (j *jobAuth) send(r *http.Request) (*http.Response, any, error) {
	if j.widened.Load() {
		return j.all.send(r)
	}
	resp, used, err := j.narrow.send(r)
	e := (*TokenError)(nil)
	if !errors.As(err, &e) || e.Status != http.StatusUnprocessableEntity {
		return resp, used, err
	}
	j.log.Warn(
		"GitHub refuses a narrow token; this job uses one for the whole installation",
		"installation", e.Installation, "message", e.Message,
	)
	j.widened.Store(true)
	return j.all.send(r)
}

func (j *jobAuth) renew(used any) bool {
	if j.widened.Load() {
		return j.all.renew(used)
	}
	return j.narrow.renew(used)
}

// tokenError converts ghinstallation's error, which contains an open body.
func (t *tokenAuth) tokenError(err error) error {
	var he *ghinstallation.HTTPError
	if !errors.As(err, &he) || he.Response == nil {
		return &TokenError{Installation: t.limiter.installation, Err: err}
	}
	defer he.Response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(he.Response.Body, errorBytes))
	if l := readLimit(he.Response, body, time.Now()); l != nil {
		return l
	}
	var said struct{ Message string }
	_ = json.Unmarshal(body, &said) // an HTML page has no message
	return &TokenError{
		Installation: t.limiter.installation,
		Status:       he.Response.StatusCode,
		Message:      brief(said.Message),
	}
}

// TokenError reports that GitHub issued no token for an installation.
type TokenError struct {
	Installation int64
	Status       int    // HTTP status; 0 = no response, see Err
	Message      string // GitHub's message, truncated
	Err          error
}

func (e *TokenError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("github: no token for installation %d: %v", e.Installation, e.Err)
	}
	return fmt.Sprintf(
		"github: no token for installation %d: %d %s",
		e.Installation,
		e.Status,
		e.Message,
	)
}

func (e *TokenError) Unwrap() error { return e.Err }

// tokenCalls retries token requests; a surplus token does no harm.
type tokenCalls struct{ *api }

func (x tokenCalls) RoundTrip(r *http.Request) (*http.Response, error) {
	return x.repeat(
		r,
		true,
		func(r *http.Request) (*http.Response, error) { return x.plain().RoundTrip(r) },
	)
}

// Purpose is the use of a client. It decides the permissions of its tokens.
type Purpose string

const (
	// Review reads workflow runs and files of a repository and writes checks, comments and
	// reviews.
	Review Purpose = "review"
	// Deployment reads workflow runs and files of a repository and approves or rejects
	// deployments.
	Deployment Purpose = "deployment"
	// Browse reads files of all repositories of the installation.
	Browse Purpose = "browse"
)

// permissions returns the least permissions for a purpose; app.yml explains them.
func (p Purpose) permissions() *gh.InstallationPermissions {
	read, write := gh.String("read"), gh.String("write")
	switch p {
	case Review:
		return &gh.InstallationPermissions{
			Metadata:     read,
			Contents:     read,
			Actions:      read,
			Checks:       write,
			PullRequests: write,
			Issues:       write,
		}
	case Deployment:
		return &gh.InstallationPermissions{
			Metadata:    read,
			Contents:    read,
			Actions:     read,
			Deployments: write,
		}
	}
	return &gh.InstallationPermissions{Metadata: read, Contents: read}
}

// scope is what a token gives access to.
type scope struct {
	installation, repository int64
	purpose                  Purpose
}

// name is the name of its tokens in App.shared.
func (s scope) name() string { return fmt.Sprintf("/%d/%s", s.repository, s.purpose) }

// Narrow returns a client for one job, whose tokens are valid for one repository (0 = all of the
// installation) and one purpose. A token leaked while a job runs cannot be used for other
// repositories. Tokens, limits and cached repositories are shared with the other clients of the
// installation.
func (a *App) Narrow(installation, repository int64, purpose Purpose) (*Client, error) {
	wide, err := a.Installation(installation)
	if err != nil {
		return nil, err
	}
	if repository < 0 {
		return nil, fmt.Errorf("github: repository id %d is negative", repository)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := scope{installation, repository, purpose}
	narrow := a.narrow[s]
	if narrow == nil {
		options := &gh.InstallationTokenOptions{Permissions: purpose.permissions()}
		if repository != 0 {
			options.RepositoryIDs = []int64{repository}
		}
		if narrow, err = newTokenAuth(a, wide.tr.limiter, s.name(), options); err != nil {
			return nil, err
		}
		a.narrow[s] = narrow
	}
	tr := &transport{
		api:     a.api,
		limiter: wide.tr.limiter,
		auth:    &jobAuth{narrow: narrow, all: wide.tr.auth, log: a.api.log},
		closed:  wide.tr.closed,
	}
	return &Client{
		Client:       a.api.newClient(tr),
		api:          a.api,
		tr:           tr,
		repositories: wide.repositories,
	}, nil
}
