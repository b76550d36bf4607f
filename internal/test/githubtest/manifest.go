package githubtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// codeLife is the lifetime of the code of a new App (docs.github.com: registering a GitHub App
// from a manifest).
const codeLife = time.Hour

// Registration is the creation of an App from a manifest in a browser: the form, the button, and
// the exchange of a code. The result is the server's App with the permissions of the manifest.
type Registration struct {
	Organization string // "" = the person's account
	Name         string
	Manifest     map[string]any
	State        string
	Code         string    // "" = the button was not clicked yet
	Expires      time.Time // of the code
	Exchanged    bool
}

// Registrations returns all registrations, oldest first.
func (s *Server) Registrations() []Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Registration
	for _, r := range s.registrations {
		out = append(out, *r)
	}
	return out
}

// Web returns the root of the web pages.
func (s *Server) Web() string { return s.api.url }

// webPath reports whether a path is handled by serveWeb; all others are the API's.
func webPath(path string) bool {
	return path == "/favicon.ico" || strings.HasPrefix(path, "/settings/apps/") ||
		strings.HasPrefix(path, "/organizations/")
}

// newAppPage returns the form for a manifest.
func newAppPage(id int, name string) g.Node {
	const title = "Create GitHub App"
	return h.Doctype(h.HTML(
		h.Lang("en"),
		h.TitleEl(g.Text(title)),
		h.H1(g.Text(title)),
		h.Form(
			h.Method("post"),
			h.Action("/settings/apps/manifest"),
			h.Input(h.Name("id"), h.Type("hidden"), h.Value(strconv.Itoa(id))),
			h.Input(h.Name("name"), h.Value(name)),
			h.Button(g.Text(title)),
		),
	))
}

// serveWeb handles the web pages: the form for a manifest, and its button.
func (s *Server) serveWeb(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/settings/apps/manifest" {
		s.createApp(w, r)
		return
	}
	org := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/organizations/"), "/settings/apps/new")
	if r.URL.Path == "/settings/apps/new" {
		org = ""
	}
	if org != "" && s.users[org] == nil {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	var m object
	if err := json.Unmarshal([]byte(r.PostForm.Get("manifest")), &m); err != nil {
		m = object{}
	}
	if err := checkManifest(m); err != nil {
		s.violate("POST %s: the manifest: %v", r.URL.Path, err)
		http.Error(w, "Invalid GitHub App configuration: "+err.Error(), http.StatusUnprocessableEntity)
		return
	}
	s.registrations = append(
		s.registrations,
		&Registration{
			Organization: org,
			Name:         str(m, "name"),
			Manifest:     m,
			State:        r.URL.Query().Get("state"),
		},
	)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = newAppPage(len(s.registrations)-1, str(m, "name")).Render(w)
	// fails only if the client closed the connection
}

func (s *Server) createApp(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PostForm.Get("id"))
	if err != nil || i < 0 || i >= len(s.registrations) {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	g := s.registrations[i]
	g.Name, g.Code, g.Expires = r.PostForm.Get("name"), random(20), time.Now().Add(codeLife)
	to, _ := url.Parse(str(g.Manifest, "redirect_url"))
	q := to.Query()
	q.Set("code", g.Code)
	if g.State != "" {
		q.Set("state", g.State)
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// needed returns the permission that an event of a manifest needs.
func needed(event string) string {
	switch event {
	case "pull_request", "pull_request_review_comment":
		return "pull_requests"
	case "workflow_run":
		return "actions"
	case "check_run", "check_suite":
		return "checks"
	case "issue_comment":
		return "issues"
	case "release", "push":
		return "contents"
	case "merge_group":
		return "merge_queues"
	case "deployment_protection_rule":
		return "deployments"
	case "repository":
		return "metadata"
	}
	return ""
}

// checkManifest validates a manifest like GitHub's page.
func checkManifest(m object) error {
	hook := str(obj(m, "hook_attributes"), "url")
	redirect := str(m, "redirect_url")
	home := str(m, "url")
	for name, address := range map[string]string{"url": home, "hook_attributes.url": hook,
		"redirect_url": redirect} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && u.Scheme != "http" ||
			u.Host == "" {
			return fmt.Errorf("%s wasn't supplied, or is no address: %q", name, address)
		}
	}
	if u, _ := url.Parse(hook); u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" {
		return fmt.Errorf("the hook's address %s is not reachable over the public internet", hook)
	}
	if n := len(str(m, "name")); n == 0 || n > 34 {
		return fmt.Errorf("the name has %d characters, want 1 to 34", n)
	}
	asked := obj(m, "default_permissions")
	for name, level := range asked {
		if permissions.Get()[name] == "" || level != "read" && level != "write" {
			return fmt.Errorf("there is no permission %s: %v", name, level)
		}
	}
	for _, event := range arr(m, "default_events") {
		if need := needed(fmt.Sprint(event)); need == "" || asked[need] == nil {
			return fmt.Errorf("default events unsupported: %v (it needs the permission %q)", event, need)
		}
	}
	for key := range m {
		if !slices.Contains(
			[]string{
				"name",
				"url",
				"description",
				"public",
				"hook_attributes",
				"redirect_url",
				"callback_urls",
				"setup_url",
				"default_permissions",
				"default_events",
				"request_oauth_on_install",
				"setup_on_update",
			},
			key,
		) {
			return fmt.Errorf("%s is no key of a manifest", key)
		}
	}
	return nil
}

// convert exchanges a code for the App's secrets, once.
func (s *Server) convert(r *request) (any, error) {
	i := slices.IndexFunc(
		s.registrations,
		func(g *Registration) bool { return g.Code != "" && g.Code == r.PathValue("code") },
	)
	if i < 0 || s.registrations[i].Exchanged || time.Now().After(s.registrations[i].Expires) {
		return nil, notFound()
	}
	g := s.registrations[i]
	g.Exchanged = true
	s.permissions = map[string]string{}
	for name, level := range obj(g.Manifest, "default_permissions") {
		s.permissions[name] = fmt.Sprint(level)
	}
	public := "/apps/"
	if s.prefix != "" {
		public = "/github-apps/"
	}
	owner := s.bot
	if g.Organization != "" {
		owner = s.users[g.Organization]
	}
	return created(
		object{
			"id":             s.AppID,
			"slug":           s.Slug,
			"node_id":        node("A", s.AppID),
			"owner":          owner.json(),
			"name":           g.Name,
			"description":    str(g.Manifest, "description"),
			"external_url":   str(g.Manifest, "url"),
			"html_url":       s.Web() + public + s.Slug,
			"created_at":     stamp(time.Now()),
			"updated_at":     stamp(time.Now()),
			"permissions":    maps.Clone(s.permissions),
			"events":         arr(g.Manifest, "default_events"),
			"client_id":      "Iv1." + random(8),
			"client_secret":  s.clientSecret,
			"webhook_secret": s.Secret,
			"pem":            s.PEM(),
		},
	), nil
}
