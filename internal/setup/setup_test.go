package setup_test

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/compat-app/compat"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/setup"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
)

// fixture is a setup page with a fake GitHub and a directory.
type fixture struct {
	*testing.T
	gh   *githubtest.Server
	site setup.Site
	page *setup.Setup
	at   string // root of the page
	dir  string
	org  string
	ask  func(ctx context.Context, code string) (*github.Registered, error) // nil = the fake GitHub

	mu   sync.Mutex
	said []string // messages to the terminal
	seen []string // pages
}

func sit(t *testing.T, prefix, org string) *fixture {
	t.Helper()
	gh, err := githubtest.Start(githubtest.Options{Prefix: prefix, Validate: openapi.Validate})
	if err != nil {
		t.Fatal(err)
	}
	gh.Install("acme")
	d := &fixture{T: t, gh: gh, dir: t.TempDir(), org: org}
	if d.site, err = setup.ParseSite(gh.Web(), gh.URL()); err != nil {
		t.Fatal(err)
	}
	d.open(t)
	t.Cleanup(func() {
		gh.Close()
		for _, v := range gh.Violations() {
			t.Error("violation: " + v)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, text := range append(d.seen, d.said...) {
			for _, secret := range append(gh.Secrets(), strings.Split(gh.PEM(), "\n")[1]) {
				if strings.Contains(text, secret) {
					t.Errorf("a secret stands in %s", text)
				}
			}
			for _, r := range gh.Registrations() {
				if r.Code != "" && strings.Contains(text, r.Code) {
					t.Errorf("the code stands in %s", text)
				}
			}
		}
	})
	return d
}

// open starts the page.
func (d *fixture) open(t *testing.T) {
	t.Helper()
	manifest, err := setup.ParseManifest(compat.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context, code string) (*github.Registered, error) {
		if d.ask != nil {
			return d.ask(ctx, code)
		}
		return github.Register(ctx, github.Options{API: d.site.API}, d.site.Web, code)
	}
	server := httptest.NewServer(nil)
	t.Cleanup(server.Close)
	public := &url.URL{Scheme: "https", Host: "compat.example.com"}
	d.page, err = setup.New(
		setup.Options{
			Manifest:     manifest,
			Site:         d.site,
			Organization: d.org,
			Public:       public,
			Dir:          d.dir,
			Addr:         "127.0.0.1:8080",
			Register:     ask,
			Failed: func(sentence string) {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.said = append(d.said, sentence)
			},
			Log: slog.New(slog.NewJSONHandler(d, nil)),
		},
		&url.URL{Scheme: "http", Host: server.Listener.Addr().String()},
	)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = d.page
	d.at = server.URL
}

// Write records a line of the log.
func (d *fixture) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, string(line))
	return len(line), nil
}

// visitor returns a browser that follows redirects and stores cookies.
func (d *fixture) visitor() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: time.Minute}
}

func (d *fixture) answer(r *http.Response, err error) (int, string) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		d.Fatal(err)
	}
	d.mu.Lock()
	d.seen = append(d.seen, string(body))
	d.mu.Unlock()
	return r.StatusCode, string(body)
}

func (d *fixture) get(c *http.Client, address string) (int, string) {
	d.Helper()
	return d.answer(c.Get(address))
}

// press submits the only form of a page.
func (d *fixture) press(c *http.Client, base, page string) (int, string) {
	d.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		d.Fatal(err)
	}
	action, fields := "", url.Values{}
	for n := range root.Descendants() {
		at := map[string]string{}
		for _, a := range n.Attr {
			at[a.Key] = a.Val
		}
		switch n.Data {
		case "form":
			if action != "" || at["method"] != "post" {
				d.Fatalf("a second form, or one that doesn't post: %v", at)
			}
			action = at["action"]
		case "input":
			fields.Set(at["name"], at["value"])
		case "script":
			d.Error("a script")
		}
	}
	from, err := url.Parse(base)
	if err != nil {
		d.Fatal(err)
	}
	to, err := from.Parse(action)
	if err != nil || action == "" {
		d.Fatalf("no form, or one that leads nowhere (%v): %s", err, page)
	}
	return d.answer(c.PostForm(to.String(), fields))
}

// confirm opens the link and submits the form; it returns GitHub's page without confirming.
func (d *fixture) confirm(c *http.Client) (page string) {
	d.Helper()
	code, page := d.get(c, d.page.Link())
	if code != 200 {
		d.Fatalf("the link answers %d: %s", code, page)
	}
	if code, page = d.press(c, d.at+"/setup", page); code != 200 {
		d.Fatalf("GitHub answers %d: %s", code, page)
	}
	return page
}

// made waits for the end of the setup.
func (d *fixture) made() (*setup.Made, error) {
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
	defer cancel()
	return d.page.Wait(ctx)
}

func (d *fixture) says(text string, words ...string) {
	d.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.Errorf("%q is missing in %s", w, text)
		}
	}
}

// empty asserts that no file was left.
func (d *fixture) empty() {
	d.Helper()
	left, err := filepath.Glob(filepath.Join(d.dir, "*"))
	if err != nil || len(left) > 0 {
		d.Errorf("left in the folder: %v (%v)", left, err)
	}
}

func TestSetup(t *testing.T) {
	for _, c := range []struct{ name, prefix, org, form, public string }{
		{"own account", "", "", "/settings/apps/new", "/apps/compat-test"},
		{"organisation", "", "acme", "/organizations/acme/settings/apps/new", "/apps/compat-test"},
		{"GitHub Enterprise Server", "/api/v3", "acme", "/organizations/acme/settings/apps/new",
			"/github-apps/compat-test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sit(t, c.prefix, c.org)
			me := d.visitor()
			code, page := d.get(me, d.page.Link())
			if code != 200 {
				t.Fatalf("the link answers %d", code)
			}
			d.says(
				page,
				d.gh.Web()+c.form,
				"https://compat.example.com/webhook",
				"checks",
				"the check run",
				"pull_request",
				"a new head",
				"Create the App on",
				filepath.Join(d.dir, setup.KeyFile),
			)
			if c.org != "" {
				d.says(page, "<strong>acme</strong>")
			}
			code, page = d.press(me, d.at+"/setup", page)
			if code != 200 {
				t.Fatalf("GitHub answers %d: %s", code, page)
			}
			code, page = d.press(me, d.gh.Web(), page)
			if code != 200 {
				t.Fatalf("the way back answers %d: %s", code, page)
			}
			install := d.gh.Web() + c.public + "/installations/new"
			d.says(page, "App created", "4711", install, "compat serve --addr 127.0.0.1:8080",
				"a reverse proxy has to forward https://compat.example.com to it", setup.RequiredPage)
			made, err := d.made()
			if err != nil {
				t.Fatal(err)
			}
			if made.ID != d.gh.AppID || made.Install.String() != install {
				t.Errorf("made %+v", made)
			}
			g := d.gh.Registrations()[0]
			if g.Organization != c.org || g.Manifest["public"] != false ||
				len(g.Manifest["default_events"].([]any)) < 10 {
				t.Errorf("registered %+v", g)
			}
			d.serves(made)
		})
	}
}

// serves reads the files like `compat serve`.
func (d *fixture) serves(made *setup.Made) {
	d.Helper()
	for _, path := range []string{made.Key, made.Settings} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			d.Errorf("%s: %v, %v; want a file for its owner alone", path, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(made.Settings)
	if err != nil {
		d.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok &&
			!strings.HasPrefix(line, "#") {
			// for example, if a directory has a space in its name
			if quoted, ok := strings.CutPrefix(value, "'"); ok {
				value = strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `'\''`, "'")
			}
			env[name] = value
		}
	}
	s, err := config.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		d.Fatal(err)
	}
	key, err := appkey.Parse([]byte(d.gh.PEM()))
	if err != nil {
		d.Fatal(err)
	}
	if s.AppID != d.gh.AppID || len(s.WebhookSecrets.All()) != 1 ||
		string(s.WebhookSecrets.All()[0]) != d.gh.Secret ||
		!key.Public().(*rsa.PublicKey).Equal(s.PrivateKey.Public()) ||
		s.API.String() != d.gh.URL() ||
		s.PublicURL.String() != "https://compat.example.com" {
		d.Errorf("the service reads %+v of %s", s, text)
	}
}

func TestTheLinkWorksOnce(t *testing.T) {
	d := sit(t, "", "")
	link := d.page.Link()
	me, other := d.visitor(), d.visitor()
	for name, address := range map[string]string{"no token": d.at + "/setup", "a wrong token": d.at +
		"/setup?token=x", "a way back": d.at + "/setup/created?code=x&state=y"} {
		if code, page := d.get(me, address); code != http.StatusForbidden ||
			strings.Contains(page, "<form") {
			t.Errorf("%s: %d %s", name, code, page)
		}
	}
	// Previews of chat and mail programs do not use up the link.
	if r, err := other.Head(link); err != nil || r.StatusCode != 200 {
		t.Errorf("HEAD of the link: %v %v", r, err)
	}
	preview := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}, Transport: other.Transport}
	for range 3 {
		if r, err := preview.Get(link); err != nil || r.StatusCode != http.StatusSeeOther {
			t.Errorf("a preview of the link: %v %v", r, err)
		}
	}
	if code, page := d.get(me, link); code != 200 || !strings.Contains(page, "<form") {
		t.Fatalf("the link: %d %s", code, page)
	}
	code, page := d.get(other, link)
	if code != http.StatusForbidden || strings.Contains(page, "<form") {
		t.Errorf("the link in another browser: %d %s", code, page)
	}
	d.says(page, "was already used")
	for name, address := range map[string]string{"a reload": d.at + "/setup",
		"the link once more": link} {
		if code, page := d.get(me, address); code != 200 || !strings.Contains(page, "<form") {
			t.Errorf("%s in the browser that opened it: %d %s", name, code, page)
		}
	}
	r, err := me.Get(d.at + "/setup")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	policy := r.Header.Get("Content-Security-Policy")
	d.says(policy, "default-src 'none'", "form-action "+d.gh.Web()+";", "frame-ancestors 'none'")
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script") ||
		r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", r.Header)
	}
	d.empty()
}

// A host name that was rebound to this machine is another origin for the browser, and must be
// refused.
func TestOtherHostNames(t *testing.T) {
	d := sit(t, "", "")
	for _, path := range []string{"/setup", strings.TrimPrefix(d.page.Link(), d.at)} {
		r, err := http.NewRequest("GET", d.at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "evil.example:80"
		if code, page := d.answer(http.DefaultClient.Do(r)); code != http.StatusMisdirectedRequest ||
			strings.Contains(page, "<form") || !strings.Contains(page, "must pass the header Host") {
			t.Errorf("%s answers %d %s", path, code, page)
		}
	}
	if code, _ := d.get(d.visitor(), d.page.Link()); code != 200 {
		t.Errorf("the token was spent: %d", code)
	}
}

// Each use of the page is one line of the log that says who did what; no line has a token or a
// code.
func TestSetupIsAudited(t *testing.T) {
	d := sit(t, "", "acme")
	link := d.page.Link()
	me, other := d.visitor(), d.visitor()
	d.get(other, d.at+"/setup")
	r, err := http.NewRequest("GET", d.at+"/setup", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	d.answer(other.Do(r))
	d.get(other, d.at+"/setup?token=x")
	d.get(other, d.at+"/setup/created?code=x&state=y")
	d.get(me, link)
	d.get(other, link)
	d.get(me, d.at+"/setup/created?code=x&state=y")
	d.get(me, d.at+"/setup") // a page that is read is no line
	d.press(me, d.gh.Web(), d.confirm(me))
	if _, err := d.made(); err != nil {
		t.Fatal(err)
	}
	var got []string
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.said {
		var l struct{ Msg, Setup, Remote, Name, Organization string }
		if json.Unmarshal([]byte(line), &l) != nil || l.Msg != "audit" {
			continue
		}
		if !strings.HasPrefix(l.Remote, "127.0.0.1:") {
			t.Errorf("%s does not say from where", line)
		}
		got = append(got, strings.TrimSpace(l.Setup+" "+l.Name+" "+l.Organization))
		if token := strings.Split(link, "token=")[1]; strings.Contains(line, token) {
			t.Errorf("the token is in %s", line)
		}
	}
	want := []string{"refused: no link", "refused: another host name", "refused: wrong link", "refused: another browser", "link opened",
		"refused: the link was used before", "refused: wrong state", "App created compat acme"}
	if !slices.Equal(got, want) {
		t.Errorf("audited: %q, want %q", got, want)
	}
}

func TestWrongState(t *testing.T) {
	d := sit(t, "", "")
	me := d.visitor()
	d.confirm(me)
	state := d.gh.Registrations()[0].State
	for name, query := range map[string]string{"none": "code=abc", "another": "code=abc&state=" +
		strings.Repeat("A", len(state)), "a part": "code=abc&state=" + state[:5]} {
		code, page := d.get(me, d.at+"/setup/created?"+query)
		if code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
		d.says(page, "State mismatch", "Start again")
	}
	stranger := d.visitor()
	if code, page := d.get(stranger,
		d.at+"/setup/created?code=abc&state="+state); code != http.StatusForbidden {
		t.Errorf("the right state in another browser: %d %s", code, page)
	}
	if code, page := d.get(me, d.at+"/setup/created?state="+state); code != http.StatusBadRequest {
		t.Errorf("no code: %d %s", code, page)
	}
	for _, c := range d.gh.Calls() {
		t.Errorf("GitHub was asked: %s", &c)
	}
	d.empty()
	if code, page := d.get(me, d.at+"/setup"); code != 200 || !strings.Contains(page, "<form") {
		t.Errorf("it can't be begun again: %d %s", code, page)
	}
}

// Codes that GitHub does not know or has rejected before.
func TestUsedCodes(t *testing.T) {
	d := sit(t, "", "acme")
	me := d.visitor()
	page := d.confirm(me)
	state := d.gh.Registrations()[0].State
	for _, code := range []string{"0123456789abcdef", "0123456789abcdef", "..%2f..", "a%20b"} {
		status, page := d.get(me, d.at+"/setup/created?state="+state+"&code="+code)
		if status < 400 {
			t.Errorf("%s: %d", code, status)
		}
		d.says(
			page,
			"already used, or is older than an hour",
			d.gh.Web()+"/organizations/acme/settings/apps",
			"Start again",
		)
	}
	if n := len(d.gh.Calls()); n != 1 {
		t.Errorf("GitHub was asked %d times, want once: %v", n, d.gh.Calls())
	}
	d.empty()
	if code, page := d.press(me, d.gh.Web(), page); code != 200 {
		t.Fatalf("the right code after wrong ones: %d %s", code, page)
	}
	if _, err := d.made(); err != nil {
		t.Fatal(err)
	}
	replayed := d.gh.Registrations()[0]
	code, again := d.get(me, d.at+"/setup/created?state="+state+"&code="+replayed.Code)
	if code != http.StatusGone {
		t.Errorf("the code once more: %d %s", code, again)
	}
	if n := len(d.gh.Calls()); n != 2 {
		t.Errorf("GitHub was asked %d times, want twice", n)
	}
}

// GitHub fails or returns no App: the same redirect works later.
func TestGitHubFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault githubtest.Fault
		says  string
	}{
		{"unreachable", githubtest.Fault{Cut: true}, "could not be reached"},
		{"502", githubtest.Fault{Status: 502}, "GitHub returned 502"},
		{"422", githubtest.Fault{Status: 422}, "GitHub returned 422"},
		{"rate limit", githubtest.Fault{Status: 403, Header: http.Header{"Retry-After": {"30"}}},
			"GitHub returned 403"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sit(t, "/api/v3", "")
			d.gh.Fault("apps/create-from-manifest", 1, c.fault)
			me := d.visitor()
			code, page := d.press(me, d.gh.Web(), d.confirm(me))
			if code != http.StatusBadGateway {
				t.Errorf("answered %d", code)
			}
			d.says(page, c.says, "reload this page")
			d.empty()
			g := d.gh.Registrations()[0]
			if code, page = d.get(me, d.at+"/setup/created?state="+g.State+"&code="+g.Code); code != 200 {
				t.Fatalf("the reload answers %d: %s", code, page)
			}
			if _, err := d.made(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A certificate that this process does not accept stays so: no page asks for a reload.
func TestCertificateOfGitHub(t *testing.T) {
	d := sit(t, "/api/v3", "")
	d.ask = func(ctx context.Context, code string) (*github.Registered, error) {
		encrypted := httptest.NewTLSServer(http.NotFoundHandler())
		defer encrypted.Close()
		api, err := url.Parse(encrypted.URL)
		if err != nil {
			return nil, err
		}
		return github.Register(ctx, github.Options{API: api}, d.site.Web, code)
	}
	me := d.visitor()
	code, page := d.press(me, d.gh.Web(), d.confirm(me))
	if code != http.StatusBadGateway || strings.Contains(page, "reload") {
		t.Errorf("answered %d: %s", code, page)
	}
	d.says(page, "GitHub&#39;s API at "+d.gh.URL()+" could not be reached: ", "x509",
		"delete the App at "+d.gh.Web()+"/settings/apps, put the certificate")
	if _, err := d.made(); err == nil || !strings.Contains(err.Error(), "SSL_CERT_DIR") {
		t.Errorf("ends with %v", err)
	}
	d.empty()
}

// The response with the secrets is lost: they cannot be requested again, and the page says what
// to do.
func TestAnswerIsLost(t *testing.T) {
	d := sit(t, "", "")
	d.gh.Fault("apps/create-from-manifest", 1, githubtest.Fault{Cut: true, After: true})
	me := d.visitor()
	code, page := d.press(me, d.gh.Web(), d.confirm(me))
	if code != http.StatusBadGateway {
		t.Errorf("answered %d", code)
	}
	d.says(page, "could not be reached")
	g := d.gh.Registrations()[0]
	code, page = d.get(me, d.at+"/setup/created?state="+g.State+"&code="+g.Code)
	if code != http.StatusBadGateway {
		t.Errorf("the reload answers %d", code)
	}
	d.says(page, "already used", "Delete the App at "+d.gh.Web()+"/settings/apps")
	d.empty()
}

func TestFilesAreNeverOverwritten(t *testing.T) {
	for _, name := range []string{setup.KeyFile, setup.SettingsFile} {
		t.Run(name, func(t *testing.T) {
			d := sit(t, "", "")
			me := d.visitor()
			page := d.confirm(me)
			mine := filepath.Join(d.dir, name)
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			// a dangling link is not followed either
			if err := os.Symlink(elsewhere, mine); err != nil {
				t.Fatal(err)
			}
			if _, err := setup.New(setup.Options{Dir: d.dir},
				&url.URL{Scheme: "http", Host: "127.0.0.1:1"}); err == nil ||
				!strings.Contains(err.Error(), mine+" already exists") {
				t.Errorf("begun: %v", err)
			}
			code, page := d.press(me, d.gh.Web(), page)
			if code != http.StatusBadGateway {
				t.Errorf("answered %d", code)
			}
			d.says(page, "already exists", "reload this page")
			if n := len(d.gh.Calls()); n != 0 {
				t.Error("the code was exchanged, with nowhere to put the key")
			}
			if _, err := os.Stat(elsewhere); err == nil {
				t.Error("written where a link leads to")
			}
			if err := os.Remove(mine); err != nil {
				t.Fatal(err)
			}
			d.empty()
			g := d.gh.Registrations()[0]
			if code, page := d.get(me, d.at+"/setup/created?state="+g.State+"&code="+g.Code); code != 200 {
				t.Errorf("the reload answers %d: %s", code, page)
			}
		})
	}
}

func TestMissingFolder(t *testing.T) {
	d := sit(t, "", "")
	me := d.visitor()
	page := d.confirm(me)
	if err := os.Remove(d.dir); err != nil {
		t.Fatal(err)
	}
	_, page = d.press(me, d.gh.Web(), page)
	d.says(page, ": no such file or directory; give a writable folder")
	if n := len(d.gh.Calls()); n != 0 {
		t.Error("the code was exchanged, with nowhere to put the key")
	}
}

// The App was created but its secrets cannot be stored: this ends the setup, with instructions.
func TestLostSecrets(t *testing.T) {
	for _, c := range []struct {
		name, says string
		app        *github.Registered
		err        error
	}{
		{"an answer without a key", "reply did not contain them; delete the App at", nil,
			&github.RegisterError{Status: 201}},
		{"a secret that is two", "contains a comma or a space; create a new private key and webhook " +
			"secret for it at", &github.Registered{ID: 1, Slug: "compat", WebhookSecret: []byte("a,b")},
			nil},
		{"a secret with a line end", "create a new private key and webhook secret for it at",
			&github.Registered{ID: 1, Slug: "compat", WebhookSecret: []byte("a\nAPP_ID=2")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sit(t, "", "")
			d.ask = func(context.Context, string) (*github.Registered, error) { return c.app, c.err }
			me := d.visitor()
			code, page := d.press(me, d.gh.Web(), d.confirm(me))
			if code != http.StatusBadGateway {
				t.Errorf("answered %d", code)
			}
			d.says(page, "its secrets are lost", c.says, d.gh.Web()+"/settings/apps")
			if made, err := d.made(); made != nil || err == nil ||
				!strings.Contains(err.Error(), "its secrets are lost") {
				t.Errorf("ends with %+v, %v", made, err)
			}
			if code, page := d.get(me, d.at+"/setup"); code != http.StatusGone {
				t.Errorf("continues with %d %s", code, page)
			}
			d.empty()
		})
	}
}

// The App is created even if the page is closed meanwhile.
func TestPageIsClosedMeanwhile(t *testing.T) {
	d := sit(t, "", "")
	me := d.visitor()
	d.confirm(me)
	ctx, leave := context.WithCancel(t.Context())
	d.ask = func(ctx context.Context, code string) (*github.Registered, error) {
		leave()
		return github.Register(ctx, github.Options{API: d.site.API}, d.site.Web, code)
	}
	g := d.code()
	r, err := http.NewRequestWithContext(ctx, "GET", d.at+"/setup/created?"+g, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := me.Do(r); err == nil {
		answer.Body.Close()
	}
	made, err := d.made()
	if err != nil {
		t.Fatal(err)
	}
	d.serves(made)
}

// If the set-up is stopped while the code is exchanged, the secrets are stored first.
func TestStoppedMeanwhile(t *testing.T) {
	d := sit(t, "", "")
	me := d.visitor()
	d.confirm(me)
	ctx, stop := context.WithCancelCause(t.Context())
	d.ask = func(ctx context.Context, code string) (*github.Registered, error) {
		stop(errors.New("stopped"))
		return github.Register(ctx, github.Options{API: d.site.API}, d.site.Web, code)
	}
	query := d.code()
	go me.Get(d.at + "/setup/created?" + query) //nolint:errcheck,bodyclose // Wait has the result
	made, err := d.page.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	d.serves(made)
}

// After the set-up was stopped, the page creates no App.
func TestStopped(t *testing.T) {
	d := sit(t, "", "")
	me := d.visitor()
	d.confirm(me)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	if made, err := d.page.Wait(ctx); made != nil || err == nil || err.Error() != "stopped" {
		t.Errorf("%+v, %v", made, err)
	}
	for _, path := range []string{"/setup", "/setup/created?" + d.code()} {
		code, page := d.get(me, d.at+path)
		if code != http.StatusGone {
			t.Errorf("%s: %d", path, code)
		}
		d.says(page, "This set-up has ended")
	}
	if n := len(d.gh.Calls()); n != 0 {
		t.Error("the code was exchanged")
	}
	d.empty()
}

// code presses GitHub's button for the newest registration and returns the query of the redirect,
// without following it.
func (d *fixture) code() string {
	d.Helper()
	c := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r, err := c.PostForm(
		d.gh.Web()+"/settings/apps/manifest",
		url.Values{"id": {"0"}, "name": {"compat"}},
	)
	if err != nil {
		d.Fatal(err)
	}
	defer r.Body.Close()
	to, err := r.Location()
	if err != nil {
		d.Fatal(err)
	}
	return to.RawQuery
}
