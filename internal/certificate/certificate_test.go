package certificate_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/certificate"
)

func TestNext(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	for _, c := range []struct {
		name string
		tls  *tls.Config
		want string
	}{
		{"authority", &tls.Config{}, "set SSL_CERT_DIR to the folder"},
		{"name", &tls.Config{RootCAs: pool, ServerName: "other.invalid"},
			"write a host name of the certificate in GITHUB_API_URL"},
		{"expired", &tls.Config{RootCAs: pool,
			Time: func() time.Time { return server.Certificate().NotAfter.AddDate(1, 0, 0) }},
			"renew the certificate of the server"},
	} {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: c.tls}}
		res, err := client.Get(server.URL)
		if err == nil {
			res.Body.Close()
		}
		if got := certificate.Next(err, "GITHUB_API_URL"); !strings.Contains(got, c.want) {
			t.Errorf("%s: %v: %q, want %q", c.name, err, got, c.want)
		}
	}
	refused := &url.Error{Op: "Get", URL: "https://h", Err: errors.New("connection refused")}
	if got := certificate.Next(refused, "GITHUB_API_URL"); got != "" {
		t.Errorf("another error: %q", got)
	}
}
