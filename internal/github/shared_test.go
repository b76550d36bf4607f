package github

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// table is a Shared in memory.
type table struct {
	mu     sync.Mutex
	values map[string][]byte
	down   bool
}

var errDown = errors.New("the store is down")

func (m *table) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, errDown
	}
	return m.values[key], nil
}

func (m *table) Update(
	_ context.Context,
	key string,
	_ time.Duration,
	change func([]byte) ([]byte, error),
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return errDown
	}
	value, err := change(m.values[key])
	if err == nil && value != nil {
		m.values[key] = value
	}
	return err
}

// replicas returns clients of one installation in n processes with a common store.
func (h *hub) replicas(n int, secrets ...string) (*table, []*Client) {
	h.t.Helper()
	m := &table{values: map[string][]byte{}}
	var clients []*Client
	for i := range n {
		root, err := url.Parse(h.api.URL)
		if err != nil {
			h.t.Fatal(err)
		}
		a, err := New(Options{
			AppID: 4711, Key: testKey(), API: root, Shared: m,
			Secret:  []byte(secrets[i%len(secrets)]),
			Backoff: func(int) time.Duration { return time.Millisecond },
		})
		if err != nil {
			h.t.Fatal(err)
		}
		c, err := a.Narrow(5, 9, Review)
		if err != nil {
			h.t.Fatal(err)
		}
		clients = append(clients, c)
	}
	return m, clients
}

func get(t *testing.T, c *Client) error {
	_, _, err := c.Repositories.Get(t.Context(), "o", "r")
	return err
}

// Of forty concurrent calls of four replicas, one requests a token. After it was revoked, one
// requests another.
func TestReplicasShareTokens(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 200, map[string]any{"id": 1}) }
	m, clients := h.replicas(4, "secret")
	calls := func(want int) {
		t.Helper()
		var wait sync.WaitGroup
		for i := range 40 {
			wait.Go(func() {
				if err := get(t, clients[i%4]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if h.issued != want {
			t.Errorf("%d token requests, want %d", h.issued, want)
		}
	}
	calls(1)
	h.revoke()
	calls(2)
	for key, value := range m.values {
		for _, token := range h.tokens {
			if bytes.Contains(value, []byte(token[:20])) {
				t.Errorf("%s has a token that is not encrypted", key)
			}
		}
	}
}

// A token that was encrypted with another secret, or for another scope, is not used.
func TestTokensAreSealed(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 200, map[string]any{"id": 1}) }
	m, clients := h.replicas(2, "secret", "another")
	s, err := newShared(m, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	wide, narrow := "github/token/5", "github/token/5/9/review"
	updateSealed(t.Context(), s, wide, time.Hour, func(token) (token, bool) {
		return token{Token: "of the whole installation", Expires: time.Now().Add(time.Hour)}, true
	})
	m.values[narrow] = m.values[wide]
	for i, want := range []int{1, 2} {
		if err := get(t, clients[i]); err != nil || h.issued != want {
			t.Errorf("replica %d: %v, %d token requests, want %d", i, err, h.issued, want)
		}
	}
	if n := h.count("GET /repos/o/r"); n != 2 {
		t.Errorf("%d calls, want 2: one was made with another token", n)
	}
}

// A limit that GitHub reports to one replica is known to all: it refuses one call in total. A
// success that used the last call of the hour is enough.
func TestReplicasShareLimits(t *testing.T) {
	reset := func(w http.ResponseWriter) {
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
	}
	for name, respond := range map[string]func(http.ResponseWriter){
		"primary": func(w http.ResponseWriter) { reset(w); w.WriteHeader(403) },
		"secondary": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(429)
		},
		"no time":   func(w http.ResponseWriter) { w.WriteHeader(429) },
		"last call": func(w http.ResponseWriter) { reset(w); answer(w, 200, map[string]any{"id": 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.handle = func(w http.ResponseWriter, r *http.Request) { respond(w) }
			_, clients := h.replicas(3, "secret")
			if err := get(t, clients[0]); (err == nil) != (name == "last call") {
				t.Errorf("the first call: %v", err)
			}
			for i, c := range clients {
				if err := get(t, c); Classify(err).Kind != After {
					t.Errorf("replica %d: %v, want a limit", i, err)
				}
			}
			if n := h.count("GET /repos/o/r"); n != 1 {
				t.Errorf("%d calls reached GitHub, want 1", n)
			}
		})
	}
	t.Run("of tokens", func(t *testing.T) {
		h := newHub(t)
		n := 0
		h.token = func(w http.ResponseWriter, r *http.Request) { n++; w.WriteHeader(429) }
		_, clients := h.replicas(3, "secret")
		for i, c := range clients {
			if l := (*LimitError)(nil); !errors.As(get(t, c), &l) {
				t.Errorf("replica %d has no limit", i)
			}
		}
		if n != 1 {
			t.Errorf("%d token requests, want 1", n)
		}
	})
}

// The comments of all replicas count together.
func TestReplicasShareTheIntervalOfComments(t *testing.T) {
	m := &table{values: map[string][]byte{}}
	s, err := newShared(m, []byte("secret"), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newLimiter(5, s), newLimiter(5, s)
	for i := range contentBurst {
		if err := []*limiter{a, b}[i%2].space(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i, g := range []*limiter{a, b} {
		if err := g.space(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("replica %d does not wait after %d comments: %v", i, contentBurst, err)
		}
	}
}

// Without the store each replica uses its own limits and tokens.
func TestSharedStoreIsDown(t *testing.T) {
	h := newHub(t)
	limited := false
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if limited {
			w.WriteHeader(429)
			return
		}
		answer(w, 201, map[string]any{"id": 1})
	}
	m, clients := h.replicas(2, "secret")
	m.down = true
	if err := get(t, clients[0]); err != nil {
		t.Fatal(err)
	}
	_, _, err := clients[0].Issues.CreateComment(t.Context(), "o", "r", 1, &gh.IssueComment{})
	if err != nil {
		t.Error(err)
	}
	if h.issued != 1 {
		t.Errorf("%d token requests, want 1", h.issued)
	}
	limited = true
	for range 2 {
		if l := (*LimitError)(nil); !errors.As(get(t, clients[0]), &l) {
			t.Error("no limit")
		}
	}
	if n := h.count("GET /repos/o/r"); n != 2 {
		t.Errorf("%d calls, want 2: the replica forgot its own limit", n)
	}
}
