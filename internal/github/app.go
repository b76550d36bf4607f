// Package github provides clients for GitHub's API.
//
// An App holds the private key of the GitHub App. It returns one Client per installation: a
// go-github client with a transport that follows GitHub's rules, and methods for the calls that
// go-github v60 does not support or does not do safely (lists with digests, GraphQL, downloads).
//
//	app, err := github.New(github.Options{AppID: 12, Key: key, API: root, Log: log})
//	c, err := app.Installation(48000001)
//	pull, _, err := c.PullRequests.Get(ctx, "octo", "widget", 7)
//	class := github.Classify(err)
//
// For each call the transport of an installation
//   - refuses addresses outside the API root, so a token never reaches another host;
//   - retries a GET after a connection error, 502, 503 or 504, and any request once with a new
//     token after a 401. A write whose response was lost is not retried: Classify returns Unsure,
//     and the caller reads before it writes again;
//   - fails with a *LimitError, without a request, while a rate limit lasts;
//   - revalidates cached responses with their ETag, which GitHub does not count;
//   - runs at most ten requests at once, and delays comments and reviews.
//
// With Options.Shared, limits, the times of comments and tokens are common to all replicas.
//
// The package never waits for the end of a rate limit (the queue does), and never logs or returns
// a token, a key or a signed address.
package github

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"
)

// Options configures New.
type Options struct {
	AppID int64
	Key   crypto.Signer // signs with the private RSA key of the App, PKCS #1 v1.5
	// REST root, with or without /api/v3 and trailing slash; nil = GitHub's public API
	API *url.URL
	Log *slog.Logger // nil = discard
	// transport of all requests, including downloads; nil = a new net/http transport
	Transport http.RoundTripper
	UserAgent string // "" = "compat"
	// store for limits and tokens of all replicas; nil = this process is the only replica
	Shared Shared
	// secret that encrypts tokens in Shared, the same in all replicas; not empty with Shared
	Secret []byte
	// delay before retry number try; nil = 150 ms, 600 ms, 2.4 s
	Backoff func(try int) time.Duration
}

// App returns the clients of a GitHub App. It is safe for concurrent use.
type App struct {
	id     int64
	key    crypto.Signer
	api    *api
	client *gh.Client
	shared *shared // nil = this process is the only replica

	mu       sync.Mutex
	clients  map[int64]*Client
	narrow   map[scope]*tokenAuth // tokens limited to one repository or purpose
	limiters map[int64]*limiter   // kept by Forget: GitHub still enforces the limit
	slug     string
}

// Client calls the API for one installation. It is safe for concurrent use.
type Client struct {
	*gh.Client
	api          *api
	tr           *transport
	repositories *repositoryCache // shared by the clients of an installation
}

// New returns an App. It opens no connection. It returns an error if AppID is not positive, Key
// is nil, or API is not an absolute http or https URL.
func New(o Options) (*App, error) {
	if o.AppID <= 0 {
		return nil, fmt.Errorf("github: App id %d is not positive", o.AppID)
	}
	if o.Key == nil {
		return nil, errors.New("github: the App has no key")
	}
	at, err := newRoots(o.API)
	if err != nil {
		return nil, err
	}
	x := &api{
		roots: at,
		log:   o.Log,
		agent: o.UserAgent,
		base:  o.Transport,
		idle:  idleLimit,
		wait:  o.Backoff,
		etags: newETagCache(),
	}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	if x.agent == "" {
		x.agent = "compat"
	}
	if x.wait == nil {
		x.wait = backoff
	}
	if x.base == nil {
		x.base = newBase()
	}
	var replicas *shared
	if o.Shared != nil {
		if len(o.Secret) == 0 {
			return nil, errors.New("github: there is no secret to encrypt shared tokens")
		}
		if replicas, err = newShared(o.Shared, o.Secret, x.log); err != nil {
			return nil, err
		}
	}
	a := &App{
		shared:   replicas,
		id:       o.AppID,
		key:      o.Key,
		api:      x,
		clients:  map[int64]*Client{},
		narrow:   map[scope]*tokenAuth{},
		limiters: map[int64]*limiter{},
	}
	signed, err := ghinstallation.NewAppsTransportWithOptions(
		x.plain(),
		a.id,
		ghinstallation.WithSigner(signer{o.Key}),
	)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	a.client = x.newClient(&transport{api: x, limiter: newLimiter(0, replicas), auth: jwtAuth{signed},
		closed: new(atomic.Bool)})
	return a, nil
}

// ID returns the App ID.
func (a *App) ID() int64 { return a.id }

// Client returns a client that authenticates as the App itself, for deliveries, installations and
// the App's own record.
func (a *App) Client() *gh.Client { return a.client }

// Installation returns the client of an installation. It returns the same client until Forget.
func (a *App) Installation(id int64) (*Client, error) {
	if id <= 0 {
		return nil, fmt.Errorf("github: installation id %d is not positive", id)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.clients[id]; c != nil {
		return c, nil
	}
	if a.limiters[id] == nil {
		a.limiters[id] = newLimiter(id, a.shared)
	}
	auth, err := newTokenAuth(a, a.limiters[id], "", nil)
	if err != nil {
		return nil, err
	}
	tr := &transport{api: a.api, limiter: a.limiters[id], auth: auth, closed: new(atomic.Bool)}
	c := &Client{
		Client:       a.api.newClient(tr),
		api:          a.api,
		tr:           tr,
		repositories: &repositoryCache{},
	}
	a.clients[id] = c
	return c, nil
}

// Forget drops the client of an installation that was suspended or deleted. Clients returned
// before fail with ErrForgotten. The next call of Installation makes a new client.
func (a *App) Forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.clients[id]; c != nil {
		c.tr.closed.Store(true)
		delete(a.clients, id)
	}
	for s := range a.narrow {
		if s.installation == id {
			delete(a.narrow, s)
		}
	}
	if g := a.limiters[id]; g != nil && !g.blocked().After(time.Now()) {
		delete(a.limiters, id)
	}
}

// Slug returns the App's name in URLs. It is cached.
func (a *App) Slug(ctx context.Context) (string, error) {
	a.mu.Lock()
	slug := a.slug
	a.mu.Unlock()
	if slug != "" {
		return slug, nil
	}
	app, _, err := a.client.Apps.Get(ctx, "")
	if err != nil {
		return "", fmt.Errorf("github: identify App %d: %w", a.id, err)
	}
	if app.GetSlug() == "" {
		return "", errors.New("github: the response of GET /app has no slug")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slug = app.GetSlug()
	return a.slug, nil
}

// Bot returns the login of the App's comments: its slug followed by "[bot]".
func (a *App) Bot(ctx context.Context) (string, error) {
	slug, err := a.Slug(ctx)
	if err != nil {
		return "", err
	}
	return slug + "[bot]", nil
}

// ErrForgotten is the error of a client after App.Forget.
var ErrForgotten = errors.New("github: the installation was suspended or deleted")
