package github

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	gh "github.com/google/go-github/v60/github"
)

func TestTokensAreShared(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 200, map[string]any{"id": 1}) }
	a := h.app(nil)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			c, err := a.Installation(int64(1 + i%4))
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := c.Repositories.Get(t.Context(), "octo", "widget"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if h.issued != 4 {
		t.Errorf("%d token requests for 4 installations", h.issued)
	}
}

// A token that expires in half a minute is not used any more; one that is valid for an hour is.
func TestTokensAreRenewedEarly(t *testing.T) {
	for life, want := range map[time.Duration]int{30 * time.Second: 3, time.Hour: 1} {
		h := newHub(t)
		h.life = life
		h.handle = func(w http.ResponseWriter, r *http.Request) {
			answer(w, 200, map[string]any{"id": 1})
		}
		c := h.client()
		for range 3 {
			if _, _, err := c.Repositories.Get(t.Context(), "octo", "widget"); err != nil {
				t.Error(err)
			}
		}
		h.mu.Lock()
		if h.issued != want {
			t.Errorf("%d tokens that live %s for three calls, want %d", h.issued, life, want)
		}
		h.mu.Unlock()
	}
}

// Fifty concurrent calls with a revoked token are all retried with their whole body, and request
// one new token together.
func TestRevokedTokenIsReplaced(t *testing.T) {
	h := newHub(t)
	var mu sync.Mutex
	bodies := map[string]int{}
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		b.ReadFrom(r.Body)
		mu.Lock()
		bodies[strings.TrimSpace(b.String())]++
		mu.Unlock()
		answer(w, 201, map[string]any{"id": 1})
	}
	c := h.client()
	if _, _, err := c.Repositories.Get(t.Context(), "octo", "widget"); err != nil {
		t.Fatal(err)
	}
	h.revoke()
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			_, _, err := c.Checks.CreateCheckRun(
				t.Context(),
				"octo",
				"widget",
				gh.CreateCheckRunOptions{Name: "compat", HeadSHA: "abc"},
			)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if h.issued != 2 {
		t.Errorf("%d tokens, want 2", h.issued)
	}
	if n := bodies[`{"name":"compat","head_sha":"abc"}`]; n != 50 {
		t.Errorf("%d whole bodies taken, want 50: %v", n, bodies)
	}
}

func TestAlways401(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		answer(w, 401, map[string]any{"message": "Bad credentials"})
	}
	c := h.client()
	_, _, err := c.Repositories.Get(t.Context(), "octo", "widget")
	if f := Classify(err); f.Kind != Retry || f.Unsure {
		t.Errorf("%+v of %v", f, err)
	}
	if n := h.count("GET /repos/octo/widget"); n != 2 {
		t.Errorf("%d requests, want one and its repeat", n)
	}
}

func TestTokenRefusals(t *testing.T) {
	for _, x := range []struct {
		code    int
		message string
		want    ErrorKind
	}{
		{404, "Not Found", Gone},
		{403, "This installation has been suspended", Gone},
		{403, "Resource not accessible", Forbidden},
		{401, "A JSON web token could not be decoded", Retry},
		{422, "bad", Invalid},
		{502, "", Retry},
		{429, "slow down", After},
	} {
		h := newHub(t)
		n := 0
		h.token = func(w http.ResponseWriter, r *http.Request) {
			n++
			answer(w, x.code, map[string]any{"message": x.message})
		}
		c := h.client()
		_, _, err := c.Repositories.Get(t.Context(), "octo", "widget")
		if f := Classify(err); f.Kind != x.want || f.Unsure && x.code != 502 {
			t.Errorf("%d %s: %+v of %v", x.code, x.message, f, err)
		}
		if x.code == 502 && n != tries {
			t.Errorf("502: %d token requests", n)
		}
		// tokens are excepted from a limit's silence, but there is nothing to ask one for
		if x.code == 429 {
			_, _, err := c.Repositories.Get(t.Context(), "octo", "widget")
			if l := (*LimitError)(nil); !errors.As(err, &l) || l.Installation != 5 || n != 1 {
				t.Errorf("after a limited token: %v, %d token requests", err, n)
			}
		}
	}
}

func TestForget(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) { answer(w, 200, map[string]any{"id": 1}) }
	a := h.app(nil)
	old, _ := a.Installation(7)
	if again, _ := a.Installation(7); again != old {
		t.Error("two clients for one installation")
	}
	a.Forget(7)
	a.Forget(8)
	_, _, err := old.Repositories.Get(t.Context(), "o", "r")
	if !errors.Is(err, ErrForgotten) || Classify(err).Kind != Gone || len(h.calls) != 0 {
		t.Errorf("a forgotten client: %v, calls %v", err, h.calls)
	}
	fresh, _ := a.Installation(7)
	if _, _, err := fresh.Repositories.Get(t.Context(), "o", "r"); err != nil {
		t.Error(err)
	}
}

func TestBotIsRequestedOnce(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, map[string]any{"slug": "compat-x"})
	}
	a := h.app(nil)
	for range 2 {
		if bot, err := a.Bot(t.Context()); bot != "compat-x[bot]" || err != nil {
			t.Errorf("%q, %v", bot, err)
		}
	}
	if n := h.count("GET /app"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestEnterpriseRoot(t *testing.T) {
	for _, slash := range []string{"", "/"} {
		h := newHub(t)
		h.prefix = "/api/v3"
		h.handle = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/graphql" {
				answer(w, 200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "me"}}})
				return
			}
			answer(
				w,
				200,
				map[string]any{"id": 3, "name": "widget", "owner": map[string]any{"login": "octo"}},
			)
		}
		root, _ := url.Parse(h.api.URL + h.prefix + slash)
		a, err := New(Options{AppID: 4711, Key: testKey(), API: root})
		if err != nil {
			t.Fatal(err)
		}
		c, _ := a.Installation(5)
		if r, err := c.RepositoryByID(t.Context(), 3); err != nil || r.Owner != "octo" ||
			r.Name != "widget" {
			t.Errorf("%v, %v", r, err)
		}
		var out struct{ Viewer struct{ Login string } }
		if err := c.GraphQL(t.Context(), "query{viewer{login}}", nil, &out); err != nil ||
			out.Viewer.Login != "me" {
			t.Errorf("%v, %v", out, err)
		}
		if h.count("GET /api/v3/repositories/3") != 1 || h.count("POST /api/graphql") != 1 ||
			h.issued != 1 {
			t.Errorf("calls %v", h.calls)
		}
	}
}

// An address outside the API root gets no request, whether it comes from a caller, a name with
// dots, or a redirect.
func TestTokensAreSentToGitHubOnly(t *testing.T) {
	h := newHub(t)
	h.prefix = "/api/v3"
	h.deliver = func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("storage host was asked: %s", r.URL)
	}
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, h.storage.URL+"/elsewhere?sig=s3cret", http.StatusTemporaryRedirect)
	}
	c := h.client()
	for _, u := range []string{h.storage.URL + "/x", h.api.URL + "/login", h.api.URL +
		"/api/v3/%2e%2e/x", strings.Replace(h.api.URL, "http://", "http://u:p@", 1) + "/api/v3/x"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", u, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Client.Client().Do(req); err == nil || len(h.calls) != 0 || h.issued != 0 {
			t.Errorf("%s: %v, calls %v", u, err, h.calls)
		}
	}
	_, _, err := c.Repositories.Get(t.Context(), "octo", "widget")
	if e := (*gh.ErrorResponse)(nil); !errors.As(err, &e) || e.Response.StatusCode != 307 ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a redirect to another host: %v", err)
	}
}

func TestRenamedRepositoryIsFollowed(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/repos/") {
			http.Redirect(w, r, h.api.URL+"/repositories/9", http.StatusMovedPermanently)
			return
		}
		answer(w, 200, map[string]any{"id": 9})
	}
	r, _, err := h.client().Repositories.Get(t.Context(), "old", "name")
	if err != nil || r.GetID() != 9 {
		t.Errorf("%v, %v", r, err)
	}
}

// Neither the log at level debug nor errors contain a token, a JWT, the key or a signature.
func TestNoSecretsInLogsAndErrors(t *testing.T) {
	h := newHub(t)
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/zip") {
			w.Header().Set("Location", h.storage.URL+"/blob?sig=s3cret-signature")
			w.WriteHeader(302)
			return
		}
		answer(w, 500, map[string]any{"message": "boom"})
	}
	h.deliver = func(w http.ResponseWriter, r *http.Request) { cut() }
	var log bytes.Buffer
	c, _ := h.app(&log).Installation(5)
	_, _, err1 := c.Repositories.Get(t.Context(), "o", "r")
	_, _, err2 := c.Download(
		t.Context(),
		"repos/o/r/actions/artifacts/1/zip",
		&bytes.Buffer{},
		DownloadOptions{},
	)
	h.token = func(w http.ResponseWriter, r *http.Request) { cut() }
	h.revoke()
	_, _, err3 := c.Repositories.Get(t.Context(), "o", "r")
	text := log.String() + err1.Error() + err2.Error() + err3.Error()
	for _, s := range []string{"ghs_", "s3cret", "Bearer", "eyJ", "PRIVATE"} {
		if strings.Contains(text, s) {
			t.Errorf("%q in:\n%s", s, text)
		}
	}
	if !strings.Contains(text, "path=/repos/o/r status=500") {
		t.Errorf("the log says too little:\n%s", text)
	}
}

func TestNewRefuses(t *testing.T) {
	bad, _ := url.Parse("ftp://x")
	query, _ := url.Parse("https://x/?a=b")
	for name, o := range map[string]Options{"no id": {Key: testKey()}, "no key": {AppID: 1},
		"scheme": {AppID: 1, Key: testKey(), API: bad}, "query": {AppID: 1, Key: testKey(), API: query}} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	a, err := New(Options{AppID: 1, Key: testKey()})
	if err != nil || a.Client().BaseURL.String() != publicAPI ||
		a.api.graphql.String() != "https://api.github.com/graphql" {
		t.Errorf("defaults: %v, %v", a, err)
	}
	if _, err := a.Installation(0); err == nil {
		t.Error("installation 0: no error")
	}
}

func TestStoppedContext(t *testing.T) {
	h := newHub(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.handle = func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}
	_, _, err := h.client().Repositories.Get(ctx, "o", "r")
	if f := Classify(err); f.Kind != Retry || h.count("GET /repos/o/r") != 1 {
		t.Errorf("%+v of %v, calls %v", f, err, h.calls)
	}
}
