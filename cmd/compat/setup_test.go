package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A public address without TLS works, because GitHub accepts it, but is a warning.
func TestSetupWithoutTLS(t *testing.T) {
	for url, warns := range map[string]bool{
		"http://compat.example.com": true, "https://compat.example.com": false,
	} {
		ctx, stop := context.WithCancel(t.Context())
		stop() // as soon as the page is served
		var out, errs bytes.Buffer
		code := run(ctx, []string{"setup", "--url", url, "--out", t.TempDir()}, environment{
			Getenv: func(string) (string, bool) { return "", false }, Out: &out, Err: &errs,
		})
		const want = "compat: warning: COMPAT_PUBLIC_URL: http://compat.example.com is not encrypted, so " +
			"events and "
		if code != exitUsage || strings.Contains(errs.String(), want) != warns ||
			!strings.Contains(out.String(), "then open this address") {
			t.Errorf("%s: exit %d\n%s%s", url, code, &out, &errs)
		}
	}
}
