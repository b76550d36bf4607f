package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v4"

	compat "github.com/compat-app/compat"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/setup"
	"github.com/compat-app/compat/internal/test/loopback"
)

// testKey returns the path of a private key.
func testKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	)
}

// names returns the metrics of a running service.
func names(t *testing.T) []string {
	t.Helper()
	gh := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "4999")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		io.WriteString(w, "[]")
	}))
	defer gh.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{
		"APP_ID":         "1",
		"PRIVATE_KEY":    testKey(t),
		"WEBHOOK_SECRET": "secret",
		"GITHUB_API_URL": gh.URL,
		"COMPAT_DATA":    t.TempDir(),
		"PIP_INDEX_URL":  gh.URL,

		"COMPAT_ADMIN_ADDR": loopback.Addr(t),
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, environment{Out: io.Discard, Err: &bytes.Buffer{},
			Getenv: func(name string) (string, bool) {
				v, ok := vars[name]
				return v, ok
			}}, "", listener)
	}()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		page := ""
		if _, err := net.Dial("tcp", vars["COMPAT_ADMIN_ADDR"]); err == nil { // it is listening
			page = get(t, "http://"+vars["COMPAT_ADMIN_ADDR"]+"/metrics")
		}
		var found []string
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (compat_\S+)`).FindAllStringSubmatch(page, -1) {
			found = append(found, m[1])
		}
		if slices.Contains(found, "compat_github_rate_limit_remaining") || time.Now().After(end) {
			env := environment{
				Getenv: func(string) (string, bool) { return "", false }, Out: io.Discard, Err: io.Discard,
			}
			at := []string{"serve", "--healthcheck", "--addr", listener.Addr().String()}
			if code := run(t.Context(), at, env); code != exitOK {
				t.Errorf("serve --healthcheck: exit code %d", code)
			}
			if code := run(t.Context(), append(at[:3], loopback.Addr(t)), env); code != exitUsage {
				t.Errorf("serve --healthcheck of nothing: exit code %d", code)
			}
			if code := get(t, "http://"+listener.Addr().String()+"/readyz"); code != "ready\n" {
				t.Errorf("/readyz says %q", code)
			}
			slices.Sort(found)
			return found
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// All metrics are documented, all documented metrics exist, and those used by the dashboard and
// the alerts exist.
func TestOperationPage(t *testing.T) {
	shown := names(t)
	read := func(file string) string {
		data, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(compat_[a-z_]+)` \\|").FindAllStringSubmatch(read("docs/operation.md"), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	if !slices.Equal(shown, documented) {
		t.Errorf(
			"/metrics shows\n%s\ndocs/operation.md has\n%s",
			strings.Join(shown, "\n"),
			strings.Join(documented, "\n"),
		)
	}
	for file, least := range map[string]int{"deploy/grafana-dashboard.json": 5,
		"deploy/alerts.yml": 5, "docs/operation.md": 5, "deploy/keda.yaml": 1,
		"deploy/keda-large.yaml": 1} {
		text := read(file)
		used := regexp.MustCompile(`\bcompat_[a-z_]+`).FindAllString(text, -1)
		if len(used) < least {
			t.Errorf("%s uses %d metrics", file, len(used))
		}
		for _, name := range used {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			if !slices.Contains(shown, base) {
				t.Errorf("%s uses %s, which /metrics doesn't have", file, name)
			}
		}
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read("deploy/grafana-dashboard.json")), &dashboard); err != nil {
		t.Error(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets { // the variable of the dashboard applies to all panels
			if metrics := regexp.MustCompile(`\b(compat|process)_[a-z_]+`).FindAllString(target.Expr, -1); len(metrics) !=
				strings.Count(target.Expr, `{job=~"$job"`) {
				t.Errorf("panel %s: %s does not select $job", p.Title, target.Expr)
			}
		}
	}
	for _, file := range []string{"deploy/alerts.yml", "deploy/keda.yaml", "deploy/keda-large.yaml"} {
		if err := yaml.Unmarshal([]byte(read(file)), new(any)); err != nil {
			t.Error(err)
		}
	}
}

// The container has minimal privileges, and releases can be verified.
func TestContainerIsConfined(t *testing.T) {
	read := func(file string, v any) {
		t.Helper()
		data, err := os.ReadFile("../../" + file)
		if err == nil {
			err = yaml.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var compose struct {
		Services map[string]struct {
			ReadOnly   bool     `yaml:"read_only"`
			Drop       []string `yaml:"cap_drop"`
			Security   []string `yaml:"security_opt"`
			Privileged bool
			CapAdd     []string `yaml:"cap_add"`
		}
	}
	read("compose.yaml", &compose)
	c, there := compose.Services["compat"]
	if !there || !c.ReadOnly || !slices.Equal(c.Drop, []string{"ALL"}) ||
		!slices.Contains(c.Security, "no-new-privileges:true") ||
		c.Privileged ||
		len(c.CapAdd) > 0 {
		t.Errorf("compose.yaml: %+v", c)
	}
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(image), "\nFROM scratch\n")
	if !regexp.MustCompile(`(?m)^USER [1-9]\d+:[1-9]\d+$`).MatchString(last) {
		t.Errorf("the image's user is not one of its own:\n%s", last)
	}
	var release struct {
		Checksum struct{ Algorithm string }
		SBOMs    []struct{ Artifacts string }
	}
	read(".goreleaser.yaml", &release)
	if release.Checksum.Algorithm != "sha256" || len(release.SBOMs) == 0 {
		t.Errorf(".goreleaser.yaml: %+v", release)
	}
}

func TestRateLimitRemaining(t *testing.T) {
	r := prometheus.NewRegistry()
	g := newGithubCalls(r, "api")
	later := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	soon := strconv.FormatInt(time.Now().Add(time.Minute).Unix(), 10)
	for _, a := range [][3]string{{"core", "4000", later}, {"core", "12", soon}, {"core", "14", soon},
		{"core", "1", "1000"}, {"graphql", "7", later}, {"core", "x", later}} {
		h := http.Header{}
		h.Set("X-RateLimit-Resource", a[0])
		h.Set("X-RateLimit-Remaining", a[1])
		h.Set("X-RateLimit-Reset", a[2])
		g.note(h)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "compat_github_rate_limit_remaining" {
			for _, m := range f.GetMetric() {
				got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	if len(got) != 2 || got["core"] != 12 || got["graphql"] != 7 {
		t.Errorf("%v, want core 12 and graphql 7", got)
	}
}

// testSigner is a key that can be made to fail.
type testSigner struct {
	crypto.Signer
	err    error
	signed int
}

func (s *testSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	s.signed++
	return []byte("signature"), s.err
}

func TestReadiness(t *testing.T) {
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	key := &testSigner{}
	ready, err := newReadiness(prometheus.NewRegistry(), q, key)
	if err != nil {
		t.Fatal(err)
	}
	key.err = errors.New("the token was pulled out")
	for range 3 {
		if err := ready.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if key.signed != 1 {
		t.Errorf("%d signatures within a minute, want 1", key.signed)
	}
	ready.signed = time.Now().Add(-signEvery)
	if err := ready.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "private key") {
		t.Errorf("with a broken key: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ready.Ping(t.Context()); err == nil {
		t.Error("ready with a closed queue")
	}
}

// The clock of Redis is two minutes ahead, so GitHub would reject the tokens of one of the
// machines.
func TestReadinessChecksTheClock(t *testing.T) {
	m := miniredis.RunT(t)
	q, err := queue.Open(t.Context(), queue.Options{URL: "redis://" + m.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	ready, err := newReadiness(prometheus.NewRegistry(), q, &testSigner{})
	if err != nil {
		t.Fatal(err)
	}
	m.SetTime(time.Now())
	if err := ready.Ping(t.Context()); err != nil {
		t.Errorf("with the same clock: %v", err)
	}
	m.SetTime(time.Now().Add(2 * time.Minute))
	if err := ready.Ping(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "clock differs from that of Redis by -") {
		t.Errorf("with another clock: %v", err)
	}
}

// docs/security-review.md lists the permissions of app.yml, with their levels and reasons.
func TestSecurityReviewPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/security-review.md")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := setup.ParseManifest(compat.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	var want, have []string
	for _, p := range manifest.Permissions {
		want = append(want, strings.ReplaceAll(p.Name, "_", " ")+" "+p.Level)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z ]+) \| (read|write) \| \S`).FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		have = append(have, row[1]+" "+row[2])
	}
	if !slices.Equal(have, want) {
		t.Errorf("the page has %q, app.yml %q", have, want)
	}
}

// The address for operators takes a port first, so it is named if the service has the same one.
func TestOperatorsHaveTheSamePort(t *testing.T) {
	operators, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer operators.Close()
	addr := operators.Addr().String()
	if _, err := listenPublic(addr, operators); err == nil || !strings.HasPrefix(err.Error(),
		"COMPAT_ADMIN_ADDR: "+addr+" has the port of --addr or PORT") {
		t.Error(err)
	}
	if _, err := listenPublic(addr, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "--addr or PORT: ") {
		t.Error(err)
	}
}
