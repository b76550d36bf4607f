// Package setup creates the GitHub App: it serves a page that sends app.yml to GitHub, and stores
// the secrets that GitHub returns once. `compat setup` serves it on this machine, and `compat
// serve` at the address of the service while no App is configured.
//
// It uses GitHub's manifest flow (docs.github.com: registering a GitHub App from a manifest): the
// page posts the manifest to GitHub, where a person confirms it. GitHub redirects the browser
// back with a code, which is exchanged for the App's ID, private key and webhook secret.
//
// Threats:
//
//   - Other people, pages and programs. The first request needs the token of the link that the
//     caller of New prints. It works for the first browser that comes back with the cookie that it
//     got, which identifies it from then on; a preview does not come back. Requests with
//     another host name are refused (DNS rebinding).
//
//   - The code of another App. The browser has to return the state that was sent with the form;
//     it is compared in constant time.
//
//   - Loss of secrets. Both files are created before the code is exchanged, and a code is
//     exchanged once.
//
//   - Leaks of secrets. They are only in the two files, with mode 0600, and in no page, error or
//     log line.
//
//     s, err := setup.New(setup.Options{…}, &url.URL{Scheme: "http", Host:
//     listener.Addr().String()})
//     fmt.Println(s.Link())
//     http.Serve(listener, s)
//     made, err := s.Wait(ctx)
package setup

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"github.com/compat-app/compat/internal/certificate"
	"github.com/compat-app/compat/internal/github"
)

// Options configures New. All fields but Organization, Data, Addr, Failed and Log are required.
type Options struct {
	Manifest     *Manifest
	Site         Site
	Organization string   // owner of the App; "" = the person's account
	Public       *url.URL // address at which GitHub reaches the service
	Dir          string   // absolute path of the directory for the two files
	Data         string   // absolute path that the settings name as COMPAT_DATA
	Addr         string   // address that the service will listen on; "" = its default
	// Register exchanges a code. Errors are those of github.Register.
	Register func(ctx context.Context, code string) (*github.Registered, error)
	// Failed is called with each error that the page shows, one sentence; nil = not called.
	Failed func(sentence string)
	// Log gets a line "audit" for each use of the link, refused request and created App; nil: silent.
	Log *slog.Logger
}

// audit logs who did what with the page.
func (s *Setup) audit(r *http.Request, what string, more ...any) {
	if s.Log != nil {
		s.Log.Info("audit", append([]any{"setup", what, "remote", r.RemoteAddr}, more...)...)
	}
}

// Made is a created App with its files.
type Made struct {
	ID            int64
	Name          string
	Key, Settings string   // paths of the two files
	Install       *url.URL // page on which the App is installed
	Start         Step     // starts the service
}

// Setup is the page for creating one App. It is an http.Handler.
type Setup struct {
	Options
	root *url.URL // address of the page for browsers
	mux  *http.ServeMux

	mu      sync.Mutex
	token   string // in the link; "" = already used
	session string // cookie of the browser that used the link
	// visits are the cookies of those that requested the link. A preview of a chat or mail program
	// does so too, but does not come back with the cookie.
	visits map[string]bool
	state  string
	used   map[string]bool // codes that GitHub has accepted or rejected
	over   bool

	end chan result
}

type result struct {
	made *Made
	err  error
}

// Paths of the page. GitHub redirects the browser to backPath.
const (
	pagePath = "/setup"
	backPath = "/setup/created"
)

// New returns the page, which browsers reach below root. It returns an error, one sentence, if
// one of the files exists or cannot be created.
func New(o Options, root *url.URL) (*Setup, error) {
	f, err := reserve(o.Dir)
	if err != nil {
		return nil, err
	}
	f.drop()
	s := &Setup{
		Options: o,
		root:    root,
		mux:     http.NewServeMux(),
		token:   rand.Text(),
		state:   rand.Text(),
		used:    map[string]bool{},
		visits:  map[string]bool{},
		end:     make(chan result, 1),
	}
	s.mux.HandleFunc("GET "+pagePath, s.page)
	s.mux.HandleFunc("GET "+backPath, s.back)
	return s, nil
}

// Link returns the address with the token. It can be opened once, and gives access to the page.
func (s *Setup) Link() string {
	return s.at(pagePath) + "?" + url.Values{"token": {s.token}}.Encode()
}

func (s *Setup) at(path string) string { return s.root.JoinPath(path).String() }

// Wait returns when the App was created, when it was created but its secrets could not be stored,
// or when ctx ends. An exchange that has begun ends first, because GitHub returns the secrets only
// once. Afterwards the page refuses all requests.
func (s *Setup) Wait(ctx context.Context) (*Made, error) {
	select {
	case r := <-s.end:
		return r.made, r.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	select {
	case r := <-s.end:
		return r.made, r.err
	default:
		return nil, context.Cause(ctx)
	}
}

// ServeHTTP implements http.Handler.
func (s *Setup) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy())
	h.Set("Cache-Control", "no-store")
	// GitHub requires the origin of the form; a path is never sent.
	h.Set("Referrer-Policy", "strict-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	if !strings.EqualFold(r.Host, s.root.Host) {
		s.fail(w, r, http.StatusMisdirectedRequest, "refused: another host name",
			"This page is at "+s.at(pagePath)+" only, and the request names another host. Open the link "+
				"exactly as compat printed it. A reverse proxy must pass the header Host unchanged.", false)
		return
	}
	if r.Method == http.MethodHead { // of a program that looks where the link leads
		return
	}
	s.mux.ServeHTTP(w, r)
}

// page handles the link, and shows the manifest with a button.
func (s *Setup) page(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		s.open(w, r, token)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrive(r)
	if !s.mine(r) {
		s.fail(w, r, http.StatusForbidden, "refused: no link",
			"Open this page with the link that compat printed.", false)
		return
	}
	if s.over {
		s.ended(w, r)
		return
	}
	s.form(w, r)
}

// ended refuses a request after the App was created, or Wait has returned.
func (s *Setup) ended(w http.ResponseWriter, r *http.Request) {
	s.fail(w, r, http.StatusGone, "refused: the set-up has ended",
		"This set-up has ended. Continue in the terminal where you started compat.", false)
}

// maxVisits limits the browsers that request the link before one comes back.
const maxVisits = 100

// arrive uses up the link for the first browser that comes back with the cookie of a visit. The
// caller must hold the lock.
func (s *Setup) arrive(r *http.Request) {
	c, err := r.Cookie(cookie)
	if err != nil || s.session != "" || !s.visits[c.Value] {
		return
	}
	s.token, s.session, s.visits = "", c.Value, nil
	s.audit(r, "link opened")
}

// open checks the token of the link, and sets a cookie.
func (s *Setup) open(w http.ResponseWriter, r *http.Request, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case same(token, s.token) && len(s.visits) < maxVisits:
		visit := rand.Text()
		s.visits[visit] = true
		http.SetCookie(
			w,
			&http.Cookie{
				Name:     cookie,
				Value:    visit,
				Path:     s.root.JoinPath(pagePath).Path,
				HttpOnly: true,
				Secure:   s.root.Scheme == "https",
				SameSite: http.SameSiteLaxMode,
			},
		) //nolint:gosec // on this machine there is no TLS
	case s.mine(r): // the back button, or a reload
	case s.token == "":
		s.fail(w, r, http.StatusForbidden, "refused: the link was used before",
			"This link works once and was already used. If that was not you, stop compat and start it "+
				"again.", false)
		return
	default:
		s.fail(w, r, http.StatusForbidden, "refused: wrong link",
			"This is not the link that compat printed.", false)
		return
	}
	// Removes the token from the address bar and the browser's history.
	http.Redirect(w, r, s.at(pagePath), http.StatusSeeOther)
}

// cookie is Lax, because the browser must send it when it returns from GitHub.
const cookie = "compat-setup"

// mine reports whether the request comes from the browser that opened the link. The caller must
// hold the lock.
func (s *Setup) mine(r *http.Request) bool {
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, s.session)
}

// same compares with a secret in constant time; it returns false if secret is "".
func same(given, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}

// back handles the redirect from GitHub with the code of the new App.
func (s *Setup) back(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock() // one exchange at a time
	defer s.mu.Unlock()
	q := r.URL.Query()
	code := q.Get("code")
	switch {
	case !s.mine(r):
		s.fail(w, r, http.StatusForbidden, "refused: another browser",
			"Continue in the browser in which you opened the link that compat printed.", false)
		return
	case s.over:
		s.ended(w, r)
		return
	case !same(q.Get("state"), s.state):
		s.fail(w, r, http.StatusForbidden, "refused: wrong state",
			"State mismatch: this reply from GitHub belongs to another setup attempt and was ignored. "+
				"Start again.", true)
		return
	case code == "":
		s.fail(w, r, http.StatusBadRequest, "refused: no code",
			"GitHub's reply has no code, so no App was created. Start again.", true)
		return
	case s.used[code]:
		s.fail(w, r, http.StatusConflict, "refused: used code", s.spent(), true)
		return
	}
	made, err := s.exchange(r.Context(), code)
	if err != nil {
		s.over = errors.Is(err, errLost)
		s.fail(w, r, http.StatusBadGateway, "failed", err.Error(), !s.over)
		if s.over {
			s.end <- result{err: err}
		}
		return
	}
	s.audit(r, "App created", "app", made.ID, "name", made.Name, "organization", s.Organization,
		"key", made.Key, "settings", made.Settings)
	s.over = true
	s.done(w, made)
	s.end <- result{made: made}
}

// errLost reports that the App was created, but its secrets were lost.
var errLost = errors.New("the App was created, but its secrets are lost")

// exchange creates the files, exchanges the code and writes the secrets. Errors are one sentence
// for a person. The caller must hold the lock.
func (s *Setup) exchange(ctx context.Context, code string) (*Made, error) {
	f, err := reserve(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w; then reload this page within an hour", err)
	}
	// Closing the page does not cancel the request.
	app, err := s.Register(context.WithoutCancel(ctx), code)
	var refused *github.RegisterError
	switch {
	case errors.Is(err, github.ErrCode):
		f.drop()
		s.used[code] = true
		return nil, errors.New(s.spent())
	case errors.As(err, &refused) && refused.Status == http.StatusCreated:
		f.drop()
		s.used[code] = true
		return nil, fmt.Errorf(
			"%w: GitHub's reply did not contain them; delete the App at %s and start again",
			errLost,
			s.apps(),
		)
	case errors.As(err, &refused):
		f.drop()
		return nil, fmt.Errorf(
			"GitHub returned %d for the exchange of the code: %s; reload this page to try again, within "+
				"an hour",
			refused.Status,
			refused.Message,
		)
	case certificate.Next(err, "") != "": // this process does not read certificates again
		f.drop()
		return nil, fmt.Errorf("%w: GitHub's API at %s could not be reached: %w; delete the App at %s, "+
			"%s, and start again", errLost, s.Site.API, err, s.apps(),
			certificate.Next(err, "--github-url or GITHUB_API_URL"))
	case err != nil:
		f.drop()
		return nil, fmt.Errorf(
			"GitHub's API at %s could not be reached: %w; reload this page to try again, within an hour",
			s.Site.API,
			err,
		)
	}
	s.used[code] = true
	made := &Made{
		ID:       app.ID,
		Name:     app.Name,
		Key:      filepath.Join(s.Dir, KeyFile),
		Settings: filepath.Join(s.Dir, SettingsFile),
		Install:  s.install(app),
	}
	made.Start = s.start(made.Settings)
	text, err := settings(s.Options, app, made.Key)
	if err != nil {
		f.drop()
	} else {
		err = f.write(app.Key, text)
	}
	if err != nil {
		return nil, fmt.Errorf(
			"%w: %w; create a new private key and webhook secret for it at %s, or delete it there and "+
				"start again",
			errLost,
			err,
			s.apps(),
		)
	}
	return made, nil
}

func (s *Setup) spent() string {
	return fmt.Sprintf(
		"GitHub does not accept the code: it was already used, or is older than an hour. Delete the "+
			"App at %s if it exists, and start again.",
		s.apps(),
	)
}

// apps returns the address of the owner's list of Apps.
func (s *Setup) apps() string {
	if s.Organization != "" {
		return s.Site.Web.String() + "/organizations/" + s.Organization + "/settings/apps"
	}
	return s.Site.Web.String() + "/settings/apps"
}

// install returns the page on which the App is installed: below its public page, or else below
// the owner's settings.
func (s *Setup) install(app *github.Registered) *url.URL {
	to, err := url.Parse(app.Page)
	if err != nil || app.Page == "" {
		to, _ = url.Parse(s.apps() + "/" + app.Slug)
		return to.JoinPath("installations")
	}
	return to.JoinPath("installations", "new")
}
