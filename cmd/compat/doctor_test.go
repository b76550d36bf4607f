package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	compat "github.com/compat-app/compat"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/setup"
	"github.com/compat-app/compat/internal/test/needs"
	"github.com/compat-app/compat/internal/test/redistest"
)

// doctorHub is GitHub as an App sees it: a response for each path, as JSON or a status.
type doctorHub struct {
	answers map[string]any
	late    time.Duration // how far its clock is ahead
}

func (h *doctorHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(h.late).UTC().Format(http.TimeFormat))
	path := strings.TrimPrefix(strings.Trim(r.URL.Path, "/"), "api/v3/")
	switch a := h.answers[path].(type) {
	case nil:
		http.NotFound(w, r)
	case int:
		w.WriteHeader(a)
		io.WriteString(w, `{"message":"refused"}`)
	case string:
		io.WriteString(w, a)
	default:
		json.NewEncoder(w).Encode(a)
	}
}

// A complete set-up has no problem; each of the broken ones has one, with the step that fixes it.
func TestDoctor(t *testing.T) {
	manifest, err := setup.ParseManifest(compat.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	granted, events := map[string]any{}, []any{}
	for _, p := range manifest.Permissions {
		granted[p.Name] = p.Level
	}
	for _, e := range manifest.Events {
		events = append(events, e.Name)
	}
	less := maps.Clone(granted)
	delete(less, "checks")
	less["issues"] = "read"
	more := maps.Clone(granted)
	more["contents"], more["secrets"], more["members"] = "write", "write", "read"
	const page = "https://github.example.com/apps/compat"
	type object = map[string]any
	app := func(permissions object, events []any) object {
		return object{"id": 4711, "html_url": page, "permissions": permissions, "events": events}
	}
	hook := func(change object) object {
		h := object{
			"url": "https://compat.example.com/webhook", "content_type": "json", "secret": "********",
			"insecure_ssl": "0",
		}
		maps.Copy(h, change)
		return h
	}
	delivery := func(code int) []object {
		return []object{{
			"id": 1, "event": "push", "delivered_at": "2026-01-02T03:04:05Z", "status_code": code,
			"status": "failed to connect to host",
		}}
	}
	full := []object{{"id": 1, "permissions": granted, "account": object{"login": "octo"}}}

	redis := miniredis.RunT(t)
	used := miniredis.RunT(t) // by a queue of one partition
	if err := used.Set("{compat}:seq", "1"); err != nil {
		t.Fatal(err)
	}
	locked := miniredis.RunT(t)
	locked.RequireAuth("hunter2")
	encrypted := miniredis.NewMiniRedis()
	tlsServer := httptest.NewUnstartedServer(nil)
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	if err := encrypted.StartTLS(&tls.Config{Certificates: tlsServer.TLS.Certificates}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(encrypted.Close)
	skewed := miniredis.RunT(t)
	skewed.SetTime(time.Now().Add(-time.Hour))
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, "ok\n")
	}))
	t.Cleanup(public.Close) // after the parallel cases
	signIn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/login" {
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		io.WriteString(w, "<title>Sign in</title>")
	}))
	t.Cleanup(signIn.Close)
	packages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/simple/pip/" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, `<a href="/files/pip-25.0-py3-none-any.whl">pip-25.0-py3-none-any.whl</a>`)
	}))
	t.Cleanup(packages.Close)
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=id/") {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, "<Code>InvalidAccessKeyId</Code>")
			return
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "<Code>NoSuchKey</Code>")
	}))
	t.Cleanup(storage.Close)
	bucketAt := func(endpoint string) string { return "s3://blobs?region=r&endpoint=" + endpoint }
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key := testKey(t)
	open := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(open, []byte(key), 0o644); err != nil {
		t.Fatal(err)
	}

	type vars map[string]string
	for _, c := range []struct {
		name    string
		vars    vars
		hub     object
		late    time.Duration
		state   string // "" = no problem
		want    string // the subject and the problem
		next    string
		without bool   // GitHub is not reachable
		path    string // of the API
	}{
		{name: "complete"},
		{name: "Redis", vars: vars{"REDIS_URL": "redis://" + redis.Addr()}},
		{name: "no App", vars: vars{"APP_ID": "", "PRIVATE_KEY": "",
			"COMPAT_PUBLIC_URL": "https://compat.example.com"}, state: "problem",
			want: "settings there is no GitHub App yet", next: "run 'compat setup --url https://compat.example.com'"},
		{name: "no secret", vars: vars{"WEBHOOK_SECRET": ""}, state: "problem",
			want: "settings WEBHOOK_SECRET: is not set", next: "set it to the webhook secret of the GitHub App"},
		{name: "unreadable key", vars: vars{"PRIVATE_KEY": "nonsense"}, state: "problem",
			want: "settings PRIVATE_KEY: ", next: "set it to the RSA private key of the GitHub App: the PEM file (PKCS#1 or PKCS#8"},
		{name: "key that others can read", vars: vars{"PRIVATE_KEY": "", "PRIVATE_KEY_PATH": open},
			state: "problem", want: "other users can read or write the file", next: "run chmod 0600"},
		{name: "key program", vars: vars{"PRIVATE_KEY": "", "PRIVATE_KEY_COMMAND": "/absent"},
			state: "problem", want: "key cannot sign", next: "correct PRIVATE_KEY_COMMAND"},
		{name: "data folder", vars: vars{"COMPAT_DATA": filepath.Join(file, "below"),
			"REDIS_URL": "redis://" + redis.Addr()}, state: "problem",
			want: "below cannot be written: ", next: "set COMPAT_DATA to a folder that this user can write"},
		{name: "Redis is down", vars: vars{"REDIS_URL": "redis://127.0.0.1:1/0"}, state: "problem",
			want: "queue queue: read the partitions", next: "start Redis, or correct REDIS_URL"},
		{name: "Redis password", vars: vars{"REDIS_URL": "redis://" + locked.Addr()}, state: "problem",
			want: "queue queue: read the partitions: NOAUTH", next: "correct user and password in REDIS_URL"},
		{name: "Redis with TLS", vars: vars{"REDIS_URL": "redis://:hunter2@" + encrypted.Addr()},
			state: "problem", want: "queue queue: " + encrypted.Addr() + " uses TLS",
			next: "write rediss:// instead of redis:// in REDIS_URL"},
		{name: "Redis without TLS", vars: vars{"REDIS_URL": "rediss://:hunter2@" + locked.Addr()},
			state: "problem", want: "queue queue: " + locked.Addr() + " does not use TLS",
			next: "write redis:// instead of rediss:// in REDIS_URL"},
		{name: "certificate of Redis", vars: vars{"REDIS_URL": "rediss://" + encrypted.Addr()},
			state: "problem", want: "queue queue: read the partitions: tls: failed to verify certificate",
			next: "set SSL_CERT_DIR to the folder"},
		{name: "partitions", vars: vars{"REDIS_URL": "redis://" + used.Addr(), "COMPAT_PARTITIONS": "4"},
			state: "problem", want: "the queue has another number of partitions: it has 1, not 4",
			next: "set COMPAT_PARTITIONS to 1, or change the queue with 'compat queue repartition 4'"},
		{name: "partitions of a new queue",
			vars: vars{"REDIS_URL": "redis://" + redis.Addr(), "COMPAT_PARTITIONS": "4"}},
		{name: "two keys", vars: vars{"PRIVATE_KEY_COMMAND": "/sign"}, state: "problem",
			want: "settings PRIVATE_KEY: PRIVATE_KEY and PRIVATE_KEY_COMMAND are both set",
			next: "remove one of them"},
		{name: "short secret", vars: vars{"WEBHOOK_SECRET": "x"}, state: "warning",
			want: "settings WEBHOOK_SECRET: is shorter than 16 characters, so it can be guessed",
			next: "set it, and the App's webhook secret, to the output of openssl rand -hex 32"},
		{name: "public address without TLS", vars: vars{"COMPAT_PUBLIC_URL": "http://compat.invalid"},
			state: "warning", want: "settings COMPAT_PUBLIC_URL: http://compat.invalid is not encrypted",
			next: "use https"},
		{name: "clock of Redis", vars: vars{"REDIS_URL": "redis://" + skewed.Addr()}, state: "problem",
			want: "clock this clock differs from that of Redis by ", next: "synchronize both clocks"},
		{name: "GitHub is not reachable", without: true, state: "problem",
			want: "github 127.0.0.1:1 does not answer", next: "set HTTPS_PROXY if this machine needs a proxy"},
		{name: "certificate of GitHub", vars: vars{"GITHUB_API_URL": tlsServer.URL}, state: "problem",
			want: "does not answer: ", next: "set SSL_CERT_DIR to the folder"},
		{name: "certificate of the public address", vars: vars{"COMPAT_PUBLIC_URL": tlsServer.URL},
			state: "warning", want: "reports this machine cannot reach " + tlsServer.URL,
			next: "set SSL_CERT_DIR to the folder"},
		{name: "certificate of the bucket", vars: vars{"COMPAT_BLOBS": bucketAt(tlsServer.URL)},
			state: "problem", want: "bucket bucket: ", next: "set SSL_CERT_DIR to the folder"},
		{name: "rate limit of GitHub", hub: object{"app": http.StatusTooManyRequests}, state: "problem",
			want: "is rate limited until ", next: "run this command again in "},
		{name: "GitHub fails", hub: object{"app": http.StatusInternalServerError}, state: "problem",
			want: "500 Internal Server Error refused", next: "look at the status of GitHub"},
		{name: "GitHub fails later", hub: object{"app/hook/config": http.StatusInternalServerError},
			state: "problem", want: "its settings cannot be read: 500", next: "look at the status of GitHub"},
		{name: "folder of the bucket", vars: vars{"COMPAT_BLOBS": "file://" + filepath.Dir(file)}},
		{name: "folder of the bucket that cannot be created",
			vars:  vars{"COMPAT_BLOBS": "file://" + filepath.Join(file, "below")},
			state: "problem", want: "bucket " + filepath.Join(file, "below") + " cannot be written",
			next: "set COMPAT_BLOBS to a folder that this user can write"},
		{name: "clock", late: time.Hour, state: "problem",
			want: "clock this clock differs from that of GitHub by -", next: "synchronize it (NTP)"},
		{name: "key of another App", hub: object{"app": http.StatusUnauthorized}, state: "problem",
			want: "github GitHub refuses the private key for App 4711", next: "compare APP_ID"},
		{name: "another address", hub: object{"app": http.StatusNotFound}, state: "problem",
			want: "has no App 4711", next: "set GITHUB_API_URL to https://HOST/api/v3"},
		{name: "not an API", hub: object{"app": "<html>"}, state: "problem",
			want: "is not GitHub's API", next: "correct GITHUB_API_URL"},
		{name: "permissions", hub: object{"app": app(less, events)}, state: "problem",
			want: "permissions the App lacks checks: write, issues: write", next: "of " + page},
		{name: "surplus permissions", hub: object{"app": app(more, events)}, state: "warning",
			want: "permissions the App has more permissions than compat needs: contents: write (needs read), " +
				"members: read (needs none), secrets: write (needs none)",
			next: "lower them under Permissions & events of " + page},
		{name: "events", hub: object{"app": app(granted, events[1:])}, state: "problem",
			want: "events the App does not receive pull_request", next: "Subscribe to events, of " + page},
		{name: "no webhook", hub: object{"app/hook/config": hook(object{"url": ""})}, state: "problem",
			want: "webhook the App has no webhook URL", next: "set it to https://YOUR-HOST/webhook"},
		{name: "webhook path", hub: object{"app/hook/config": hook(object{"url": "https://compat.example.com/"})},
			state: "problem", want: "https://compat.example.com/ is not an address of compat",
			next: "change its path to /webhook"},
		{name: "webhook form", hub: object{"app/hook/config": hook(object{"content_type": "form"})},
			state: "problem", want: "webhook its content type is not application/json", next: "change it in"},
		{name: "webhook without a secret", hub: object{"app/hook/config": hook(object{"secret": ""})},
			state: "problem", want: "webhook it has no secret", next: "set the secret to the value of WEBHOOK_SECRET"},
		{name: "webhook without TLS", hub: object{"app/hook/config": hook(object{
			"url": "http://compat.example.com/webhook"})}, state: "warning",
			want: "webhook http://compat.example.com/webhook is not encrypted, so events can be read",
			next: "change it to https in the Webhook section of " + page},
		{name: "webhook on this machine", hub: object{"app/hook/config": hook(object{
			"url": "http://127.0.0.1:8080/webhook"})}},
		{name: "webhook certificate", hub: object{"app/hook/config": hook(object{"insecure_ssl": "1"})},
			state: "warning", want: "GitHub does not verify the certificate", next: "enable SSL verification"},
		{name: "another secret", hub: object{"app/hook/deliveries": delivery(401)}, state: "problem",
			want: "was refused: its signature is wrong", next: "set WEBHOOK_SECRET to the secret in"},
		{name: "behind a firewall", hub: object{"app/hook/deliveries": delivery(0)}, state: "problem",
			want: "did not arrive: failed to connect to host", next: "reachable from the internet"},
		{name: "behind a firewall of the company", path: "/api/v3",
			hub: object{"app/hook/deliveries": delivery(0)}, state: "problem",
			want: "did not arrive: failed to connect to host", next: "reachable from 127.0.0.1, with a"},
		{name: "another service", hub: object{"app/hook/deliveries": delivery(404)}, state: "problem",
			want: "was answered 404, which is not compat's answer", next: "configure the proxy to forward /webhook"},
		{name: "nothing delivered", hub: object{"app/hook/deliveries": []object{}}, state: "warning",
			want: "GitHub has sent nothing yet", next: "install the App on a repository"},
		{name: "not installed", hub: object{"app/installations": []object{}}, state: "problem",
			want: "installed the App is not installed anywhere", next: "choose Install"},
		{name: "permissions not accepted", hub: object{"app/installations": []object{
			{"id": 1, "permissions": less, "account": object{"login": "octo"}}}}, state: "warning",
			want: "installed octo has not granted checks: write", next: "an owner of octo has to accept"},
		{name: "suspended", hub: object{"app/installations": []object{{"id": 1, "permissions": granted,
			"account": object{"login": "octo"}, "suspended_at": "2026-01-02T03:04:05Z"}}}, state: "warning",
			want: "installed octo suspended the App", next: "can unsuspend it"},
		{name: "misspelt variable", vars: vars{"COMPAT_WORKER": "3", "COMPAT_SERVICE_HOST": "10.0.0.1"},
			state: "warning", want: "settings COMPAT_WORKER: compat has no such variable",
			next: "did you mean COMPAT_WORKERS?"},
		{name: "address of the documentation", vars: vars{"COMPAT_PUBLIC_URL": "https://YOUR-HOST"},
			state: "problem", want: "is an example of the documentation", next: "set it to the public address"},
		{name: "bucket", vars: vars{"COMPAT_BLOBS": bucketAt(storage.URL)}},
		{name: "bucket is not reachable", vars: vars{"COMPAT_BLOBS": bucketAt("http://127.0.0.1:1")},
			state: "problem", want: "bucket bucket: ", next: "start the object storage"},
		{name: "credentials of the bucket", vars: vars{"COMPAT_BLOBS": bucketAt(storage.URL),
			"AWS_ACCESS_KEY_ID": "other"}, state: "problem", want: "InvalidAccessKeyId",
			next: "correct AWS_ACCESS_KEY_ID"},
		{name: "bucket without credentials", vars: vars{"COMPAT_BLOBS": bucketAt(storage.URL),
			"AWS_ACCESS_KEY_ID": ""}, state: "problem", want: "bucket COMPAT_BLOBS needs credentials",
			next: "correct COMPAT_BLOBS"},
		{name: "index", vars: vars{"PIP_INDEX_URL": packages.URL + "/simple"}},
		{name: "server of an index", vars: vars{"PIP_INDEX_URL": packages.URL}, state: "problem",
			want: "index " + packages.URL + "/ is not a simple index (PEP 503, PEP 691)",
			next: "set PIP_INDEX_URL to " + packages.URL + "/simple/"},
		{name: "no index", vars: vars{"PIP_INDEX_URL": public.URL}, state: "warning",
			want: "index " + public.URL + "/ has neither a page of pip nor a list of projects",
			next: "correct PIP_INDEX_URL; most addresses end with /simple/"},
		{name: "index is not reachable", vars: vars{"PIP_INDEX_URL": "http://127.0.0.1:1/simple"},
			state: "problem", want: "index pip: package index 127.0.0.1:1", next: "correct PIP_INDEX_URL"},
		{name: "public address", vars: vars{"COMPAT_PUBLIC_URL": public.URL + "/other"}, state: "problem",
			want: "reports " + public.URL + "/other/healthz answers 404", next: "correct COMPAT_PUBLIC_URL"},
		{name: "sign-in at the public address", vars: vars{"COMPAT_PUBLIC_URL": signIn.URL},
			state: "problem", want: "healthz answers with another page than compat's",
			next: "configure the proxy to forward /healthz of this address to the service, without a sign-in"},
		{name: "another list of packages", vars: vars{"PIP_INDEX_URL": packages.URL + "/simple",
			"COMPAT_INDEX_ALLOW": "a b"}, state: "problem", want: `COMPAT_INDEX_ALLOW: "a b" is not the name`,
			next: "list names"},
		{name: "an address that a shell has cut", vars: vars{"password": "hunter2"}, state: "warning",
			want: "settings password: is set and REDIS_URL is not", next: "write the address in single quotes"},
		{name: "quoted values", vars: vars{"COMPAT_PUBLIC_URL": "'" + public.URL + "'", "APP_ID": `"4711"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hub := &doctorHub{answers: object{
				"app": app(granted, events), "app/hook/config": hook(nil),
				"app/hook/deliveries": delivery(202), "app/installations": full,
			}, late: c.late}
			maps.Copy(hub.answers, c.hub)
			server := httptest.NewServer(hub)
			defer server.Close()
			set := vars{
				"APP_ID": "4711", "PRIVATE_KEY": key, "WEBHOOK_SECRET": "hunter2",
				"GITHUB_API_URL": server.URL + c.path,
				"COMPAT_DATA":    filepath.Join(t.TempDir(), "data"), "PIP_CONFIG_FILE": os.DevNull,
				"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hunter2",
			}
			if c.without {
				set["GITHUB_API_URL"] = "http://127.0.0.1:1"
			}
			maps.Copy(set, c.vars)
			var out, errs bytes.Buffer
			code := run(context.Background(), []string{"doctor"}, environment{
				Getenv: func(n string) (string, bool) { v, ok := set[n]; return v, ok && v != "" },
				Environ: func() (list []string) {
					for name, value := range set {
						list = append(list, name+"="+value)
					}
					return list
				},
				Out: &out, Err: &errs,
			})
			if _, err := os.Stat(set["COMPAT_DATA"]); err == nil {
				t.Error("the diagnosis created COMPAT_DATA")
			}
			text := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " ")
			if want := c.state == "problem"; (code == exitIncompatible) != want || errs.Len() > 0 {
				t.Errorf("exit %d, %s", code, errs.String())
			}
			if n := strings.Count("\n"+text, "\nproblem "); c.state == "problem" && n != 1 ||
				c.state != "problem" && n > 0 {
				t.Errorf("%d problems", n)
			}
			_, after, found := strings.Cut(text, c.want)
			_, next, _ := strings.Cut(after, "\n")
			next, _, _ = strings.Cut(next, "\n")
			if c.state != "" && (!found || !strings.HasPrefix(next, " next: ") || !strings.Contains(next, c.next)) {
				t.Errorf("want %s %q, and then %q", c.state, c.want, c.next)
			}
			if strings.Contains(text, "hunter2") {
				t.Error("a secret is shown")
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// What does not depend on a problem is checked too, and what does is named.
func TestDoctorChecksTheRest(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		set  map[string]string
		want []string // states and subjects of all lines with one
	}{
		{"GitHub is not reachable", map[string]string{
			"APP_ID": "1", "PRIVATE_KEY": testKey(t), "WEBHOOK_SECRET": "0123456789abcdef",
			"GITHUB_API_URL": "http://127.0.0.1:1",
		}, []string{"ok settings", "ok data", "ok queue", "sandbox", "ok index", "ok key",
			"problem github", "skipped permissions", "warning reports"}},
		{"no setting", nil, []string{"problem settings", "problem settings", "problem settings",
			"ok data", "ok queue", "sandbox", "ok index", "skipped key", "skipped github",
			"warning reports"}},
		{"no data folder", map[string]string{
			"APP_ID": "1", "PRIVATE_KEY": testKey(t), "WEBHOOK_SECRET": "0123456789abcdef",
			"GITHUB_API_URL": "github", "COMPAT_DATA": filepath.Join(data, "file", "data"),
		}, []string{"problem settings", "problem data", "skipped queue", "sandbox", "ok index", "ok key",
			"skipped github", "warning reports"}},
		{"invalid addresses", map[string]string{
			"APP_ID": "1", "PRIVATE_KEY": testKey(t), "WEBHOOK_SECRET": "0123456789abcdef",
			"GITHUB_API_URL": "github", "REDIS_URL": "redis", "PIP_INDEX_URL": "index",
			"COMPAT_PUBLIC_URL": "public",
		}, []string{"problem settings", "problem settings", "problem settings", "problem settings",
			"ok data", "skipped queue", "sandbox", "skipped index", "ok key", "skipped github",
			"skipped reports"}},
		{"no App", map[string]string{"COMPAT_PUBLIC_URL": "http://127.0.0.1:1"}, []string{
			"problem settings", "ok data", "ok queue", "sandbox", "ok index", "skipped key",
			"skipped github", "warning reports"}},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"doctor"}, environment{
			Getenv: func(n string) (string, bool) {
				v, ok := c.set[n]
				switch n {
				case "COMPAT_DATA":
					v, ok = cmp.Or(v, data), true
				case "COMPAT_WORKERS": // the free space of this machine does not matter
					v, ok = "0", true
				}
				return v, ok
			},
			Out: &out, Err: &errs,
		})
		var got []string
		for line := range strings.Lines(out.String()) {
			if words := strings.Fields(line); !strings.HasPrefix(line, " ") {
				if words[1] == "sandbox" {
					words = words[1:] // its state is that of the machine
				}
				got = append(got, strings.Join(words[:min(2, len(words))], " "))
			}
		}
		for i, line := range got {
			if strings.HasPrefix(line, "sandbox") {
				got[i] = "sandbox"
			}
		}
		if code != exitIncompatible || errs.Len() > 0 || !slices.Equal(got, c.want) {
			t.Errorf("%s: exit %d, %q, want %q\n%s%s", c.name, code, got, c.want, &out, &errs)
		}
	}
}

// Where nobody can create a file, the data folder is a problem, also if its mode allows it.
func TestDoctorWritesToTheDataFolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Missing(t, "there is no /proc")
	}
	for _, dir := range []string{"/proc", "/proc/none"} {
		var out bytes.Buffer
		d := doctor{env: environment{Out: &out}}
		if at, _ := d.folder("data", "COMPAT_DATA", dir); at != "" || !d.failed ||
			!strings.Contains(out.String(), "/proc cannot be written: ") {
			t.Errorf("%s: %s", dir, out.String())
		}
	}
}

// The data folder needs space for the artifacts of a job, unless the process only receives.
func TestDoctorOfALittleSpace(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		free    uint64
		known   bool
		workers int
		want    string
	}{
		{8 << 30, true, 4, "ok data " + dir + " can be written\n"},
		{8<<30 - 1<<29, true, 4, "warning data " + dir + " can be written, but has 7.5 GiB of free " +
			"space; the artifacts of a pull request and of its base may have 8 GiB\n next: free some space, or " +
			"set COMPAT_DATA to a folder with more; 8 GiB of unchanged artifacts are kept there\n"},
		{0, true, 0, "ok data " + dir + " can be written\n"},
		{0, false, 4, "ok data " + dir + " can be written\n"},
	} {
		var out bytes.Buffer
		d := doctor{
			env:     environment{Out: &out},
			free:    func(string) (uint64, bool) { return c.free, c.known },
			service: &config.Service{Data: dir, Workers: c.workers},
		}
		at := d.data()
		if text := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " "); at != dir ||
			text != c.want || d.failed {
			t.Errorf("%+v: %q %s", c, at, text)
		}
	}
}

// The free space is that which the system reports.
func TestFreeBytes(t *testing.T) {
	free, ok := freeBytes(t.TempDir())
	if ok != slices.Contains([]string{"linux", "darwin", "windows"}, runtime.GOOS) {
		t.Errorf("known: %v", ok)
	}
	if ok && (free == 0 || free > 1<<60) {
		t.Errorf("%d bytes", free)
	}
	if _, ok := freeBytes(filepath.Join(t.TempDir(), "none")); ok {
		t.Error("a folder that does not exist has free space")
	}
}

// If no process does jobs of the large pool, the doctor says which one to start.
func TestDoctorOfTheLargePool(t *testing.T) {
	server := redistest.Start(t)
	c := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer c.Close()
	for _, test := range []struct {
		since time.Time
		warns bool
	}{{time.Now(), false}, {time.Now().Add(-time.Hour), true}} {
		err := c.ZAdd(t.Context(), "{compat}:in:waiting:large",
			redis.Z{Score: float64(test.since.UnixMilli()), Member: "pull/1/2"}).Err()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		d := doctor{
			env:     environment{Out: &out},
			service: &config.Service{RedisURL: config.Secret(server.URL), Data: t.TempDir()},
		}
		d.queue(t.Context())
		warns := strings.Contains(out.String(), "1 jobs with large artifacts wait, the oldest for 1h0m") &&
			strings.Contains(out.String(), "next: start a process with COMPAT_POOL=large")
		if warns != test.warns {
			t.Error(out.String())
		}
	}
}

func TestDoctorOfRedisThatMayLoseJobs(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "no")
	c := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer c.Close()
	for _, user := range [][]any{
		{"listed", "+info"}, // what docs/operation.md prescribes
		{"other"},
	} {
		rights := append([]any{"ACL", "SETUSER", user[0], "on", ">pw", "~{compat*", "~compat:*", "+@read",
			"+@write", "+@scripting", "+@connection", "+@blocking", "+time"}, user[1:]...)
		if err := c.Do(t.Context(), rights...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) string { return strings.Replace(server.URL, "://", "://"+user+":pw@", 1) }
	for url, want := range map[string][]string{
		server.URL:   {"Redis may lose jobs: appendonly is no", "next: start it with --appendonly yes"},
		as("listed"): {"Redis may lose jobs: appendonly is no", "next: start it with --appendonly yes"},
		as("other"): {"maxmemory-policy is not checked: it refuses the command INFO",
			"next: make sure that it is noeviction, or allow the user of REDIS_URL the command info",
			"appendonly is not checked: it refuses the command INFO", "next: make sure that it is yes"},
	} {
		var out bytes.Buffer
		d := doctor{
			env:     environment{Out: &out},
			service: &config.Service{RedisURL: config.Secret(url), Data: t.TempDir()},
		}
		d.queue(t.Context())
		for _, text := range want {
			if !strings.Contains(out.String(), text) || d.failed {
				t.Errorf("%s: %q is missing in %s", url, text, out.String())
			}
		}
	}
}
