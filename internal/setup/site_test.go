package setup_test

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat"
	"github.com/compat-app/compat/internal/setup"
)

func TestSites(t *testing.T) {
	for _, c := range []struct{ web, api, wantWeb, wantAPI, problem string }{
		{"", "", "https://github.com", "https://api.github.com", ""},
		{"https://github.com/", "", "https://github.com", "https://api.github.com", ""},
		{"https://github.example.com", "", "https://github.example.com",
			"https://github.example.com/api/v3", ""},
		{"https://octo.ghe.com", "", "https://octo.ghe.com", "https://api.octo.ghe.com", ""},
		{"", "https://api.github.com/", "https://github.com", "https://api.github.com", ""},
		{"", "https://github.example.com/api/v3/", "https://github.example.com",
			"https://github.example.com/api/v3", ""},
		{"", "https://api.octo.ghe.com", "https://octo.ghe.com", "https://api.octo.ghe.com", ""},
		{"https://github.example.com", "https://api.example.com/v3", "https://github.example.com",
			"https://api.example.com/v3", ""},
		{"http://127.0.0.1:8000", "", "http://127.0.0.1:8000", "http://127.0.0.1:8000/api/v3", ""},
		{"", "https://api.example.com/v3", "", "", "--github-url: GITHUB_API_URL does not determine"},
		{"http://github.example.com", "", "", "", "is not https"},
		{"https://github.example.com", "http://github.example.com/api/v3", "", "", "is not https"},
		{"https://github.example.com/acme", "", "", "", "has a path"},
		{"github.com", "", "", "", `--github-url: "github.com" is not an http`},
		{"https://me@github.com", "", "", "", "is not an http or https URL"},
		{"", "ftp://x", "", "", "GITHUB_API_URL:"},
	} {
		s, err := setup.ParseSite(c.web, c.api)
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s %s: %v, want %q", c.web, c.api, err, c.problem)
			}
		case err != nil:
			t.Errorf("%s %s: %v", c.web, c.api, err)
		case s.Web.String() != c.wantWeb || s.API.String() != c.wantAPI:
			t.Errorf("%s %s: %s and %s", c.web, c.api, s.Web, s.API)
		}
	}
}

func TestWebhookAddress(t *testing.T) {
	for address, problem := range map[string]string{
		"https://compat.example.com/": "", "http://10.1.2.3:8080/compat": "", "": "is not set",
		"http://localhost:8080": "only from this machine", "http://127.0.0.1": "only from this machine",
		"http://[::1]:8080": "only from this machine", "http://0.0.0.0:8080": "only from this machine",
		"compat.example.com": "is not an http or https URL", "https://x/?a=b": "is not an http or " +
			"https URL",
	} {
		u, err := setup.ParsePublic("--url", address)
		if problem == "" && (err != nil || strings.HasSuffix(u.String(), "/")) ||
			problem != "" &&
				(err == nil || !strings.Contains(err.Error(), problem) || !strings.HasPrefix(err.Error(),
					"--url: ")) {
			t.Errorf("%q: %v, %v, want %q", address, u, err, problem)
		}
	}
}

func TestOrganizations(t *testing.T) {
	for org, ok := range map[string]bool{"": true, "acme": true, "Acme-2_corp": true, "a/b": false,
		"../x": false, "-a": false, "a b": false, "a?b": false} {
		if err := setup.CheckOrganization(org); (err == nil) != ok {
			t.Errorf("%q: %v", org, err)
		}
	}
}

// The App requests exactly what app.yml contains, each with a reason that the page shows.
func TestManifest(t *testing.T) {
	m, err := setup.ParseManifest(compat.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "compat" || m.Public || m.Home == "" || m.Description == "" ||
		len(m.Permissions) != 8 ||
		len(m.Events) < 10 {
		t.Errorf("app.yml is read as %+v", m)
	}
	for _, a := range append(m.Permissions, m.Events...) {
		if a.Why == "" || strings.HasPrefix(a.Why, "#") {
			t.Errorf("app.yml does not say what %s is for: %q", a.Name, a.Why)
		}
	}
	text, err := m.JSON(
		&url.URL{Scheme: "https", Host: "x.example", Path: "/webhook"},
		&url.URL{Scheme: "http", Host: "127.0.0.1:9", Path: "/setup/created"},
	)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Hook        struct{ URL string } `json:"hook_attributes"`
		Permissions map[string]string    `json:"default_permissions"`
		Events      []string             `json:"default_events"`
		Redirect    string               `json:"redirect_url"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil ||
		got.Hook.URL != "https://x.example/webhook" ||
		got.Redirect != "http://127.0.0.1:9/setup/created" ||
		got.Permissions["checks"] != "write" ||
		len(got.Permissions) != 8 ||
		len(got.Events) != len(m.Events) {
		t.Errorf("%s (%v)", text, err)
	}
	for name, text := range map[string]string{"an unknown key": "name: x\nwebhook: y\n",
		"no YAML": "a: [\n", "a list": "- a\n", "nothing": "", "public": "public: perhaps\n"} {
		if m, err := setup.ParseManifest([]byte(text)); err == nil {
			t.Errorf("%s is read as %+v", name, m)
		}
	}
}

// The page to which everyone who creates an App is referred documents how to require the check
// from this App, with requests that name the check and the App.
func TestRequiredCheckNamesItsSource(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	path, anchor, _ := strings.Cut(
		strings.TrimPrefix(setup.RequiredPage, "https://github.com/compat-app/compat/blob/main/"),
		"#",
	)
	if path != "docs/install.md" ||
		!strings.Contains(
			strings.ToLower(strings.ReplaceAll(string(data), " ", "-")),
			"\n##-"+anchor+"\n",
		) {
		t.Errorf("%s leads nowhere", setup.RequiredPage)
	}
	type check struct {
		Context string
		App     int `json:"app_id"`
		Ruleset int `json:"integration_id"`
	}
	var named []check
	for _, body := range regexp.MustCompile(`(?s)--input - <<'END'\n(.*?)\nEND\n`).FindAllSubmatch(data, -1) {
		var request struct {
			Checks []check
			Rules  []struct {
				Type       string
				Parameters struct {
					Checks []check `json:"required_status_checks"`
				}
			}
		}
		if err := json.Unmarshal(body[1], &request); err != nil {
			t.Errorf("%s: %v", body[1], err)
		}
		named = append(named, request.Checks...)
		for _, r := range request.Rules {
			if r.Type == "required_status_checks" {
				named = append(named, r.Parameters.Checks...)
			}
		}
	}
	if want := []check{{"compat", 0, 4711}, {"compat", 4711, 0}}; !slices.Equal(named, want) {
		t.Errorf("the requests require %+v, want %+v", named, want)
	}
}
