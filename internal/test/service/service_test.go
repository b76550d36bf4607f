package service_test

import (
	"archive/zip"
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/appkey"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/command"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/reconcile"
	"github.com/compat-app/compat/internal/reportpage"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/subject"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
	"github.com/compat-app/compat/internal/worker"
	"github.com/compat-app/compat/webhook"
)

const project = "[project]\nname = \"widget\"\nversion = \"1.0.0\"\ndependencies = [\n]\n"

// TestMain runs many stories in parallel: they wait for clocks, not for the processor.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	m.Run()
}

// inProcess analyzes in the process of the test.
type inProcess struct{ *analyzer.Analyzer }

func (p inProcess) Check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
	risky func(),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	return sandbox.Judge(ctx, p.Analyzer, inputs, o, diagnoses)
}

// service is the whole service, from the webhook to the check run, with its own simulated GitHub.
type service struct {
	t     *testing.T
	gh    *githubtest.Server
	inst  *githubtest.Installation
	repo  *githubtest.Repo
	dir   string
	wait  time.Duration
	lease time.Duration
	tries int // of a failing job; 0 = the default
	// checker is put in the place of the worker's own; nil: none.
	checker func(subject.Checker) subject.Checker

	front *httptest.Server // is the same when the service behind it is stopped and started
	mu    sync.Mutex
	back  http.Handler // nil: the service is down
	log   bytes.Buffer
	stop  func()
	queue *queue.Queue
	now   func() time.Time // of the worker; nil = that of the machine
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.back
	s.mu.Unlock()
	if h == nil {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	h.ServeHTTP(w, r)
}

// Write receives the log.
func (s *service) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

// start makes a GitHub with a repository whose main branch has a clean wheel, and the service. When
// the test ends, violations of GitHub's rules and secrets in the log are failures.
func start(t *testing.T, wait time.Duration, with ...func(*service)) *service {
	t.Helper()
	t.Parallel()
	gh, err := githubtest.Start(githubtest.Options{Validate: openapi.Validate})
	if err != nil {
		t.Fatal(err)
	}
	s := &service{
		t:     t,
		gh:    gh,
		dir:   t.TempDir(),
		wait:  wait,
		lease: time.Minute,
	} // so long that a busy machine loses none; a worker that ends returns its leases
	s.front = httptest.NewServer(s)
	gh.Patience = time.Minute // a busy machine responds late
	gh.Hook = s.front.URL + "/webhook"
	s.inst = gh.Install("acme")
	s.repo = gh.NewRepo(
		s.inst,
		"widget",
		map[string]string{"pyproject.toml": project, "README.md": "# widget\n"},
	)
	gh.BranchRun(s.repo, "main", clean("1.0.0"))
	for _, set := range with {
		set(s)
	}
	s.up()
	t.Cleanup(func() {
		s.down()
		s.front.Close()
		gh.Close()
		for _, v := range gh.Violations() {
			t.Errorf("GitHub complains: %s", v)
		}
		for _, secret := range gh.Secrets() {
			if bytes.Contains(s.log.Bytes(), []byte(secret)) {
				t.Errorf("the log holds a secret")
			}
		}
		if t.Failed() {
			t.Logf("log:\n%s", s.log.String())
		}
	})
	return s
}

func (s *service) up() {
	s.t.Helper()
	api, err := url.Parse(s.gh.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	public, err := url.Parse(s.front.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &config.Service{
		AppID:          s.gh.AppID,
		API:            api,
		PublicURL:      public,
		Lease:          s.lease,
		Wait:           s.wait,
		Workers:        3,
		WebhookSecrets: config.NewSecrets(s.gh.Secret),
	}
	log := slog.New(slog.NewJSONHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug}))
	key, err := appkey.Parse([]byte(s.gh.PEM()))
	if err != nil {
		s.t.Fatal(err)
	}
	app, err := github.New(github.Options{AppID: c.AppID, Key: key, API: api, Log: log})
	if err != nil {
		s.t.Fatal(err)
	}
	fetcher, err := artifact.New(artifact.Options{Dir: s.dir, Log: log})
	if err != nil {
		s.t.Fatal(err)
	}
	q, err := queue.Open(
		s.t.Context(),
		queue.Options{Dir: s.dir, Lease: c.Lease, MaxAttempts: s.tries, Log: log},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	now := s.now
	if now == nil {
		now = time.Now
	}
	rules := analyzer.New(rules.All())
	shared := &store.Store{Queue: q, Log: log, Now: now, Public: public}
	o := subject.Options{App: app, Store: shared, Fetcher: fetcher, Analyzer: rules, Config: c}
	if s.checker != nil {
		o.Checker = s.checker(inProcess{rules})
	}
	subjects, err := subject.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	commands, err := command.New(command.Options{
		App: app, Store: shared, Fetcher: fetcher, Analyzer: rules,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	handlers := subjects.Handlers()
	maps.Copy(handlers, commands.Handlers())
	w, err := worker.New(worker.Options{
		Queue: q, Handlers: handlers, Workers: c.Workers, Lease: c.Lease, Log: log, Now: now,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	sweeper, err := reconcile.New(reconcile.Options{
		App: app, Store: shared, Wait: c.Wait, Log: log,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	pages, err := reportpage.New(q, s.dir, nil, log)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.back = webhook.New(
		webhook.Options{
			AppID:   c.AppID,
			Secrets: c.WebhookSecrets,
			Queue:   q,
			Log:     log,
			Report:  pages,
		},
	)
	s.mu.Unlock()
	s.queue = q
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	running.Go(func() { sweeper.Run(ctx) })
	s.stop = func() {
		s.mu.Lock()
		s.back = nil
		s.mu.Unlock()
		cancel()
		running.Wait()
		if err := q.Close(); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *service) down() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}

// send delivers an event that has to be accepted.
func (s *service) send(event string, payload map[string]any) {
	s.t.Helper()
	if d := s.gh.Send(event, payload); d.Code != 202 {
		s.t.Fatalf("%s: answered %d %s", event, d.Code, d.Body)
	}
}

func (s *service) open(branch string) *githubtest.Pull {
	s.t.Helper()
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		branch,
		s.gh.User("maintainer"),
		map[string]string{
			"pyproject.toml": strings.Replace(project, "[\n]", "[\n    \"packaging\",\n]", 1),
		},
	)
	s.send("pull_request", s.gh.PullEvent(p, "opened"))
	return p
}

func (s *service) finish(p *githubtest.Pull, as ...*githubtest.Artifact) {
	s.t.Helper()
	s.send("workflow_run", s.gh.RunEvent(s.gh.PullRun(p, as...), "completed"))
}

// group makes a merge group of a pull request, whose run has artifacts, and sends its events.
func (s *service) group(
	p *githubtest.Pull,
	as ...*githubtest.Artifact,
) (sha string, run *githubtest.Run) {
	s.t.Helper()
	branch := githubtest.GroupBranch(p)
	sha = s.gh.Commit(s.repo, branch, map[string]string{"a.py": "x = 1\n"})
	s.send("merge_group", s.gh.MergeGroupEvent(p, sha, "checks_requested"))
	run = s.gh.AddRun(&githubtest.Run{
		Repo:      s.repo,
		Head:      s.repo,
		Branch:    branch,
		SHA:       sha,
		Event:     "merge_group",
		Artifacts: as,
	})
	s.send("workflow_run", s.gh.RunEvent(run, "completed"))
	return sha, run
}

func (s *service) say(p *githubtest.Pull, login, body string) *githubtest.Comment {
	s.t.Helper()
	c := s.gh.AddComment(p.Repo, p.Number, s.gh.User(login), body)
	s.send("issue_comment", s.gh.CommentEvent(p.Repo, p.Number, c, "created"))
	return c
}

// until calls what until it returns "", and fails with its last result.
func (s *service) until(what func() string) {
	s.t.Helper()
	s.within(3*time.Minute, what)
}

func (s *service) within(patience time.Duration, what func() string) {
	s.t.Helper()
	var why string
	// a machine may be slow; the test fails only for what never happens
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if why = what(); why == "" {
			return
		}
	}
	s.t.Fatal(why)
}

// concluded waits until a commit has check runs, all of them completed, and returns the newest that
// was not cancelled.
func (s *service) concluded(sha string) githubtest.Check {
	s.t.Helper()
	var last githubtest.Check
	s.until(func() string {
		last = githubtest.Check{}
		for _, k := range s.gh.Checks(s.repo, sha) {
			if k.Status != "completed" {
				return fmt.Sprintf("check %d is %s: %s", k.ID, k.Status, k.Title)
			}
			if k.Conclusion != "cancelled" {
				last = k
			}
		}
		if last.ID == 0 {
			return "no check run with a verdict"
		}
		return ""
	})
	return last
}

// once fails unless a commit has exactly one check run, which was concluded exactly once.
func (s *service) once(sha string) {
	s.t.Helper()
	if ks := s.gh.Checks(s.repo, sha); len(ks) != 1 || ks[0].Verdicts != 1 {
		s.t.Errorf("%d check runs, want one with one verdict: %+v", len(ks), ks)
	}
}

func (s *service) verdicts(sha string) (n int) {
	for _, k := range s.gh.Checks(s.repo, sha) {
		n += k.Verdicts
	}
	return n
}

func (s *service) want(k githubtest.Check, conclusion string, words ...string) {
	s.t.Helper()
	if k.Conclusion != conclusion {
		s.t.Errorf("conclusion %s, want %s: %s", k.Conclusion, conclusion, k.Summary)
	}
	for _, w := range words {
		if !strings.Contains(k.Title+k.Summary+k.Text, w) {
			s.t.Errorf("the check doesn't say %q: %s\n%s", w, k.Title, k.Summary)
		}
	}
}

// bot lists the App's comments in a pull request.
func (s *service) bot(p *githubtest.Pull) []githubtest.Comment {
	return s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number)
}

func (s *service) oneSummary(p *githubtest.Pull) {
	s.t.Helper()
	n := 0
	s.until(func() string {
		n = 0
		for _, c := range s.bot(p) {
			if strings.Contains(c.Body, "<!-- compat:report") {
				n++
			}
		}
		if n == 0 {
			return "no summary comment"
		}
		return ""
	})
	if n != 1 {
		s.t.Errorf("%d summary comments", n)
	}
}

// bad is an artifact whose wheel needs what manylinux2014 lacks; the wheel of clean does not.
func bad(version string) *githubtest.Artifact {
	return githubtest.NewArtifact(
		"wheels",
		zipped(wheelName(version), wheel(version, "pow@GLIBC_2.29")),
	)
}

func clean(version string) *githubtest.Artifact {
	return githubtest.NewArtifact(
		"wheels",
		zipped(wheelName(version), wheel(version, "pow@GLIBC_2.2.5")),
	)
}

const tag = "manylinux2014_x86_64"

func wheelName(version string) string { return wheelFor(tag, version) }

func wheelFor(tag, version string) string {
	return "widget-" + version + "-py3-none-" + tag + ".whl"
}

func wheel(version string, symbols ...string) []byte { return tagged(tag, version, symbols...) }

// needing is an artifact whose wheel needs these symbols of libm.
func needing(version string, symbols ...string) *githubtest.Artifact {
	return githubtest.NewArtifact("wheels", zipped(wheelName(version), wheel(version, symbols...)))
}

func tagged(tag, version string, symbols ...string) []byte {
	text := "elf x86_64\nneeded libm.so.6\nneeded libc.so.6\nimport malloc@GLIBC_2.2.5 libc.so.6\n"
	for _, s := range symbols {
		text += "import " + s + " libm.so.6\n"
	}
	object, err := elftest.Build(text)
	if err != nil {
		panic(err)
	}
	info := "widget-" + version + ".dist-info/"
	return zipped(
		"widget/core.so",
		object,
		info+"METADATA",
		[]byte("Metadata-Version: 2.1\nName: widget\nVersion: "+version+"\n"),
		info+"WHEEL",
		[]byte("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-"+tag+"\n"),
		info+"RECORD",
		[]byte("widget/core.so,,\n"+info+"METADATA,,\n"+info+"WHEEL,,\n"+info+"RECORD,,\n"),
	)
}

// zipped makes a zip of names and contents in turn.
func zipped(parts ...any) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i].(string))
		if err != nil {
			panic(err)
		}
		content, _ := parts[i+1].([]byte)
		if _, err := w.Write(content); err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
