package queue

import (
	"context"
	"crypto/tls"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/compat-app/compat/internal/test/loopback"
)

// An address with the wrong scheme is recognized, and no other error is taken for one.
func TestMismatch(t *testing.T) {
	plain := miniredis.RunT(t)
	plain.RequireAuth("hunter2")
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	encrypted, strict := miniredis.NewMiniRedis(), miniredis.NewMiniRedis()
	for server, config := range map[*miniredis.Miniredis]*tls.Config{
		encrypted: {Certificates: certified.TLS.Certificates},
		// as Redis with tls-auth-clients
		strict: {Certificates: certified.TLS.Certificates, ClientAuth: tls.RequireAnyClientCert,
			MaxVersion: tls.VersionTLS12},
	} {
		if err := server.StartTLS(config); err != nil {
			t.Fatal(err)
		}
		defer server.Close()
	}
	for url, want := range map[string]string{
		"redis://:hunter2@" + plain.Addr():      "",
		"rediss://:hunter2@" + encrypted.Addr(): "",
		"redis://:hunter2@" + encrypted.Addr():  encrypted.Addr() + " uses TLS; write rediss:// ",
		"redis://:hunter2@" + strict.Addr():     strict.Addr() + " uses TLS; write rediss:// ",
		"rediss://:hunter2@" + plain.Addr():     plain.Addr() + " does not use TLS; write redis:// ",
		"redis://" + loopback.Addr(t):           "",
		"unix:///var/run/redis.sock":            "",
	} {
		q, err := Open(context.Background(), Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := q.Mismatch(t.Context()); err != nil {
			got = err.Error()
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) ||
			strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}
