package github

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/compat-app/compat/internal/test/loopback"
)

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func testPEM() []byte {
	return pem.EncodeToMemory(
		&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(testKey())},
	)
}

// hub is a fake GitHub. It issues tokens, accepts only the newest of an installation, and passes
// other requests to handle.
type hub struct {
	t       *testing.T
	api     *httptest.Server
	storage *httptest.Server
	prefix  string // of the REST API, "/api/v3" or ""

	mu     sync.Mutex
	tokens map[string]string // installation -> token; a request with another token gets 401
	issued int
	calls  []string // "GET /path" in the order of requests, without token requests
	life   time.Duration

	token   http.HandlerFunc // replaces the response to token requests
	handle  http.HandlerFunc
	deliver http.HandlerFunc // handles requests to the storage host
}

func newHub(t *testing.T) *hub {
	h := &hub{t: t, tokens: map[string]string{}, life: time.Hour}
	h.api = loopback.Server(t, http.HandlerFunc(h.serve))
	h.storage = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" ||
			r.Header.Get("Referer") != "" {
			t.Errorf("storage host got credentials or an address: %v", r.Header)
		}
		h.note("storage " + r.URL.Path)
		h.deliver(w, r)
	}))
	t.Cleanup(h.storage.Close)
	return h
}

func (h *hub) note(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, s)
}

func (h *hub) count(call string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		if c == call {
			n++
		}
	}
	return n
}

// revoke revokes all tokens.
func (h *hub) revoke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.tokens)
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("User-Agent"), "compat") {
		h.t.Errorf("%s %s: User-Agent %q", r.Method, r.URL.Path, r.Header.Get("User-Agent"))
	}
	credential := r.Header.Get("Authorization")
	if signed, ok := strings.CutPrefix(credential, "Bearer "); ok {
		h.checkJWT(signed)
		if id, ok := strings.CutPrefix(r.URL.Path, h.prefix+"/app/installations/"); ok {
			id = strings.TrimSuffix(id, "/access_tokens")
			if h.token != nil {
				h.token(w, r)
				return
			}
			h.mu.Lock()
			h.issued++
			token := fmt.Sprintf("ghs_%s_%d", id, h.issued) + strings.Repeat("x", 160)
			h.tokens[id] = token
			h.mu.Unlock()
			answer(
				w,
				201,
				map[string]any{
					"token":      token,
					"expires_at": time.Now().Add(h.life).UTC().Format(time.RFC3339),
				},
			)
			return
		}
		h.note(r.Method + " " + r.URL.Path)
		h.handle(w, r)
		return
	}
	h.note(r.Method + " " + r.URL.Path)
	h.mu.Lock()
	ok := false
	for _, token := range h.tokens {
		ok = ok || credential == "token "+token
	}
	h.mu.Unlock()
	if !ok {
		answer(w, 401, map[string]any{"message": "Bad credentials"})
		return
	}
	h.handle(w, r)
}

func (h *hub) checkJWT(signed string) {
	var c jwt.RegisteredClaims
	token, err := jwt.ParseWithClaims(
		signed,
		&c,
		func(*jwt.Token) (any, error) { return &testKey().PublicKey, nil },
	)
	if err != nil {
		h.t.Errorf("JWT: %v", err)
		return
	}
	now := time.Now()
	if token.Method.Alg() != "RS256" || c.Issuer != "4711" ||
		c.IssuedAt.After(now.Add(-30*time.Second)) ||
		c.ExpiresAt.After(now.Add(10*time.Minute)) ||
		c.ExpiresAt.Sub(c.IssuedAt.Time) > 10*time.Minute {
		h.t.Errorf(
			"JWT: alg %s iss %s iat %v exp %v",
			token.Method.Alg(),
			c.Issuer,
			c.IssuedAt,
			c.ExpiresAt,
		)
	}
}

// app returns an App that does not wait between retries.
func (h *hub) app(log io.Writer) *App {
	h.t.Helper()
	root, err := url.Parse(h.api.URL + h.prefix)
	if err != nil {
		h.t.Fatal(err)
	}
	o := Options{
		AppID:   4711,
		Key:     testKey(),
		API:     root,
		Backoff: func(int) time.Duration { return time.Millisecond },
	}
	if log != nil {
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	a, err := New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *hub) client() *Client {
	h.t.Helper()
	c, err := h.app(nil).Installation(5)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v)
}

// cut breaks the connection.
func cut() { panic(http.ErrAbortHandler) }
