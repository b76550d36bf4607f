package githubtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// The page for a new App rejects the same manifests as GitHub's.
func TestManifestsThatAreRefused(t *testing.T) {
	good := func() map[string]any {
		return map[string]any{
			"name":            "compat",
			"url":             "https://example.com",
			"hook_attributes": map[string]any{"url": "https://example.com/webhook"},
			"redirect_url":    "http://127.0.0.1:9/setup",
			"default_permissions": map[string]any{
				"checks":   "write",
				"metadata": "read",
			},
			"default_events": []string{"check_run"},
		}
	}
	for name, change := range map[string]func(map[string]any){
		"":                             func(map[string]any) {},
		"name has 0":                   func(m map[string]any) { delete(m, "name") },
		"url wasn't supplied":          func(m map[string]any) { delete(m, "url") },
		"redirect_url wasn't supplied": func(m map[string]any) { delete(m, "redirect_url") },
		"hook_attributes.url wasn't":   func(m map[string]any) { delete(m, "hook_attributes") },
		"over the public internet": func(m map[string]any) {
			m["hook_attributes"] = map[string]any{"url": "http://localhost/webhook"}
		},
		"no permission chekcs": func(m map[string]any) {
			m["default_permissions"] = map[string]any{"chekcs": "write"}
		},
		"no permission checks: admin": func(m map[string]any) {
			m["default_permissions"] = map[string]any{"checks": "admin"}
		},
		"events unsupported: push": func(m map[string]any) {
			m["default_events"] = []string{"push"}
		},
		"events unsupported: no_events": func(m map[string]any) {
			m["default_events"] = []string{"no_events"}
		},
		"webhook is no key": func(m map[string]any) { m["webhook"] = "x" },
	} {
		s, err := githubtest.Start(githubtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := good()
		change(m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.PostForm(
			s.Web()+"/settings/apps/new?state=x",
			url.Values{"manifest": {string(text)}},
		)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if refused := r.StatusCode != 200; refused != (name != "") ||
			!strings.Contains(string(body), name) ||
			len(s.Violations()) > 0 != refused {
			t.Errorf("%q: %d %s %v", name, r.StatusCode, body, s.Violations())
		}
		s.Close()
	}
}
