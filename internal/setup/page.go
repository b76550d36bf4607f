package setup

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/internal/report"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var ownStyle string

// style is that of the report pages, and a little of its own. It stands in the page: once the App is there nobody answers for a file any more.
func style() string { return string(report.Style()) + ownStyle }

// policy is the Content-Security-Policy of all answers: no script, the one style by its digest, and a form that leads to GitHub and nowhere else.
func (s *Setup) policy() string {
	sum := sha256.Sum256([]byte(style()))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action %s://%s; frame-ancestors 'none'", base64.StdEncoding.EncodeToString(sum[:]), s.Site.Web.Scheme, s.Site.Web.Host)
}

// view is what the page shows: a problem, the App that is there, or the form.
type view struct {
	Style template.CSS
	*Setup
	Problem  string
	Again    string // where the page begins; "": it can't be gone back to
	Made     *Made
	Steps    []Step
	Action   string // of the form
	JSON     string // the manifest
	Hook     string
	Key      string
	Settings string
}

func (s *Setup) fail(w http.ResponseWriter, status int, sentence string, again bool) {
	sentence = strings.ToUpper(sentence[:1]) + sentence[1:]
	if !strings.HasSuffix(sentence, ".") {
		sentence += "."
	}
	if s.Failed != nil {
		s.Failed(sentence)
	}
	v := view{Problem: sentence}
	if again {
		v.Again = s.at(pagePath)
	}
	s.show(w, status, v)
}

func (s *Setup) form(w http.ResponseWriter) {
	hook := s.Public.JoinPath("webhook")
	back, err := url.Parse(s.at(backPath))
	if err != nil {
		s.fail(w, http.StatusInternalServerError, "This page does not know where it is: "+err.Error(), false)
		return
	}
	manifest, err := s.Manifest.JSON(hook, back)
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error(), false)
		return
	}
	s.show(w, http.StatusOK, view{Action: s.Site.form(s.Organization, s.state), JSON: manifest, Hook: hook.String(), Key: filepath.Join(s.Dir, KeyFile), Settings: filepath.Join(s.Dir, SettingsFile)})
}

func (s *Setup) done(w http.ResponseWriter, made *Made) {
	s.show(w, http.StatusOK, view{Made: made, Steps: made.Next()})
}

func (s *Setup) show(w http.ResponseWriter, status int, v view) {
	v.Style, v.Setup = template.CSS(style()), s //nolint:gosec // both style sheets are of the program itself
	t, err := template.New("page").Parse(pageHTML)
	var b bytes.Buffer
	if err == nil {
		err = t.Execute(&b, v)
	}
	if err != nil {
		http.Error(w, "The page can't be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // whoever went away is not told
}

// Step is what there is to do once the App is there.
type Step struct {
	What    string
	Command string // "" for a step in the browser
	Link    string // "" for a step at a terminal
}

// RequiredPage says how the check is made a required one.
const RequiredPage = "https://github.com/compat-app/compat/blob/main/docs/install.md#make-the-check-required"

// Next is what there is to do, in this order.
func (m *Made) Next() []Step {
	return []Step{
		{What: "Run the service with these settings", Command: "set -a; . " + Quote(m.Settings) + "; set +a; compat serve"},
		{What: "Install the App on the repositories whose artifacts it is to check", Link: m.Install.String()},
		{What: fmt.Sprintf("Make the check compat a required one, with this App (id %d) as its source", m.ID), Link: RequiredPage},
	}
}
