package github

import (
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
)

// auth sends a request with credentials.
type auth interface {
	// send authenticates and sends one request; used names the credentials, for renew.
	send(r *http.Request) (resp *http.Response, used any, err error)
	// renew drops the credentials that a 401 refused; false when there are no others.
	renew(used any) bool
}

// jwtAuth is the App itself: each request is signed anew, so there is nothing to renew.
type jwtAuth struct{ signed http.RoundTripper }

func (j jwtAuth) send(r *http.Request) (*http.Response, any, error) {
	resp, err := j.signed.RoundTrip(r)
	return resp, nil, err
}

func (j jwtAuth) renew(any) bool { return false }

// tokenAuth is one installation. ghinstallation keeps the token and renews it by its date; one that
// GitHub refuses before is dropped with its transport, since ghinstallation can't be told.
type tokenAuth struct {
	app *App
	id  int64

	mu  sync.Mutex
	now *ghinstallation.Transport
	// what the tokens may do; nil: all that the installation grants
	options *gh.InstallationTokenOptions
}

func newTokenAuth(a *App, id int64, options *gh.InstallationTokenOptions) (*tokenAuth, error) {
	t := &tokenAuth{app: a, id: id, options: options}
	var err error
	t.now, err = t.fresh()
	return t, err
}

// fresh makes a transport of its own for the installation: one AppsTransport shared by several is a
// data race (refreshToken writes to it).
func (t *tokenAuth) fresh() (*ghinstallation.Transport, error) {
	base := tokenCalls{t.app.api}
	signed, err := ghinstallation.NewAppsTransportWithOptions(
		base,
		t.app.id,
		ghinstallation.WithSigner(signer{t.app.key}),
	)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	tr := ghinstallation.NewFromAppsTransport(signed, t.id)
	tr.BaseURL = strings.TrimRight(t.app.api.rest.String(), "/")
	tr.InstallationTokenOptions = t.options
	return tr, nil
}

func (t *tokenAuth) send(r *http.Request) (*http.Response, any, error) {
	t.mu.Lock()
	tr := t.now
	t.mu.Unlock()
	token, err := tr.Token(r.Context())
	if err != nil {
		return nil, tr, t.tokenError(err)
	}
	r.Header.Set("Authorization", "token "+token)
	resp, err := t.app.api.plain().RoundTrip(r)
	return resp, tr, err
}

// renew puts a new transport in the place of the one used, once: fifty calls that meet 401 together
// ask for one new token.
func (t *tokenAuth) renew(used any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == used {
		tr, err := t.fresh()
		if err != nil {
			return false
		}
		t.now = tr
	}
	return true
}

// jobAuth is an installation with narrow tokens, for one job. Where GitHub refuses a narrow token
// (422: the installation has not granted what the App requests now, or the repository is no longer
// part of it), this job alone goes on with tokens for all that the installation grants.
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

// tokenError turns ghinstallation's error, which holds an open body, into one of ours.
func (t *tokenAuth) tokenError(err error) error {
	var he *ghinstallation.HTTPError
	if !errors.As(err, &he) || he.Response == nil {
		return &TokenError{Installation: t.id, Err: err}
	}
	defer he.Response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(he.Response.Body, errorBytes))
	if l := readLimit(he.Response, body, time.Now()); l != nil {
		return l
	}
	var said struct{ Message string }
	_ = json.Unmarshal(body, &said) // an HTML page has no message
	return &TokenError{
		Installation: t.id,
		Status:       he.Response.StatusCode,
		Message:      brief(said.Message),
	}
}

// TokenError says that GitHub gave no token for an installation.
type TokenError struct {
	Installation int64
	Status       int    // 0: no answer, see Err
	Message      string // GitHub's words, cut
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

// tokenCalls repeats token requests that broke: a token too many harms nobody.
type tokenCalls struct{ *api }

func (x tokenCalls) RoundTrip(r *http.Request) (*http.Response, error) {
	return x.repeat(
		r,
		true,
		func(r *http.Request) (*http.Response, error) { return x.plain().RoundTrip(r) },
	)
}

// Purpose is what a client is used for. It decides the permissions of its tokens.
type Purpose string

const (
	// Review reads runs and files of a repository and writes checks, comments and reviews.
	Review Purpose = "review"
	// Deployment reads runs and files of a repository and approves or rejects deployments.
	Deployment Purpose = "deployment"
	// Browse reads files of every repository of the installation.
	Browse Purpose = "browse"
)

// permissions are the least for a purpose; app.yml says what for.
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

// scope is what a token is for.
type scope struct {
	installation, repository int64
	purpose                  Purpose
}

// Narrow is Installation with tokens that are good for one repository (0: all of the installation)
// and one purpose, for one job: who gets hold of a token while a job of a repository runs can do
// nothing elsewhere. Tokens, limits, and what is known of repositories, are shared with the
// installation's other clients.
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
		if narrow, err = newTokenAuth(a, installation, options); err != nil {
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
