package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/queue"
)

// memoryQueue is a queue that only stores; every call fails while down is true.
type memoryQueue struct {
	down  bool
	guids map[string]bool // and digests of bodies
	jobs  []queue.Job
}

func (s *memoryQueue) EnqueueOnce(
	_ context.Context,
	delivery, body string,
	jobs ...queue.Job,
) (queue.Result, error) {
	if s.down {
		return queue.Result{}, errors.New("connection refused")
	}
	if s.guids[delivery] || body != "" && s.guids[body] {
		return queue.Result{Duplicate: true}, nil
	}
	if s.guids == nil {
		s.guids = map[string]bool{}
	}
	s.guids[delivery], s.guids[body] = true, true
	var r queue.Result
	for _, j := range jobs {
		s.jobs = append(s.jobs, j)
		r.IDs = append(r.IDs, j.Key+"#1")
	}
	return r, nil
}

func (s *memoryQueue) Ping(context.Context) error {
	if s.down {
		return errors.New("connection refused")
	}
	return nil
}

func sign(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

const opened = `{"action":"opened","number":3,"pull_request":{"head":{"sha":"0123456789012345678901234567890123456789"}},"repository":{"id":5},"installation":{"id":9}}`

type call struct {
	path, event, guid, body, signature string
	header                             map[string]string
}

func post(h http.Handler, c call) (int, answer, http.Header) {
	if c.path == "" {
		c.path = "/webhook"
	}
	r := httptest.NewRequest("POST", c.path, strings.NewReader(c.body))
	for k, v := range map[string]string{"X-GitHub-Event": c.event, "X-GitHub-Delivery": c.guid,
		"X-Hub-Signature-256": c.signature} {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	for k, v := range c.header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a answer
	_ = json.Unmarshal(w.Body.Bytes(), &a)
	return w.Code, a, w.Header()
}

func TestAnswers(t *testing.T) {
	s1 := hmac.New(sha1.New, []byte("old"))
	s1.Write([]byte(opened))
	for _, c := range []struct {
		name   string
		call   call
		code   int
		status string
		jobs   int
	}{
		{"queued", call{event: "pull_request", guid: "g-1", body: opened,
			signature: sign("new", opened)}, 202, "queued", 1},
		{"the other secret", call{event: "pull_request", guid: "g-1", body: opened,
			signature: sign("old", opened)}, 202, "queued", 1},
		{"Probot's path", call{path: "/api/github/webhooks", event: "pull_request", guid: "g-1",
			body: opened, signature: sign("old", opened)}, 202, "queued", 1},
		{"no signature", call{event: "pull_request", guid: "g-1", body: opened}, 401, "refused", 0},
		{"another secret", call{event: "pull_request", guid: "g-1", body: opened,
			signature: sign("x", opened)}, 401, "refused", 0},
		{"the empty secret", call{event: "pull_request", guid: "g-1", body: opened,
			signature: sign("", opened)}, 401, "refused", 0},
		{"the whole list", call{event: "pull_request", guid: "g-1", body: opened,
			signature: sign("new,old", opened)}, 401, "refused", 0},
		{"SHA-1 only", call{event: "pull_request", guid: "g-1", body: opened,
			header: map[string]string{"X-Hub-Signature": "sha1=" + hex.EncodeToString(s1.Sum(nil))}}, 401,
			"refused", 0},
		{"SHA-1 in its place", call{event: "pull_request", guid: "g-1", body: opened,
			signature: "sha1=" + hex.EncodeToString(s1.Sum(nil))}, 401, "refused", 0},
		{"no event", call{guid: "g-1", body: opened, signature: sign("new", opened)}, 400, "refused", 0},
		{"no delivery", call{event: "pull_request", body: opened, signature: sign("new", opened)}, 400,
			"refused", 0},
		{"a hostile delivery", call{event: "pull_request", guid: "a b", body: opened,
			signature: sign("new", opened)}, 400, "refused", 0},
		{"form", call{event: "pull_request", guid: "g-1", body: "payload=%7B%7D", signature: sign("new",
			"payload=%7B%7D"), header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}, 400, "refused", 0},
		{"neither signed nor JSON", call{event: "pull_request", guid: "g-1", body: "{",
			signature: sign("x", "{")}, 401, "refused", 0},
		{"null", call{event: "pull_request", guid: "g-1", body: "null", signature: sign("new", "null")},
			400, "refused", 0},
		{"list", call{event: "star", guid: "g-1", body: "[]", signature: sign("new", "[]")}, 400,
			"refused", 0},
		{"nothing", call{event: "pull_request", guid: "g-1", signature: sign("new", "")}, 400, "refused",
			0},
		{"cut", call{event: "star", guid: "g-1", body: opened[:20], signature: sign("new", opened[:20])},
			400, "refused", 0},
		{"unknown event", call{event: "star", guid: "g-1", body: opened, signature: sign("new", opened)},
			200, "ignored", 0},
		{"ping", call{event: "ping", guid: "g-1", body: "{}", signature: sign("new", "{}")}, 200,
			"ignored", 0},
	} {
		q := &memoryQueue{}
		h := New(
			Options{
				AppID:   7,
				Secrets: config.NewSecrets("new", "old"),
				Queue:   q,
			},
		)
		code, a, _ := post(h, c.call)
		if code != c.code || a.Status != c.status || len(q.jobs) != c.jobs ||
			len(a.Jobs) != c.jobs {
			t.Errorf(
				"%s: %d %+v and %d jobs, want %d %s and %d",
				c.name,
				code,
				a,
				len(q.jobs),
				c.code,
				c.status,
				c.jobs,
			)
		}
		if code == 202 && a.Delivery != c.call.guid || code != 202 && a.Reason == "" {
			t.Errorf("%s: answer %+v without its delivery or a reason", c.name, a)
		}
	}
}

// A reason names what is wrong with a header or a payload.
func TestReasons(t *testing.T) {
	wrong := strings.Replace(opened, `"number":3`, `"number":"3"`, 1)
	for _, c := range []struct {
		call call
		want string
	}{
		{call{guid: "g-1", body: opened}, "the header X-GitHub-Event is missing"},
		{call{event: "a b", guid: "g-1", body: opened}, "the header X-GitHub-Event is not valid"},
		{call{event: "push", body: opened}, "the header X-GitHub-Delivery is missing"},
		{call{event: "push", guid: strings.Repeat("g", 300), body: opened},
			"the header X-GitHub-Delivery is not valid"},
		{call{event: "pull_request", guid: "g-1", body: wrong},
			"the payload's number has an unexpected type"},
	} {
		c.call.signature = sign("s", c.call.body)
		h := New(Options{Secrets: config.NewSecrets("s"), Queue: &memoryQueue{}})
		if code, a, _ := post(h, c.call); code != http.StatusBadRequest || a.Reason != c.want {
			t.Errorf("%d %q, want %q", code, a.Reason, c.want)
		}
	}
}

func TestBodySize(t *testing.T) {
	q := &memoryQueue{}
	h := New(Options{Secrets: config.NewSecrets("s"), Queue: q})
	body := `{"pad":"` + strings.Repeat("x", maxBody) + `"}`
	if code, _, _ := post(h, call{event: "ping", guid: "g", body: body,
		signature: sign("s", body)}); code != 413 {
		t.Errorf("announced as too large: %d, want 413", code)
	}
	// Hides the length.
	r := httptest.NewRequest("POST", "/webhook", io.MultiReader(strings.NewReader(body)))
	r.ContentLength = -1
	r.Header.Set("X-Hub-Signature-256", sign("s", body))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 413 {
		t.Errorf("too large without a length: %d, want 413", w.Code)
	}
	body = body[:9] + body[9+20:]
	if code, a, _ := post(h, call{event: "ping", guid: "g", body: body,
		signature: sign("s", body)}); code != 200 {
		t.Errorf("just below the limit: %d %+v, want 200", code, a)
	}
}

func TestNoSecretRefusesEverything(t *testing.T) {
	for _, secrets := range []*config.Secrets{nil, config.NewSecrets(), config.NewSecrets("")} {
		h := New(Options{Secrets: secrets, Queue: &memoryQueue{}})
		if code, _, _ := post(h, call{event: "ping", guid: "g", body: "{}",
			signature: sign("", "{}")}); code != 401 {
			t.Errorf("secrets %v: %d, want 401", secrets.All(), code)
		}
	}
}

func TestOutage(t *testing.T) {
	q := &memoryQueue{down: true}
	var log bytes.Buffer
	h := New(Options{
		Secrets: config.NewSecrets("s"), Queue: q, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	c := call{event: "pull_request", guid: "g-1", body: opened, signature: sign("s", opened)}
	code, a, header := post(h, c)
	if code != 503 || header.Get("Retry-After") == "" || a.Status != "unavailable" {
		t.Errorf("queue down: %d %+v %v, want 503 with Retry-After", code, a, header)
	}
	// GitHub keeps the answer, so what the queue says, with its address, is in the log only.
	if a.Reason != "the queue cannot store it" || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("queue down: answered %q, logged %s", a.Reason, &log)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503} {
		if code := get(h, path).Code; code != want {
			t.Errorf("%s while the queue is down: %d, want %d", path, code, want)
		}
	}
	q.down = false
	if code, _, _ := post(h, c); code != 202 {
		t.Errorf("the same delivery again: %d, want 202", code)
	}
	if code, a, _ := post(h, c); code != 200 || a.Status != "duplicate" {
		t.Errorf("a third time: %d %+v, want 200 duplicate", code, a)
	}
}

func TestInstallationGone(t *testing.T) {
	q := &memoryQueue{}
	h := New(Options{Secrets: config.NewSecrets("s"), Queue: q})
	body := `{"action":"suspend","installation":{"id":9}}`
	if code, a, _ := post(h, call{event: "installation", guid: "g-1", body: body,
		signature: sign("s", body)}); code != 202 ||
		len(q.jobs) != 1 ||
		q.jobs[0].Key != "installation_ended/9" || q.jobs[0].Installation != 9 {
		t.Errorf("suspend: %d %+v, jobs %v", code, a, q.jobs)
	}
}

// Only the body of a delivery is signed.
func TestOtherHeaders(t *testing.T) {
	q := &memoryQueue{}
	h := New(Options{Secrets: config.NewSecrets("s"), Queue: q})
	send := func(event, guid, body string) (int, answer) {
		code, a, _ := post(h, call{event: event, guid: guid, body: body, signature: sign("s", body)})
		return code, a
	}
	const comment = `{"action":"created","installation":{"id":9},"repository":{"id":5},` +
		`"sender":{"login":"ann","type":"User"},"issue":{"number":3,"pull_request":{}},` +
		`"comment":{"id":7,"body":"/compat recheck","user":{"login":"ann","type":"User"}}}`
	if code, a := send("issue_comment", "g-1", comment); code != 202 {
		t.Fatalf("a comment: %d %+v", code, a)
	}
	if code, a := send("issue_comment", "g-2", comment); code != 200 || a.Status != "duplicate" {
		t.Errorf("the same body with another GUID: %d %+v", code, a)
	}
	deleted := strings.Replace(comment, "created", "deleted", 1)
	for event := range events.Get() {
		if event == "issue_comment" {
			continue
		}
		if code, a := send(event, "g-"+event, deleted); code != 400 {
			t.Errorf("a comment as %s: %d %+v", event, code, a)
		}
	}
	if len(q.jobs) != 1 {
		t.Errorf("jobs: %v", q.jobs)
	}
}

func TestSurface(t *testing.T) {
	page := http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) },
	)
	registry := prometheus.NewRegistry()
	h := New(Options{Secrets: config.NewSecrets("s"), Queue: &memoryQueue{}, Report: page,
		Metrics: registry})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 404,
		"/debug/pprof/": 404, "/validate": 404, "/reports/abc": 200, "/webhook": 405, "/": 200,
		"/reports": 404, "/reports/a/b": 200, "/reports/a.json": 200, "/webhook/": 404, "/other": 404} {
		if w := get(h, path); w.Code != want {
			t.Errorf("GET %s: %d, want %d", path, w.Code, want)
		}
	}
	post(h, call{event: "ping", guid: "g", body: "{}", signature: sign("s", "{}")})
	post(h, call{event: "invented", guid: "g", body: "{}", signature: sign("x", "{}")})
	text := get(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), "/").Body.Bytes()
	if !bytes.Contains(
		text,
		[]byte(`compat_webhook_answers_total{code="200",event="ping",status="ignored"} 1`),
	) ||
		bytes.Contains(text, []byte("invented")) {
		t.Errorf("metrics:\n%s", text)
	}
}

// docs/install.md lists the paths of the port, for those who configure a proxy.
func TestPathsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| path | who needs it |")
	table, _, _ = strings.Cut(table, "\n\n")
	engine, ok := New(Options{Report: http.NotFoundHandler()}).(*gin.Engine)
	if !ok || table == "" {
		t.Fatal("the paths are not known")
	}
	documented := []string{"/setup"} // served instead of the others
	for _, route := range engine.Routes() {
		path := strings.TrimSuffix(route.Path, "*path")
		if !strings.Contains(table, "`"+path+"`") {
			t.Errorf("the page does not have %s", path)
		}
		documented = append(documented, path)
	}
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, path := range regexp.MustCompile("`(/[^`]*)`").FindAllStringSubmatch(first, -1) {
			if !slices.Contains(documented, path[1]) {
				t.Errorf("the service has no %s", path[1])
			}
		}
	}
}

func TestPanicIsReturned(t *testing.T) {
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("lost") })
	h := New(Options{Queue: &memoryQueue{}, Report: page})
	if w := get(h, "/reports/abc"); w.Code != 500 {
		t.Errorf("a panic answers %d, want 500", w.Code)
	}
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

// A requested re-run is logged with the person and the delivery.
func TestRerunIsAudited(t *testing.T) {
	var log bytes.Buffer
	h := New(Options{
		Secrets: config.NewSecrets("s3cret"),
		Queue:   &memoryQueue{},
		Log:     slog.New(slog.NewJSONHandler(&log, nil)),
	})
	body := `{"action":"rerequested","installation":{"id":9},"repository":{"id":5},` +
		`"sender":{"login":"ann","type":"User"},"check_suite":{` +
		`"head_sha":"0123456789abcdef0123456789abcdef01234567","pull_requests":[{"number":3}]}}`
	c := call{event: "check_suite", guid: "g-9", body: body, signature: sign("s3cret", body)}
	if code, a, _ := post(h, c); code != http.StatusAccepted {
		t.Fatalf("answered %d %v", code, a)
	}
	for _, want := range []string{`"msg":"audit"`, `"by":"ann"`, `"delivery":"g-9"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, log.String())
		}
	}
}

// The log line of a delivery says what it was and, if it was refused, who sent it. Addresses in
// X-Forwarded-For are separate, because without a proxy the sender writes them.
func TestLogOfDeliveries(t *testing.T) {
	const peer = "192.0.2.1:1234" // that of httptest.NewRequest
	for _, c := range []struct {
		name              string
		call              call
		size              int64 // Content-Length; 0 = that of the body
		status            string
		remote, forwarded any // nil = not in the line
	}{
		{"ping", call{event: "ping", body: "{}", signature: sign("new", "{}")}, 0, "ping", nil, nil},
		{"ignored", call{event: "star", body: "{}", signature: sign("new", "{}")}, 0, "ignored", nil, nil},
		{"unsigned ping", call{event: "ping", body: "{}"}, 0, "refused", peer, nil},
		{"too large", call{event: "ping", body: "{}"}, maxBody + 1, "refused", peer, nil},
		{"behind a proxy", call{event: "push", body: "{}", signature: sign("x", "{}"),
			header: map[string]string{"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}}, 0, "refused", peer,
			"198.51.100.7"},
		{"a hostile zone", call{event: "push", body: "{}",
			header: map[string]string{"X-Forwarded-For": "fe80::1%\x1b[31m"}}, 0, "refused", peer, "fe80::1"},
		{"no address", call{event: "push", body: "{}",
			header: map[string]string{"X-Forwarded-For": "198.51.100.7, evil"}}, 0, "refused", peer, nil},
	} {
		var log bytes.Buffer
		h := New(Options{Secrets: config.NewSecrets("new"), Queue: &memoryQueue{},
			Log: slog.New(slog.NewJSONHandler(&log, nil))})
		r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(c.call.body))
		r.Header.Set("X-GitHub-Event", c.call.event)
		r.Header.Set("X-GitHub-Delivery", "g-1")
		r.Header.Set("X-Hub-Signature-256", c.call.signature)
		for k, v := range c.call.header {
			r.Header.Set(k, v)
		}
		if c.size > 0 {
			r.ContentLength = c.size
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", c.name, err, &log)
		}
		if line["status"] != c.status || line["remote"] != c.remote || line["forwarded"] != c.forwarded {
			t.Errorf("%s: %s", c.name, &log)
		}
	}
}
