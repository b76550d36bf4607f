// Package setup makes the GitHub App: a page that hands GitHub app.yml, and keeps the secrets that
// GitHub tells once. `compat setup` shows it on this machine, and `compat serve` where the service
// will be, while no App is configured.
//
// GitHub's side is its manifest flow (docs.github.com: registering a GitHub App from a manifest):
// the page posts the manifest to GitHub, where a person confirms it; GitHub sends the browser back
// with a code, and the code is exchanged for the App's id, private key and webhook secret.
//
// What it guards against:
//
//   - other people, pages and programs: the first request needs the token of the link that New's
//     caller printed, which works once, and from then
//     on the browser that brought it has the page to itself. Requests under another host name are
//     refused (a name that was rebound to this machine);
//
//   - a code of somebody else's App: the browser has to bring back the state that went out with the
//     form, compared in constant time;
//
//   - secrets that get lost: both files are made before the code is exchanged, and a code is
//     exchanged once;
//
//   - secrets that get out: they stand in the two files, which only their owner may read, and
//     nowhere else. No page, error or log line holds one.
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

	"github.com/compat-app/compat/internal/github"
)

// Options is what New needs; all but Organization, Failed and Log are required.
type Options struct {
	Manifest     *Manifest
	Site         Site
	Organization string   // that the App is to belong to; "": the person's own account
	Public       *url.URL // where GitHub reaches the service
	Dir          string   // of the two files; an absolute path
	// Register exchanges a code; its errors are those of github.Register.
	Register func(ctx context.Context, code string) (*github.Registered, error)
	// Failed is told what the page says of a failure, one sentence each; nil: nobody.
	Failed func(sentence string)
	// Log gets a line "audit" for each use of the link, refused attempt and created App; nil: silent.
	Log *slog.Logger
}

// audit logs who did what with the page.
func (s *Setup) audit(r *http.Request, what string, more ...any) {
	if s.Log != nil {
		s.Log.Info("audit", append([]any{"setup", what, "remote", r.RemoteAddr}, more...)...)
	}
}

// Made is an App that is there, with its files.
type Made struct {
	ID            int64
	Name          string
	Key, Settings string   // paths of the two files
	Install       *url.URL // where the App is put on repositories
}

// Setup is the page, for one App. It is an http.Handler.
type Setup struct {
	Options
	root *url.URL // of the page, as browsers see it
	mux  *http.ServeMux

	mu      sync.Mutex
	token   string // of the link; "" once it was used
	session string // the cookie of the browser that used it
	state   string
	used    map[string]bool // codes that GitHub has seen
	over    bool

	end chan result
}

type result struct {
	made *Made
	err  error
}

// Paths of the page. GitHub sends the browser back to the second one.
const (
	pagePath = "/setup"
	backPath = "/setup/created"
)

// New prepares the page, which browsers reach below root. It returns an error, one sentence, if one
// of the files is there already or can't be made.
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
		end:     make(chan result, 1),
	}
	s.mux.HandleFunc("GET "+pagePath, s.page)
	s.mux.HandleFunc("GET "+backPath, s.back)
	return s, nil
}

// Link is what a person opens, once. It is as good as the page.
func (s *Setup) Link() string {
	return s.at(pagePath) + "?" + url.Values{"token": {s.token}}.Encode()
}

func (s *Setup) at(path string) string { return s.root.JoinPath(path).String() }

// Wait returns when the App is there, when it is there but its secrets could not be kept, or when
// ctx ends.
func (s *Setup) Wait(ctx context.Context) (*Made, error) {
	select {
	case r := <-s.end:
		return r.made, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ServeHTTP implements http.Handler.
func (s *Setup) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", s.policy())
	h.Set("Cache-Control", "no-store")
	h.Set(
		"Referrer-Policy",
		"strict-origin",
	) // a path never; GitHub wants to know where a form comes from
	h.Set("X-Content-Type-Options", "nosniff")
	if !strings.EqualFold(r.Host, s.root.Host) {
		s.fail(
			w,
			http.StatusMisdirectedRequest,
			"This page is at "+s.at(pagePath)+" only. Open the link exactly as compat printed it.",
			false,
		)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// page opens the link, and shows what is asked for with the button.
func (s *Setup) page(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		s.open(w, r, token)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mine(r) {
		s.fail(
			w,
			http.StatusForbidden,
			"Open this page with the link that compat printed.",
			false,
		)
		return
	}
	if s.over {
		s.fail(
			w,
			http.StatusGone,
			"The App was created. Continue in the terminal where you started compat.",
			false,
		)
		return
	}
	s.form(w)
}

// open takes the token of the link, once, and gives the browser that brought it a session.
func (s *Setup) open(w http.ResponseWriter, r *http.Request, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case same(token, s.token):
		s.token, s.session = "", rand.Text()
		s.audit(r, "link opened")
		http.SetCookie(
			w,
			&http.Cookie{
				Name:     cookie,
				Value:    s.session,
				Path:     s.root.JoinPath(pagePath).Path,
				HttpOnly: true,
				Secure:   s.root.Scheme == "https",
				SameSite: http.SameSiteLaxMode,
			},
		) //nolint:gosec // on this machine there is no TLS
	case s.mine(r): // back, or a reload
	case s.token == "":
		s.audit(r, "refused: the link was used before")
		s.fail(
			w,
			http.StatusForbidden,
			"This link works once and was already used. If that was not you, stop compat and start it again.",
			false,
		)
		return
	default:
		s.audit(r, "refused: wrong link")
		s.fail(
			w,
			http.StatusForbidden,
			"This is not the link that compat printed.",
			false,
		)
		return
	}
	http.Redirect(
		w,
		r,
		s.at(pagePath),
		http.StatusSeeOther,
	) // no token in the address bar, or in what the browser remembers
}

// cookie is Lax: it has to come back from GitHub with the browser.
const cookie = "compat-setup"

// mine says whether the request comes from the browser that opened the link. The caller holds the
// lock.
func (s *Setup) mine(r *http.Request) bool {
	c, err := r.Cookie(cookie)
	return err == nil && same(c.Value, s.session)
}

// same compares with a secret in constant time; nothing is the same as no secret.
func same(given, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}

// back is where GitHub sends the browser with the code of the new App.
func (s *Setup) back(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock() // one exchange at a time
	defer s.mu.Unlock()
	q := r.URL.Query()
	code := q.Get("code")
	switch {
	case !s.mine(r):
		s.audit(r, "refused: another browser")
		s.fail(
			w,
			http.StatusForbidden,
			"Continue in the browser in which you opened the link that compat printed.",
			false,
		)
		return
	case s.over:
		s.fail(
			w,
			http.StatusGone,
			"The App was created. Continue in the terminal where you started compat.",
			false,
		)
		return
	case !same(q.Get("state"), s.state):
		s.audit(r, "refused: wrong state")
		s.fail(
			w,
			http.StatusForbidden,
			"State mismatch: this reply from GitHub belongs to another setup attempt and was ignored. "+
				"Start again.",
			true,
		)
		return
	case code == "":
		s.fail(
			w,
			http.StatusBadRequest,
			"GitHub's reply has no code, so no App was created. Start again.",
			true,
		)
		return
	case s.used[code]:
		s.fail(w, http.StatusConflict, s.spent(), true)
		return
	}
	made, err := s.exchange(r.Context(), code)
	if err != nil {
		s.audit(r, "failed", "error", err)
		s.over = errors.Is(err, errLost)
		s.fail(w, http.StatusBadGateway, err.Error(), !s.over)
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

// errLost: the App is there, and its secrets are not.
var errLost = errors.New("the App was created, but its secrets are lost")

// exchange makes the files, asks GitHub and fills them. Its errors are one sentence for a person.
// The caller holds the lock.
func (s *Setup) exchange(ctx context.Context, code string) (*Made, error) {
	f, err := reserve(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w; then reload this page within an hour", err)
	}
	app, err := s.Register(
		context.WithoutCancel(ctx),
		code,
	) // whoever closes the page gets the App all the same
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
	case err != nil:
		f.drop()
		return nil, fmt.Errorf(
			"%s could not be reached: %w; reload this page to try again, within an hour",
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
	text, err := settings(s.Options, app, made.Key)
	if err == nil {
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

// apps is where the owner sees the App.
func (s *Setup) apps() string {
	if s.Organization != "" {
		return s.Site.Web.String() + "/organizations/" + s.Organization + "/settings/apps"
	}
	return s.Site.Web.String() + "/settings/apps"
}

// install is the page on which the App is put on repositories; where GitHub told none of its own,
// it is among the owner's Apps.
func (s *Setup) install(app *github.Registered) *url.URL {
	to, err := url.Parse(app.Page)
	if err != nil || app.Page == "" {
		to, _ = url.Parse(s.apps() + "/" + app.Slug)
		return to.JoinPath("installations")
	}
	return to.JoinPath("installations", "new")
}
