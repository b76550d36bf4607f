package stories

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// A replay is several stories in one repository, as a log of deliveries. Their results on GitHub
// must not depend on the order and number of the deliveries, or on when the service was killed.
type replay struct {
	*story
	random *rand.Rand
	names  map[string]string // commit -> its name in snapshots
	all    []event           // sent so far
	pin    *githubtest.Pull  // case B, fixed by the second push
	fork   *githubtest.Pull  // case A
	tag    string            // the release's commit
	group  string            // the merge group's commit
	gate   *githubtest.Gate
	killed atomic.Bool
	kills  atomic.Int64
}

type event struct {
	guid, name string
	payload    map[string]any
}

// prepare makes the state of GitHub before a replay. The app runs and has received nothing.
func prepare(t *testing.T, seed uint64) *replay {
	r := &replay{
		story:  tell(t, world{}),
		random: rand.New(rand.NewPCG(seed, 7)),
		names:  map[string]string{},
	}
	r.tag = r.gh.Commit(r.repo, "main", map[string]string{"CHANGES": "1.1.0\n"})
	r.gh.BranchRun(r.repo, "main", wheels(cases.Clean("1.0.0")))
	r.gh.Tag(r.repo, "v1.1.0", r.tag)
	r.name(r.tag, "TAG")
	return r
}

func (r *replay) name(sha, name string) string {
	r.names[sha] = name
	return sha
}

// acts are the parts of the log. What an act is about exists on GitHub before its first delivery,
// and its deliveries come in any order. A command is sent only when its subject exists.
var acts = []func(*replay) []event{
	func(r *replay) (log []event) {
		say := func(name string, payload map[string]any) {
			log = append(log, event{githubtest.NewGUID(), name, payload})
		}
		opened := func(p *githubtest.Pull, name string, w cases.Wheel) {
			r.name(p.HeadSHA, name)
			say("pull_request", r.gh.PullEvent(p, "opened"))
			say("workflow_run", r.gh.RunEvent(r.gh.PullRun(p, wheels(w)), "completed"))
		}
		maintainer := r.gh.User("maintainer")
		clean := r.gh.OpenPull(r.repo, r.repo, "clean", maintainer, requiring("packaging>=24"))
		opened(clean, "CLEAN", cases.Clean("1.1.0"))
		r.pin = r.gh.OpenPull(r.repo, r.repo, "pin", maintainer, requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
		opened(r.pin, "PIN", cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"))
		r.fork = r.gh.OpenPull(
			r.repo,
			r.gh.Fork(r.repo, "contributor"),
			"fix",
			r.gh.User("contributor"),
			requiring("packaging>=25"),
		)
		opened(r.fork, "FORK", cases.CaseA("1.5.1"))

		l := r.gh.AddRelease(
			r.repo,
			"v1.1.0",
			asset(cases.CaseA("1.5.1")),
			githubtest.NewAsset("NOTES.txt", []byte("hello\n")),
		)
		say("release", r.gh.ReleaseEvent(r.repo, l, "published"))

		branch := githubtest.GroupBranch(clean)
		r.group = r.name(r.gh.Commit(r.repo, branch, requiring("packaging>=24")), "GROUP")
		say("merge_group", r.gh.MergeGroupEvent(clean, r.group, "checks_requested"))
		say(
			"workflow_run",
			r.gh.RunEvent(
				r.gh.AddRun(
					&githubtest.Run{
						Repo:      r.repo,
						Head:      r.repo,
						Branch:    branch,
						SHA:       r.group,
						Event:     "merge_group",
						Artifacts: []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
					},
				),
				"completed",
			),
		)

		w := r.gh.BranchRun(r.repo, "main", wheels(cases.CaseA("1.5.1")))
		r.gh.Do(func() { w.Status, w.Conclusion = "waiting", "" })
		r.gate = r.gh.AddGate(w, "pypi")
		say("deployment_protection_rule", r.gh.GateEvent(r.gate, ""))
		return log
	},
	func(r *replay) (log []event) {
		for _, c := range []struct{ by, body string }{
			{"maintainer", "/compat help"}, {"someone", "/compat explain pow"}, {"outsider",
				"/compat recheck"}, {"maintainer", "/compat frobnicate"}, {"maintainer",
				"say `/compat recheck`"},
		} {
			k := r.gh.AddComment(r.repo, r.fork.Number, r.gh.User(c.by), c.body)
			log = append(
				log,
				event{
					githubtest.NewGUID(),
					"issue_comment",
					r.gh.CommentEvent(r.repo, r.fork.Number, k, "created"),
				},
			)
		}
		r.name(r.gh.Push(r.pin, requiring("nvidia-nvjitlink-cu12>=12.9")), "FIXED")
		run := r.gh.PullRun(r.pin, wheels(cases.CaseB("1.1.1", "nvidia-nvjitlink-cu12>=12.9")))
		return append(
			log,
			event{githubtest.NewGUID(), "pull_request", r.gh.PullEvent(r.pin, "synchronize")},
			event{githubtest.NewGUID(), "workflow_run", r.gh.RunEvent(run, "completed")},
		)
	},
	func(r *replay) []event {
		k := r.gh.AddComment(
			r.repo,
			r.fork.Number,
			r.gh.User("maintainer"),
			"/compat accept symbol-version-too-new because users have newer systems",
		)
		return []event{
			{
				githubtest.NewGUID(),
				"issue_comment",
				r.gh.CommentEvent(r.repo, r.fork.Number, k, "created"),
			},
		}
	},
}

var (
	reportID = regexp.MustCompile(`/reports/[\w-]+`)
	replyTo  = regexp.MustCompile(`compat:reply \d+`)
	day      = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	appRoot  = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
)

// snapshot is everything that the App wrote on GitHub, without what differs between two runs.
func (r *replay) snapshot() string {
	var parts []string
	r.gh.Do(func() {
		for _, k := range r.repo.Checks {
			var b strings.Builder
			fmt.Fprintf(
				&b,
				"check on %s: %s %s, %d verdicts\n%s\n%s\n%s\n",
				r.names[k.SHA],
				k.Status,
				k.Conclusion,
				k.Verdicts,
				k.Title,
				k.Summary,
				k.Text,
			)
			for _, a := range k.Annotations {
				fmt.Fprintf(&b, "%+v\n", a)
			}
			for _, a := range k.Actions {
				fmt.Fprintf(&b, "%+v\n", a)
			}
			parts = append(parts, b.String())
		}
		for _, i := range r.repo.Issues {
			for _, c := range i.Comments {
				of := ""
				for _, x := range c.Reactions {
					of += " " + x.User.Login + ":" + x.Content
				}
				parts = append(
					parts,
					fmt.Sprintf(
						"comment on #%d by %s, %q%s\n%s\n",
						i.Number,
						c.Author.Login,
						c.Minimized,
						of,
						c.Body,
					),
				)
			}
		}
		for _, p := range r.repo.Pulls {
			for _, v := range p.Reviews {
				parts = append(parts, fmt.Sprintf("review of #%d: %s %s\n", p.Number, v.State, v.Body))
			}
			for _, th := range p.Threads {
				parts = append(
					parts,
					fmt.Sprintf(
						"thread in #%d on %s:%d, resolved %t, %d comments\n%s\n",
						p.Number,
						th.Path,
						th.Line,
						th.Resolved,
						len(th.Comments),
						th.Comments[0].Body,
					),
				)
			}
		}
		for _, g := range r.repo.Gates {
			parts = append(
				parts,
				fmt.Sprintf(
					"gate: %s after %d answers\n%s\n",
					g.State,
					g.Answers,
					strings.Join(g.Comments, "\n"),
				),
			)
		}
	})
	slices.Sort(parts)
	text := strings.Join(parts, "\n")
	for sha, name := range r.names {
		text = strings.NewReplacer(sha, name, sha[:12], name).Replace(text)
	}
	text = appRoot.ReplaceAllString(reportID.ReplaceAllString(text, "/reports/ID"), "http://app")
	return day.ReplaceAllString(replyTo.ReplaceAllString(text, "compat:reply N"), "TODAY")
}

// send delivers, and starts the service again if it was killed. The sweeper requests the deliveries
// that it missed.
func (r *replay) send(e event) {
	r.gh.SendAs(e.guid, e.name, e.payload)
	r.revive()
}

func (r *replay) revive() {
	if r.killed.CompareAndSwap(true, false) {
		r.app.kill()
		r.app.start()
	}
}

// settled waits until GitHub has the wanted state.
func (r *replay) settled(act int, want string) {
	r.Helper()
	within(
		r,
		5*time.Minute,
		func() string { // an act contains several starts of the service and leases that expire
			r.revive()
			if got := r.snapshot(); got != want {
				return fmt.Sprintf(
					"act %d ends otherwise than without a crash:\n%s",
					act+1,
					difference(want, got),
				)
			}
			return ""
		},
	)
}

// difference returns the lines that only one of two texts has.
func difference(want, got string) string {
	var b strings.Builder
	for _, side := range []struct{ sign, of, in string }{{"- ", want, got}, {"+ ", got, want}} {
		has := map[string]int{}
		for l := range strings.Lines(side.in) {
			has[l]++
		}
		for l := range strings.Lines(side.of) {
			if has[l]--; has[l] < 0 {
				b.WriteString(side.sign + l)
			}
		}
	}
	return b.String()
}

// idle waits until no job waits or runs; delayed jobs do not count.
func (r *replay) idle() {
	r.Helper()
	before := false
	eventually(r, func() string {
		r.revive()
		free := r.free()
		if free && before {
			return ""
		}
		before = free
		return "the queue is not empty"
	})
}

// plainly runs every act once, in order and without a crash. It returns the snapshot after each act
// and the number of calls.
func plainly(t *testing.T) (after []string, calls int) {
	r := prepare(t, 0)
	for i, act := range acts {
		for _, e := range act(r) {
			r.send(e)
			r.all = append(r.all, e)
		}
		switch i {
		case 0:
			for sha, want := range map[string]string{r.pin.Heads[0]: "failure", r.fork.HeadSHA: "failure",
				r.tag: "failure", r.group: "success"} {
				r.want(r.Concluded(sha), want)
			}
			r.answered(r.gate, "rejected")
			r.Summary(r.pin)
			r.Summary(r.fork)
		case 1:
			r.want(r.Concluded(r.pin.HeadSHA), "success")
			for _, said := range []string{"/compat recheck", "Commands", "pow", "Unknown command"} {
				eventually(r, func() string {
					if !strings.Contains(r.written(r.fork), said) {
						return "no reply that says " + said
					}
					return ""
				})
			}
		case 2:
			r.stands(r.fork.HeadSHA, "success")
		}
		r.idle()
		after = append(after, r.snapshot())
	}
	return after, len(r.gh.Calls())
}

// TestNothingIsWrittenTwice replays the whole log shuffled and in duplicate, while the service is
// killed (SIGKILL) at some of its calls to GitHub: before the call takes effect, or after it,
// before the response arrives. With COMPAT_FAILPOINTS=all it is killed at each call.
func TestNothingIsWrittenTwice(t *testing.T) {
	t.Parallel()
	var want []string
	calls := 0
	t.Run("plainly", func(t *testing.T) {
		// They end before the others begin.
		t.Run("", func(t *testing.T) { want, calls = plainly(t) })
	})
	if t.Failed() {
		return
	}
	t.Logf("%d calls", calls)
	const kills = 4 // of one run: a job whose workers die repeatedly is given up
	runs := (calls + kills - 1) / kills
	step := (runs + 2) / 3
	if os.Getenv("COMPAT_FAILPOINTS") == "all" {
		step = 1
	}
	for i := 0; i < runs; i += step {
		for _, after := range []bool{false, true} {
			if step > 1 && after != (i/step%2 == 0) {
				continue
			}
			t.Run(
				fmt.Sprintf("killed at call %d and each %d later, took effect %t", i, runs, after),
				func(t *testing.T) {
					r := prepare(t, uint64(i))
					for n := i; n < calls; n += runs {
						r.gh.FaultAfter(
							"*",
							n,
							1,
							githubtest.Fault{Cut: true, After: after, Do: func() {
								r.app.cmd.Process.Kill()
								r.killed.Store(true)
								r.kills.Add(1)
							}},
						)
					}
					for act, events := range acts {
						log := events(r)
						// each twice, and those of earlier acts once more
						for _, e := range append(log, r.all...) {
							log = append(log, e)
							if e.name != "issue_comment" &&
								e.name != "deployment_protection_rule" &&
								r.random.IntN(3) == 0 {
								// As if it had happened again.
								log = append(log, event{githubtest.NewGUID(), e.name, e.payload})
							}
						}
						r.random.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
						for _, e := range log {
							r.send(e)
						}
						r.all = append(r.all, log...)
						r.settled(act, want[act])
					}
					r.idle()
					r.settled(len(acts)-1, want[len(acts)-1])
					if n := r.kills.Load(); n < kills-1 { // the last call may not be needed
						r.Errorf("killed %d times, want %d", n, kills)
					}
				},
			)
		}
	}
}

// replayed sends a recorded delivery again, under new GUIDs.
func (s *story) replayed(times int, name string, payload map[string]any) {
	s.Helper()
	for range times {
		if d := s.gh.Send(name, payload); d.Code >= 500 {
			s.Errorf("a recorded %s is answered %d", name, d.Code)
		}
		s.Free()
	}
}

// A recorded request of a person has no effect under another GUID.
func TestReplayedRequests(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.Summary(p)
	s.Free()
	type recorded struct {
		name    string
		payload map[string]any
	}
	var all []recorded
	for _, body := range []string{
		"/compat accept symbol-version-too-new because we know", "/compat help",
		"/compat unaccept symbol-version-too-new", "/compat recheck",
	} {
		c := s.gh.AddComment(s.repo, p.Number, s.gh.User("maintainer"), body)
		all = append(all, recorded{"issue_comment", s.gh.CommentEvent(s.repo, p.Number, c, "created")})
	}
	k := s.Concluded(p.HeadSHA)
	for _, action := range []string{"rerequested", "recheck", "explain"} {
		event, button := "requested_action", action
		if action == "rerequested" {
			event, button = action, ""
		}
		all = append(all, recorded{"check_run",
			s.gh.CheckEvent(s.repo, k.ID, event, button, s.gh.User("maintainer"))})
	}
	for _, r := range all {
		s.Send(r.name, r.payload)
		s.Free()
	}
	s.Concluded(p.HeadSHA)
	verdicts, calls := s.Verdicts(p.HeadSHA), len(s.gh.Calls())
	for _, r := range all {
		s.replayed(2, r.name, r.payload)
	}
	if n := s.Verdicts(p.HeadSHA); n != verdicts {
		t.Errorf("%d verdicts, want %d", n, verdicts)
	}
	if n := len(s.gh.Calls()) - calls; n > 0 {
		t.Errorf("%d calls", n)
	}
}

// The end of an installation or of the access to a repository is checked with GitHub.
func TestReplayedEndOfAnInstallation(t *testing.T) {
	s := tell(t, world{wait: 10 * time.Second})
	suspend := s.gh.InstallationEvent(s.inst, "suspend")
	s.gh.InstallationEvent(s.inst, "unsuspend")
	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Send("installation", suspend)
	s.Send("installation_repositories", map[string]any{
		"action": "removed", "installation": map[string]any{"id": s.inst.ID},
		"repositories_removed": []any{
			map[string]any{"id": s.repo.ID, "full_name": s.repo.FullName()},
		},
		"sender": map[string]any{"login": "acme", "type": "User"},
	})
	s.notPassed(s.Concluded(p.HeadSHA)) // by the deadline
}
