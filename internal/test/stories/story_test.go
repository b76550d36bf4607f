// Package stories tests compat on GitHub from the webhook to the check run: the released program
// as a child process, a simulated GitHub (internal/test/githubtest) that checks every request
// against GitHub's rules, and artifacts of the founding cases.
//
// A story is a Go test. It begins with tell, continues with the steps below, and checks what a
// person would see. At its end, no request may have been a violation, and the app's output may
// contain no secret.
//
//	s := tell(t, world{})
//	p := s.Open()
//	s.Finish(p, wheels(cases.CaseA("1.5.1")))
//	s.want(s.Concluded(p.HeadSHA), "failure")
package stories

import (
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/githubtest/openapi"
	"github.com/compat-app/compat/internal/test/loopback"
	"github.com/compat-app/compat/internal/test/redistest"
)

// binary is cmd/compat; TestMain builds it once.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "6") // stories wait more than they compute
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "compat-stories-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "stories:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "compat")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary,
		"github.com/compat-app/compat/cmd/compat").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "stories: build cmd/compat: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is long, for busy machines: a story fails only if something never happens.
const patience = time.Minute

// world is the state at the beginning of a story. The zero value is an app on the embedded queue
// that waits two minutes for artifacts.
type world struct {
	prefix    string            // of the REST root
	redis     *redistest.Server // nil: embedded
	wait      time.Duration     // COMPAT_WAIT
	tokenLife time.Duration
	env       map[string]string // added to the app's usual environment
	asleep    bool              // the story starts the app itself
}

type story struct {
	*testing.T
	gh   *githubtest.Server
	app  *app
	inst *githubtest.Installation
	repo *githubtest.Repo // acme/widget, with a finished run of a clean wheel on main
}

const (
	project = `[build-system]
requires = ["setuptools"]

[project]
name = "widget"
version = "1.0.0"
dependencies = [
]
`
	workflow = `name: wheels
on: [push, pull_request, merge_group]
jobs:
  wheels:
    runs-on: ubuntu-latest
    steps:
      - uses: pypa/cibuildwheel@v2
        env:
          CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014
`
	settings = ".github/compat.yml"
)

// tell starts a simulated GitHub and the app. Stories run in parallel.
func tell(t *testing.T, w world) *story {
	t.Helper()
	t.Parallel()
	gh, err := githubtest.Start(
		githubtest.Options{Prefix: w.prefix, Validate: openapi.Validate, TokenLife: w.tokenLife},
	)
	if err != nil {
		t.Fatal(err)
	}
	gh.Patience = patience
	s := &story{T: t, gh: gh}
	dir := t.TempDir()
	s.app = &app{t: t, addr: loopback.Addr(t), dir: dir, log: &output{}}
	if w.wait == 0 {
		w.wait = 2 * time.Minute
	}
	s.app.env = map[string]string{
		"APP_ID":            fmt.Sprint(gh.AppID),
		"PRIVATE_KEY":       gh.PEM(),
		"WEBHOOK_SECRET":    gh.Secret,
		"GITHUB_API_URL":    gh.URL(),
		"COMPAT_DATA":       filepath.Join(dir, "data"),
		"COMPAT_PUBLIC_URL": s.app.url(""),
		"COMPAT_ADMIN_ADDR": loopback.Addr(t),

		"COMPAT_LEASE": "2s",
		"COMPAT_WAIT":  w.wait.String(),
		"LOG_LEVEL":    "debug",
	}
	if w.redis == nil && os.Getenv("COMPAT_STORIES") == "redis" {
		// Each story has its own server, because make test runs the stories on Redis too.
		w.redis = redistest.Start(t)
	}
	if w.redis != nil {
		s.app.env["REDIS_URL"] = w.redis.URL
	} else if os.Getenv("COMPAT_STORIES") == "cluster" {
		s.app.env["REDIS_URL"] = redistest.Cluster(t, redistest.Masters(t))[0].ClusterURL()
		s.app.env["COMPAT_PARTITIONS"] = "16"
	}
	maps.Copy(s.app.env, w.env)
	gh.Hook = s.app.url("/webhook")
	s.inst = gh.Install("acme")
	s.repo = s.newRepo(s.inst, "widget")
	t.Cleanup(s.end)
	if !w.asleep {
		s.app.start()
	}
	return s
}

func (s *story) newRepo(i *githubtest.Installation, name string) *githubtest.Repo {
	r := s.gh.NewRepo(
		i,
		name,
		map[string]string{
			"README.md":                    "# widget\n",
			"pyproject.toml":               project,
			".github/workflows/wheels.yml": workflow,
			"CMakeLists.txt":               "add_library(cufile SHARED cufile.c)\n",
		},
	)
	s.gh.BranchRun(r, "main", wheels(cases.Clean("1.0.0")))
	return r
}

// end stops everything and checks what holds in every story.
func (s *story) end() {
	before := len(s.app.log.String())
	if s.Failed() {
		s.app.dump()
	}
	s.app.kill()
	s.gh.Close()
	for _, v := range s.gh.Violations() {
		s.Error("violation: " + v)
	}
	log := s.app.log.String()
	for _, secret := range append(s.gh.Secrets(), strings.Split(s.gh.PEM(), "\n")[1]) {
		if strings.Contains(log, secret) {
			s.Error("a secret stands in the app's output")
		}
	}
	if !s.Failed() {
		return
	}
	for _, p := range s.repo.Pulls {
		s.Log(s.gh.Story(p))
	}
	for _, c := range s.gh.Calls() {
		s.Log(c.At.Format("05.000"), c.String())
	}
	// Its last lines, and where the secret is.
	s.Log(log[max(0, before-20000):min(len(log), before+60000)])
}

func artifact(name string, data []byte) *githubtest.Artifact {
	return githubtest.NewArtifact(name, data)
}

func wheels(ws ...cases.Wheel) *githubtest.Artifact { return artifact("wheels", cases.Dist(ws...)) }

// requiring is a change that adds a requirement to pyproject.toml, at line 8.
func requiring(requirement string) map[string]string {
	return map[string]string{
		"pyproject.toml": strings.Replace(
			project,
			"dependencies = [\n",
			"dependencies = [\n    \""+requirement+"\",\n",
			1,
		),
	}
}

// Configure puts .github/compat.yml on main, with a finished run of that commit.
func (s *story) Configure(text string, base ...cases.Wheel) {
	s.gh.Commit(s.repo, "main", map[string]string{settings: text})
	if base == nil {
		base = []cases.Wheel{cases.Clean("1.0.0")}
	}
	s.gh.BranchRun(s.repo, "main", wheels(base...))
}

// Open opens a pull request and sends the event.
func (s *story) Open() *githubtest.Pull { return s.OpenWith("feature", requiring("packaging>=24")) }

// OpenWith is Open with another branch and change.
func (s *story) OpenWith(branch string, files map[string]string) *githubtest.Pull {
	s.Helper()
	p := s.gh.OpenPull(s.repo, s.repo, branch, s.gh.User("maintainer"), files)
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	return p
}

// Push moves the head and sends the event.
func (s *story) Push(p *githubtest.Pull, files map[string]string) string {
	s.Helper()
	sha := s.gh.Push(p, files)
	s.Send("pull_request", s.gh.PullEvent(p, "synchronize"))
	return sha
}

// Finish ends CI on the head with these artifacts and sends the event.
func (s *story) Finish(p *githubtest.Pull, artifacts ...*githubtest.Artifact) *githubtest.Run {
	s.Helper()
	w := s.gh.PullRun(p, artifacts...)
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	return w
}

// Bad opens a pull request with case A and waits for its conclusion.
func (s *story) Bad() *githubtest.Pull {
	s.Helper()
	p := s.Open()
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	return p
}

// Say writes a comment and sends the event.
func (s *story) Say(number int, by, body string) *githubtest.Comment {
	s.Helper()
	c := s.gh.AddComment(s.repo, number, s.gh.User(by), body)
	s.Send("issue_comment", s.gh.CommentEvent(s.repo, number, c, "created"))
	return c
}

// Send delivers an event, which the app has to queue, or to ignore with a reason.
func (s *story) Send(event string, payload map[string]any) *githubtest.Delivery {
	s.Helper()
	d := s.gh.Send(event, payload)
	switch {
	case d.Code == 202 && d.Text("status") == "queued" && d.Text("delivery") == d.GUID:
	case d.Code == 200 && d.Text("status") == "ignored" && d.Text("reason") != "":
	default:
		s.Fatalf("%s.%s is answered %d %s", event, d.Action, d.Code, d.Body)
	}
	return d
}

// Queued waits for a check run on the commit, in any state.
func (s *story) Queued(sha string) githubtest.Check {
	s.Helper()
	var k githubtest.Check
	eventually(s, func() string {
		checks := s.gh.Checks(s.repo, sha)
		if len(checks) == 0 {
			return "no check run on " + sha[:8]
		}
		k = checks[0]
		return ""
	})
	return k
}

// Concluded waits until the check runs of a commit are completed, and returns the newest.
func (s *story) Concluded(sha string) githubtest.Check {
	s.Helper()
	var k githubtest.Check
	eventually(s, func() string {
		checks := s.gh.Checks(s.repo, sha)
		if len(checks) == 0 {
			return "no check run on " + sha[:8]
		}
		for _, k = range checks {
			if k.Status != "completed" {
				return fmt.Sprintf("the check run on %s is %s", sha[:8], k.Status)
			}
		}
		return ""
	})
	if k.Title == "" || k.Summary == "" {
		s.Errorf("concluded as %s without title (%q) or summary (%q)", k.Conclusion, k.Title, k.Summary)
	}
	return k
}

// Verdicts counts how often a check run of the commit was concluded.
func (s *story) Verdicts(sha string) int {
	n := 0
	for _, k := range s.gh.Checks(s.repo, sha) {
		n += k.Verdicts
	}
	return n
}

// Again waits for one more conclusion than before.
func (s *story) Again(sha string, before int) githubtest.Check {
	s.Helper()
	eventually(s, func() string {
		if s.Verdicts(sha) <= before {
			return "no new analysis"
		}
		return ""
	})
	return s.Concluded(sha)
}

// free reports whether no job waits or runs; delayed jobs do not count.
func (s *story) free() bool {
	_, page := s.app.get(s.app.operator("/metrics"))
	return strings.Contains(page, `compat_queue_jobs{state="waiting"} 0`) &&
		strings.Contains(page, `compat_queue_jobs{state="running"} 0`)
}

// Free waits until the queue is free for a while: a job may add another one.
func (s *story) Free() {
	s.Helper()
	eventually(s, func() string {
		for range 5 {
			if !s.free() {
				return "jobs wait or run"
			}
			time.Sleep(100 * time.Millisecond)
		}
		return ""
	})
}

// Once checks that exactly one check run of the commit is completed, none is open, and there is at
// most one summary comment.
func (s *story) Once(p *githubtest.Pull, sha string) {
	s.Helper()
	if checks := s.gh.Checks(s.repo, sha); len(checks) != 1 || checks[0].Status != "completed" {
		s.Errorf("%d check runs on %s, want one that is completed: %+v", len(checks), sha[:8], checks)
	}
	if n := len(s.Summaries(p)); n > 1 {
		s.Errorf("%d summary comments", n)
	}
}

func (s *story) want(k githubtest.Check, conclusions ...string) {
	s.Helper()
	if !slices.Contains(conclusions, k.Conclusion) {
		s.Fatalf(
			"concluded as %s, want %s: %s\n%s",
			k.Conclusion,
			strings.Join(conclusions, " or "),
			k.Title,
			k.Summary,
		)
	}
}

// notPassed checks for a conclusion that does not satisfy branch protection.
func (s *story) notPassed(k githubtest.Check) {
	s.Helper()
	s.want(k, "failure", "action_required", "timed_out")
}

const marker = "<!-- compat:report -->"

// Summaries returns the visible summary comments of the App.
func (s *story) Summaries(p *githubtest.Pull) (out []githubtest.Comment) {
	for _, c := range s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number) {
		if strings.Contains(c.Body, marker) && c.Minimized == "" {
			out = append(out, c)
		}
	}
	return out
}

// Summary waits for the one summary comment.
func (s *story) Summary(p *githubtest.Pull) githubtest.Comment {
	s.Helper()
	var all []githubtest.Comment
	eventually(s, func() string {
		if all = s.Summaries(p); len(all) == 0 {
			return "no summary comment"
		}
		return ""
	})
	if len(all) > 1 {
		s.Fatalf("%d summary comments, want one", len(all))
	}
	return all[0]
}

// shown returns everything that a reader of the check run sees, without escapes.
func shown(k githubtest.Check) string {
	all := []string{k.Title, k.Summary, k.Text}
	for _, a := range k.Annotations {
		all = append(all, a.Title, a.Message, a.Details)
	}
	return plain(strings.Join(all, "\n"))
}

var escapes = regexp.MustCompile(`\\([[:punct:]])`)

func plain(markdown string) string {
	s := strings.NewReplacer("`", "", "\u200b", "", "\u2060", "").Replace(markdown)
	return html.UnescapeString(escapes.ReplaceAllString(s, "$1"))
}

// written returns what the App wrote on a pull request, in comments and reviews.
func (s *story) written(p *githubtest.Pull) string {
	var b strings.Builder
	s.gh.Do(func() {
		for _, t := range p.Threads {
			for _, c := range t.Comments {
				b.WriteString(c.Body + "\n")
			}
		}
		for _, v := range p.Reviews {
			b.WriteString(v.Body + "\n")
		}
	})
	for _, c := range s.gh.CommentsBy(s.gh.Bot(), p.Repo, p.Number) {
		b.WriteString(c.Body + "\n")
	}
	return plain(b.String())
}

// says checks that a text contains each of the words, in any case.
func (s *story) says(text string, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
			s.Errorf("doesn't say %q:\n%s", w, text)
		}
	}
}

// tells is like says, for words that may also appear in the App's comments a moment later.
func (s *story) tells(p *githubtest.Pull, k githubtest.Check, words ...string) {
	s.Helper()
	for _, w := range words {
		eventually(s, func() string {
			if !strings.Contains(strings.ToLower(shown(k)+s.written(p)), strings.ToLower(w)) {
				return "neither the check nor a comment says " + w
			}
			return ""
		})
	}
}

func (s *story) reactions(c *githubtest.Comment) (out []string) {
	s.gh.Do(func() {
		for _, r := range c.Reactions {
			out = append(out, r.Content)
		}
	})
	return out
}

func (s *story) downloads(b *githubtest.Blob) (n int) {
	s.gh.Do(func() { n = b.Downloads })
	return n
}

// eventually calls f until it returns "". After a timeout the last problem is fatal.
func eventually(t testing.TB, f func() string) {
	t.Helper()
	within(t, 3*patience, f)
}

func within(t testing.TB, patience time.Duration, f func() string) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		why := f()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", patience, why)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// never calls f for a while; a problem is fatal.
func never(t testing.TB, during time.Duration, f func() string) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if why := f(); why != "" {
			t.Fatal(why)
		}
	}
}

// onBoth runs a story on the embedded queue and on its own Redis.
func onBoth(t *testing.T, w world, f func(*story, *redistest.Server)) {
	t.Run("embedded", func(t *testing.T) { f(tell(t, w), nil) })
	t.Run("redis", func(t *testing.T) {
		w.redis = redistest.Start(t)
		f(tell(t, w), w.redis)
	})
}
