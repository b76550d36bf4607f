package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// untilLink is a terminal that stops the command when the link is printed.
type untilLink struct {
	bytes.Buffer
	stop context.CancelFunc
}

func (u *untilLink) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("then open this address")) {
		u.stop()
	}
	return u.Buffer.Write(text)
}

// setUp runs compat setup until its page is served.
func setUp(t *testing.T, api string, args ...string) (code int, out, errs string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	terminal := &untilLink{stop: stop}
	var e bytes.Buffer
	code = run(ctx, append([]string{"setup", "--out", t.TempDir()}, args...), environment{
		Getenv: func(name string) (string, bool) {
			if name != "GITHUB_API_URL" {
				return "", false
			}
			return api, true
		},
		Out: terminal, Err: &e,
	})
	return code, terminal.String(), e.String()
}

// A public address without TLS works, because GitHub accepts it, but is a warning.
func TestSetupWithoutTLS(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler()) // any status is an answer
	defer api.Close()
	for url, warns := range map[string]bool{
		"http://compat.example.com": true, "https://compat.example.com": false,
	} {
		code, out, errs := setUp(t, api.URL+"/api/v3", "--url", url)
		const want = "compat: warning: COMPAT_PUBLIC_URL: http://compat.example.com is not encrypted, so " +
			"events and "
		if code != exitUsage || strings.Contains(errs, want) != warns ||
			!strings.Contains(out, "then open this address") {
			t.Errorf("%s: exit %d\n%s%s", url, code, out, errs)
		}
	}
}

// Without a connection to GitHub's API there is no link: the App would be created, and its secrets
// could not be fetched.
func TestSetupWithoutGitHub(t *testing.T) {
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	defer encrypted.Close()
	for api, next := range map[string]string{
		encrypted.URL: "set SSL_CERT_DIR to the folder", "http://127.0.0.1:1": "allow connections to it",
	} {
		code, out, errs := setUp(t, api+"/api/v3", "--url", "https://compat.example.com")
		if code != exitUsage || out != "" || !strings.Contains(errs, next) ||
			!strings.Contains(errs, "GitHub's API at "+api+"/api/v3 cannot be reached: ") {
			t.Errorf("%s: exit %d\n%s%s", api, code, out, errs)
		}
	}
}
