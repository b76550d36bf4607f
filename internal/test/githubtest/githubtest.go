// Package githubtest simulates GitHub: a stateful HTTP server with repositories, pull requests,
// workflow runs and artifacts that are created by a test (or `compat demo`), to which the App
// connects like to the real GitHub.
//
// It has the REST operations that compat uses, three GraphQL fields, the storage host that
// downloads are redirected to, the page that creates an App from a manifest, and signed webhook
// deliveries. It checks each request of the App: the token, the permission, GitHub's OpenAPI
// description (Options.Validate), and further rules (rules.go). Requests that GitHub would reject
// get status 422 and are added to Violations; so are requests that GitHub would accept but that
// are bad for users.
//
// It only connects to the App's webhook, and stores nothing on disk. The state consists of plain
// structs, to be read or changed inside Do.
//
//	s, err := githubtest.Start(githubtest.Options{})
//	s.Hook = "http://127.0.0.1:8080/webhook"
//	repo := s.NewRepo(s.Install("acme"), "widget", map[string]string{"pyproject.toml": "…"})
//	pull := s.OpenPull(repo, repo, "feature", s.User("maintainer"), map[string]string{"setup.py": "…"})
//	s.Send("pull_request", s.PullEvent(pull, "opened"))
package githubtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options configures Start. The zero value simulates api.github.com without validation by
// GitHub's description.
type Options struct {
	// Prefix is the path of the REST API: "" as on api.github.com (GraphQL at /graphql), or
	// "/api/v3" as on GitHub Enterprise Server (GraphQL at /api/graphql).
	Prefix string
	// Validate checks each REST request of a known operation, with its body; r.Pattern and
	// r.PathValue are set from GitHub's path template. An error is a violation with status 422.
	// nil = no validation.
	Validate func(r *http.Request, body []byte) error
	// TokenLife is the lifetime of installation tokens; 0 = one hour, as on GitHub.
	TokenLife time.Duration
}

// Server is a simulated GitHub with one App. AppID, Slug, BotLogin, Secret and Key are set by
// Start and must not be changed. Hook, TokenLife and Patience may be changed before the App
// starts, or inside Do.
type Server struct {
	AppID     int64
	Slug      string
	BotLogin  string // Slug + "[bot]": the author of what the App writes
	Secret    string // of the webhook
	Key       *rsa.PrivateKey
	OldKey    *rsa.PrivateKey // also valid, for key rotation; nil = none
	Hook      string          // the App's webhook address; "" makes deliveries fail
	TokenLife time.Duration
	// timeout of a delivery: ten seconds, as on GitHub; tests on a busy machine may increase it
	Patience time.Duration

	prefix   string
	validate func(*http.Request, []byte) error
	api      *listener
	storage  *listener

	mu         sync.Mutex
	last       int64 // the newest ID
	bot        *User
	users      map[string]*User
	installs   map[int64]*Installation
	repos      map[int64]*Repo
	tokens     map[string]*token
	links      map[string]*link
	deliveries []*Delivery
	faults     []*fault
	calls      []*Call
	violations []string

	permissions   map[string]string // permissions that the App requests at installation
	registrations []*Registration
	clientSecret  string
}

// Start starts the simulated GitHub on two loopback ports, for the API and for storage.
func Start(o Options) (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("githubtest: make the App's key: %w", err)
	}
	s := &Server{
		AppID:        4711,
		Slug:         "compat-test",
		Secret:       "hook-" + random(12),
		Key:          key,
		TokenLife:    o.TokenLife,
		Patience:     10 * time.Second,
		prefix:       o.Prefix,
		validate:     o.Validate,
		last:         5_000_000,
		permissions:  permissions.Get(),
		clientSecret: random(20),
		users:        map[string]*User{},
		installs:     map[int64]*Installation{},
		repos:        map[int64]*Repo{},
		tokens:       map[string]*token{},
		links:        map[string]*link{},
	}
	if s.TokenLife == 0 {
		s.TokenLife = time.Hour
	}
	s.BotLogin = s.Slug + "[bot]"
	s.bot = s.user(s.BotLogin)
	if s.api, err = listen(http.HandlerFunc(s.serveAPI)); err != nil {
		return nil, fmt.Errorf("githubtest: listen for the API: %w", err)
	}
	if s.storage, err = listen(http.HandlerFunc(s.serveStorage)); err != nil {
		s.api.close()
		return nil, fmt.Errorf("githubtest: listen for storage: %w", err)
	}
	return s, nil
}

// URL returns the REST root, the value of GITHUB_API_URL.
func (s *Server) URL() string { return s.api.url + s.prefix }

// StorageURL returns the root of the host that downloads are redirected to.
func (s *Server) StorageURL() string { return s.storage.url }

// Close closes all connections and listeners.
func (s *Server) Close() {
	s.api.close()
	s.storage.close()
}

// PEM returns the App's private key in GitHub's format.
func (s *Server) PEM() string {
	return string(
		pem.EncodeToMemory(
			&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.Key)},
		),
	)
}

// Do calls f with the state locked. f must not call methods of Server.
func (s *Server) Do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Calls returns the requests of the App, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Call, len(s.calls))
	for i, c := range s.calls {
		out[i] = *c
	}
	return out
}

// Violations returns the violations of the App, oldest first, one sentence each.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Secrets returns the strings that must not be in any output of the App: the webhook secret, the
// client secret, and all tokens.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{s.Secret, s.clientSecret}
	for t := range s.tokens {
		out = append(out, t)
	}
	return out
}

// violate adds a violation. The caller must hold the lock.
func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// id returns a new ID. GitHub's are unique per kind, these for all kinds. The caller must hold
// the lock, as for all unexported methods.
func (s *Server) id() int64 {
	s.last += 7
	return s.last
}

type listener struct {
	url    string
	server *http.Server
}

func listen(h http.Handler) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with close
	return &listener{url: "http://" + l.Addr().String(), server: s}, nil
}

func (l *listener) close() { _ = l.server.Close() }

func random(bytes int) string {
	b := make([]byte, bytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}
