// Package githubtest is a GitHub of our own: a stateful server over real HTTP that a story (or
// `compat demo`) fills with repositories, pull requests, workflow runs and artifacts, and that the
// App then talks to as it would to the real one.
//
// It knows the REST operations that compat uses, three GraphQL fields, the storage host that
// downloads are redirected to, the page on which somebody makes an App from a manifest, and webhook
// deliveries signed with the App's secret. It checks what the App sends: the token, the permission,
// GitHub's own description of the API (through Options.Validate), and the rules that the
// description leaves out (rules.go). What GitHub would refuse is answered with 422 and kept in
// Violations; what GitHub would let pass but a user would suffer from is only kept.
//
// It never calls anything but the App's webhook, and it keeps nothing on disk. State is plain
// structs: read or change it inside Do.
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

// Options of Start. The zero value is api.github.com without the check against GitHub's
// description.
type Options struct {
	// Prefix is where REST answers: "" as on api.github.com (GraphQL at /graphql), or "/api/v3" as
	// on GitHub Enterprise Server (GraphQL at /api/graphql).
	Prefix string
	// Validate is asked about every REST request of a known operation, with its body; r.Pattern and
	// r.PathValue are set from GitHub's path template. An error is a violation and a 422. Nil: not
	// checked.
	Validate func(r *http.Request, body []byte) error
	// TokenLife is how long installation tokens live. 0: one hour, as at GitHub.
	TokenLife time.Duration
}

// Server is one GitHub with one App. AppID, Slug, BotLogin, Secret and Key are made by Start and
// stay; Hook, TokenLife and Patience may be changed before the App starts, or inside Do.
type Server struct {
	AppID     int64
	Slug      string
	BotLogin  string // Slug + "[bot]": the author of what the App writes
	Secret    string // of webhooks
	Key       *rsa.PrivateKey
	OldKey    *rsa.PrivateKey // valid too, while Key is rotated; nil: there is none
	Hook      string          // the App's webhook address; "" makes deliveries fail
	TokenLife time.Duration
	// with the App's answer to a delivery: ten seconds, as GitHub's; a test that a busy machine
	// runs may have more
	Patience time.Duration

	prefix   string
	validate func(*http.Request, []byte) error
	api      *listener
	storage  *listener

	mu         sync.Mutex
	last       int64 // the newest id
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

	permissions   map[string]string // what the App asks for at its installation
	registrations []*Registration
	clientSecret  string
}

// Start makes a GitHub and listens on two loopback ports, for the API and for storage.
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

// URL is the REST root, what the App is given as GITHUB_API_URL.
func (s *Server) URL() string { return s.api.url + s.prefix }

// StorageURL is the root of the host that artifact and asset downloads are redirected to.
func (s *Server) StorageURL() string { return s.storage.url }

// Close cuts every connection and stops listening.
func (s *Server) Close() {
	s.api.close()
	s.storage.close()
}

// PEM is the App's private key as GitHub hands it out.
func (s *Server) PEM() string {
	return string(
		pem.EncodeToMemory(
			&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(s.Key)},
		),
	)
}

// Do runs f while nothing else reads or changes the state. f must not call other methods of Server.
func (s *Server) Do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Calls returns what the App asked so far, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Call, len(s.calls))
	for i, c := range s.calls {
		out[i] = *c
	}
	return out
}

// Violations returns what the App did that GitHub refuses or forbids, oldest first, one sentence
// each.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Secrets returns every string that must show up in no output of the App: the webhook secret the
// App's client secret, and all tokens given out.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{s.Secret, s.clientSecret}
	for t := range s.tokens {
		out = append(out, t)
	}
	return out
}

// violate keeps a violation. The caller holds the lock.
func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// id gives a fresh id; GitHub's are unique per kind only, ours altogether. The caller holds the
// lock, as of all lower-case methods.
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
