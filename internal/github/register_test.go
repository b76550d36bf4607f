package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/loopback"
)

// Register handles all responses. No error contains the code, and no request has credentials.
func TestRegister(t *testing.T) {
	const code = "c0de0123456789"
	app := func(change func(map[string]any)) string {
		m := map[string]any{
			"id":             7,
			"slug":           "compat",
			"name":           "compat",
			"html_url":       "WEB/apps/compat",
			"pem":            string(testPEM()),
			"webhook_secret": "s3cr3t",
			"client_secret":  "no",
		}
		if change != nil {
			change(m)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct {
		name, code string
		status     int
		body       string
		header     http.Header
		want       string // error text; "" = no error
		page       string
	}{
		{"an App", code, 201, app(nil), nil, "", "WEB/apps/compat"},
		{"its page is elsewhere", code, 201, app(func(m map[string]any) {
			m["html_url"] = "https://evil.example/apps/compat"
		}), nil, "", ""},
		{"a code that is not known", code, 404, `{"message":"Not Found"}`, nil, ErrCode.Error(), ""},
		{"refused", code, 422, `{"message":"Validation Failed"}`, nil, "422 Validation Failed", ""},
		{"a limit", code, 403, `{"message":"API rate limit exceeded"}`,
			http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"4102444800"}}, "403", ""},
		{"a redirect", code, 307, "", http.Header{"Location": {"https://evil.example/" + code}}, "307",
			""},
		{"no JSON", code, 201, "<html>", nil, "cannot be read", ""},
		{"no key", code, 201, app(func(m map[string]any) { m["pem"] = "" }), nil, "lacks", ""},
		{"no secret", code, 201, app(func(m map[string]any) {
			m["webhook_secret"] = nil
		}), nil, "lacks", ""},
		{"a slug of two lines", code, 201, app(func(m map[string]any) {
			m["slug"] = "a\nAPP_ID=1"
		}), nil, "lacks", ""},
		{"a path", "../user", 0, "", nil, ErrCode.Error(), ""},
		{"a query", "a?b=c", 0, "", nil, ErrCode.Error(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Method != http.MethodPost ||
					r.URL.Path != "/api/v3/app-manifests/"+code+"/conversions" ||
					r.Header.Get("Authorization") != "" {
					t.Errorf("asked %s %s %v", r.Method, r.URL, r.Header)
				}
				for k, v := range c.header {
					w.Header()[k] = v
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, strings.ReplaceAll(c.body, "WEB", "http://"+r.Host))
			}))
			defer s.Close()
			web, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Register(t.Context(), Options{API: web.JoinPath("api/v3")}, web, c.code)
			switch {
			case asked > 1 || asked == 0 && c.status != 0:
				t.Errorf("asked %d times", asked)
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					strings.Contains(err.Error(), code) {
					t.Errorf("%v, want %q", err, c.want)
				}
			case err != nil:
				t.Error(err)
			case got.ID != 7 || string(got.WebhookSecret) != "s3cr3t" ||
				got.Page != strings.ReplaceAll(c.page, "WEB", s.URL):
				t.Errorf("%d %s %s", got.ID, got.Slug, got.Page)
			}
		})
	}
}

func TestRegisterUnreachable(t *testing.T) {
	web := &url.URL{Scheme: "http", Host: loopback.Addr(t)}
	_, err := Register(t.Context(), Options{API: web}, web, "c0de0123456789")
	if err == nil || errors.Is(err, ErrCode) || strings.Contains(err.Error(), "c0de") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}
