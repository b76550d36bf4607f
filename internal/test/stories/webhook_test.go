package stories

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// Invalid deliveries are refused before anything is done, and leave no trace.
func TestRefusedDeliveries(t *testing.T) {
	s := tell(t, world{})
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	payload, err := json.Marshal(s.gh.PullEvent(p, "opened"))
	if err != nil {
		t.Fatal(err)
	}
	guid := githubtest.NewGUID()
	headers := func(change func(http.Header)) http.Header {
		h := s.gh.Headers(&githubtest.Delivery{GUID: guid, Event: "pull_request", Payload: payload})
		change(h)
		return h
	}
	signed := func(body string) http.Header {
		return headers(
			func(h http.Header) { h.Set("X-Hub-Signature-256", githubtest.Sign(s.gh.Secret, []byte(body))) },
		)
	}
	huge := `{"action":"opened","x":"` + strings.Repeat("x", 26<<20) + `"}`
	big := signed(huge)
	// Otherwise the response may be lost if the connection ends before the body was sent.
	big.Set("Expect", "100-continue")
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		code   int
	}{
		{"no signature", headers(func(h http.Header) {
			h.Del("X-Hub-Signature-256")
		}), string(payload), 401},
		{"another secret", headers(func(h http.Header) {
			h.Set("X-Hub-Signature-256", githubtest.Sign("other", payload))
		}), string(payload), 401},
		{"the empty secret", headers(func(h http.Header) {
			h.Set("X-Hub-Signature-256", githubtest.Sign("", payload))
		}), string(payload), 401},
		{"SHA-1 only", headers(func(h http.Header) {
			h.Del("X-Hub-Signature-256")
			h.Set("X-Hub-Signature", "sha1=0123456789012345678901234567890123456789")
		}), string(payload), 401},
		{"no event", headers(func(h http.Header) { h.Del("X-GitHub-Event") }), string(payload), 400},
		{"no delivery", headers(func(h http.Header) {
			h.Del("X-GitHub-Delivery")
		}), string(payload), 400},
		{"not JSON", signed("action=opened"), "action=opened", 400},
		{"null", signed("null"), "null", 400},
		{"a list", signed("[]"), "[]", 400},
		{"26 MiB", big, huge, 413},
	} {
		if code, _, body := githubtest.Post(s.gh.Hook, c.header, []byte(c.body)); code != c.code {
			s.Errorf("%s: answered %d %s, want %d", c.name, code, body, c.code)
		}
	}
	never(s, time.Second, func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) > 0 {
			return "a refused delivery had an effect"
		}
		return ""
	})
	if d := s.gh.SendAs(guid, "pull_request", s.gh.PullEvent(p, "opened")); d.Code != 202 {
		s.Errorf("the same GUID, now as it should be: answered %d %s", d.Code, d.Body)
	}
	s.Queued(p.HeadSHA)
}

func TestSameDeliveryTwice(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	d := s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.want(s.Concluded(p.HeadSHA), "failure")
	again := s.gh.SendAs(d.GUID, "workflow_run", s.gh.RunEvent(w, "completed"))
	if again.Code != 200 || again.Text("status") != "duplicate" {
		s.Errorf("the second time: answered %d %s", again.Code, again.Body)
	}
	never(s, 2*time.Second, func() string {
		if s.Verdicts(p.HeadSHA) > 1 {
			return "analysed twice"
		}
		return ""
	})
}

func TestEventsWithoutWork(t *testing.T) {
	s := tell(t, world{})
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), nil)
	for _, c := range []struct{ event, action string }{{"star", "created"},
		{"pull_request", "labeled"}, {"something_new", "happened"}} {
		d := s.gh.Send(c.event, s.gh.PullEvent(p, c.action))
		if d.Code != 200 || d.Text("status") != "ignored" || d.Text("reason") == "" {
			s.Errorf("%s.%s: answered %d %s", c.event, c.action, d.Code, d.Body)
		}
	}
	if d := s.gh.Send("ping", s.gh.PingEvent()); d.Code != 200 {
		s.Errorf("ping: answered %d %s", d.Code, d.Body)
	}
}

func TestProbotPath(t *testing.T) {
	s := tell(t, world{})
	s.gh.Hook = s.app.url("/api/github/webhooks")
	s.Queued(s.Open().HeadSHA)
}

func TestTwoSecrets(t *testing.T) {
	s := tell(t, world{asleep: true})
	old := s.gh.Secret
	s.app.env["WEBHOOK_SECRET"] = "the-new-secret," + old
	s.app.start()
	p := s.Open()
	s.gh.Do(func() { s.gh.Secret = "the-new-secret" })
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	_, metrics := s.app.get(s.app.operator("/metrics"))
	for _, which := range []string{"1", "2"} {
		if !regexp.MustCompile(`(?m)^compat_webhook_secret_total\{secret="` + which + `"\} [1-9]`).
			MatchString(metrics) {
			t.Errorf("no delivery is counted for secret %s:\n%s", which, metrics)
		}
	}
}

// compat config check reports the same errors as a check run.
func TestValidate(t *testing.T) {
	s := tell(t, world{})
	for _, c := range []struct {
		text, want string
		code       int
	}{
		{"fail_on: error\n", `{"valid":true,"problems":[]}`, 200},
		{"python:\n  wiht: [torch]\n", ".github/compat.yml:2: python.wiht: ", 422},
		{"rules: [", ".github/compat.yml:1: ", 422},
		{strings.Repeat("# 64 KiB are too much\n", 4000), "more than the limit of 65536", 422},
		{strings.Repeat("#", 1<<20+1), "larger than 1 MiB", 413},
	} {
		q, err := http.NewRequest(http.MethodPut, s.app.operator("/validate"), strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != c.code || !strings.Contains(string(body), c.want) {
			t.Errorf(
				"%.40q answers %d %s (%v), want %d and %s",
				c.text,
				r.StatusCode,
				body,
				err,
				c.code,
				c.want,
			)
		}
	}
}

func TestPrivateKeyPath(t *testing.T) {
	s := tell(t, world{asleep: true})
	file := filepath.Join(s.app.dir, "key.pem")
	if err := os.WriteFile(file, []byte(s.gh.PEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	delete(s.app.env, "PRIVATE_KEY")
	s.app.env["PRIVATE_KEY_PATH"] = file
	s.app.start()
	s.Queued(s.Open().HeadSHA)
}

func TestSurface(t *testing.T) {
	s := tell(t, world{})
	for _, c := range []struct {
		path string
		code int
	}{{"/healthz", 200}, {"/readyz", 200}, {"/metrics", 404}, {"/debug/pprof/", 404},
		{"/validate", 404}, {"/reports/nothing", 404},
		{s.app.operator("/metrics"), 200}, {s.app.operator("/webhook"), 404},
		{s.app.operator("/reports/nothing"), 404}, {"/nothing", 404}} {
		if code, body := s.app.get(c.path); code != c.code {
			s.Errorf("GET %s: %d %.200s, want %d", c.path, code, body, c.code)
		}
	}
	if code, _ := s.app.get("/webhook"); code == 0 || code >= 500 || code == 200 {
		s.Errorf("GET /webhook: %d", code)
	}
}

// Each invalid setting is reported in one line that names it, before the service listens.
func TestBadEnvironment(t *testing.T) {
	s := tell(t, world{asleep: true})
	for _, c := range []struct{ name, value string }{
		{"WEBHOOK_SECRET", "-"}, {"WEBHOOK_SECRET", ""}, {"APP_ID", "-"}, {"APP_ID", "twelve"},
		{"PRIVATE_KEY", "no key"}, {"COMPAT_WAIT", "banana"},
		{"GITHUB_API_URL", "::no url"}, {"REDIS_URL", "http://not-redis"}, {"LOG_LEVEL", "shouting"},
		{"COMPAT_ADMIN_ADDR", "nowhere"}, {"COMPAT_ADMIN_ADDR", "192.0.2.1:9"}, {"COMPAT_SANDBOX",
			"maybe"},
	} {
		cmd := s.app.command()
		var env []string
		for _, e := range cmd.Env {
			if !strings.HasPrefix(e, c.name+"=") {
				env = append(env, e)
			}
		}
		if c.value != "-" {
			env = append(env, c.name+"="+c.value)
		}
		var out, errs bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		cmd.Wait()
		stop.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 2 ||
			strings.Count(errs.String(), "\n") != 1 ||
			!strings.Contains(errs.String(), c.name) ||
			out.Len() > 0 {
			s.Errorf(
				"%s=%q: exit %d, stdout %q, stderr %q; want 2 and one line on stderr that names it",
				c.name,
				c.value,
				code,
				out.String(),
				errs.String(),
			)
		}
	}
}
