package stories

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/loopback"
	"github.com/compat-app/compat/internal/test/redistest"
)

// A delivery that was answered with 202 is stored: the next process handles it.
func TestKilledAfterTheResponse(t *testing.T) {
	t.Parallel()
	onBoth(t, world{}, func(s *story, _ *redistest.Server) {
		var pulls []*githubtest.Pull
		for i := range 5 {
			p := s.gh.OpenPull(
				s.repo,
				s.repo,
				fmt.Sprintf("feature-%d", i),
				s.gh.User("maintainer"),
				requiring(fmt.Sprintf("packaging>=2%d", i)),
			)
			w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
			s.Send("pull_request", s.gh.PullEvent(p, "opened"))
			s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
			pulls = append(pulls, p)
		}
		s.app.kill()
		s.app.start()
		for _, p := range pulls {
			s.want(s.Concluded(p.HeadSHA), "failure")
			s.Summary(p)
			s.Once(p, p.HeadSHA)
		}
	})
}

// After many kills at random moments, every head whose deliveries were acknowledged has exactly one
// completed check.
func TestKilledRepeatedly(t *testing.T) {
	t.Parallel()
	onBoth(t, world{}, func(s *story, _ *redistest.Server) {
		var pulls []*githubtest.Pull
		for i := range 16 {
			p := s.gh.OpenPull(
				s.repo,
				s.repo,
				fmt.Sprintf("feature-%d", i),
				s.gh.User("maintainer"),
				requiring(fmt.Sprintf("packaging>=%d", i)),
			)
			w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
			for _, d := range []*githubtest.Delivery{s.gh.Send("pull_request", s.gh.PullEvent(p, "opened")),
				s.gh.Send("workflow_run", s.gh.RunEvent(w, "completed"))} {
				if d.Code != 202 {
					s.Fatalf("%s is answered %d %s", d.Event, d.Code, d.Body)
				}
			}
			pulls = append(pulls, p)
			if i%3 == 2 {
				time.Sleep(time.Duration(i*37%200) * time.Millisecond)
				s.app.kill()
				s.app.start()
			}
		}
		for _, p := range pulls {
			s.want(s.Concluded(p.HeadSHA), "failure")
			s.Summary(p)
			s.Once(p, p.HeadSHA)
		}
	})
}

// The job of a worker that dies is claimed by another when the lease ends, and nothing is written
// twice.
func TestWorkerKilledDuringAJob(t *testing.T) {
	t.Parallel()
	onBoth(t, world{}, func(s *story, _ *redistest.Server) {
		p := s.Open()
		s.Queued(p.HeadSHA)
		slow := wheels(cases.CaseA("1.5.1"))
		slow.Slow = 3 * time.Second
		s.Finish(p, slow)
		eventually(s, func() string {
			if s.downloads(&slow.Blob) == 0 {
				return "the artifact is not downloaded"
			}
			return ""
		})
		s.app.kill()
		s.app.start()
		s.want(s.Concluded(p.HeadSHA), "failure")
		s.Summary(p)
		s.Once(p, p.HeadSHA)
	})
}

// replica is another process of the app, on the same Redis.
func (s *story) replica() *app {
	other := *s.app
	other.addr, other.dir, other.env = loopback.Addr(s), s.TempDir(), maps.Clone(s.app.env)
	other.env["COMPAT_DATA"] = other.dir
	other.env["COMPAT_ADMIN_ADDR"] = loopback.Addr(s)
	return &other
}

// Two processes on one Redis: the one that survives continues the jobs of the other.
func TestSecondProcessTakesOver(t *testing.T) {
	s := tell(t, world{redis: redistest.Start(t), asleep: true})
	other := s.replica()
	s.app.start()
	p := s.Open()
	slow := wheels(cases.CaseA("1.5.1"))
	slow.Slow = 3 * time.Second
	s.Finish(p, slow)
	eventually(s, func() string {
		if s.downloads(&slow.Blob) == 0 {
			return "the artifact is not downloaded"
		}
		return ""
	})
	other.start()
	defer other.kill()
	s.app.kill()
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Summary(p)
	s.Once(p, p.HeadSHA)
}

func TestTerminateFinishesJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, world{}, func(s *story, _ *redistest.Server) {
		p := s.Open()
		slow := wheels(cases.CaseA("1.5.1"))
		slow.Slow = 3 * time.Second
		s.Finish(p, slow)
		eventually(s, func() string {
			if s.downloads(&slow.Blob) == 0 {
				return "the artifact is not downloaded"
			}
			return ""
		})
		if code := s.app.terminate(); code != 0 {
			s.Errorf("exit %d on SIGTERM, want 0 within 20 seconds", code)
		}
		s.app.start()
		s.want(s.Concluded(p.HeadSHA), "failure")
		s.Once(p, p.HeadSHA)
	})
}

// SIGTERM while every worker runs a job: each job is finished or returned to the queue, no failure
// is counted, and the next process claims it at once.
func TestTerminateUnderLoad(t *testing.T) {
	t.Parallel()
	onBoth(
		t,
		world{env: map[string]string{"COMPAT_WORKERS": "4", "COMPAT_LEASE": "1m"}},
		func(s *story, _ *redistest.Server) { // such a lease does not expire on a busy machine
			var pulls []*githubtest.Pull
			var slow []*githubtest.Artifact
			for i := range 10 {
				p := s.OpenWith(fmt.Sprint("feature-", i), requiring(fmt.Sprintf("packaging>=2%d", i)))
				a := wheels(cases.CaseA("1.5.1"))
				a.Slow = 5 * time.Second
				s.Finish(p, a)
				pulls, slow = append(pulls, p), append(slow, a)
			}
			eventually(s, func() string {
				for _, a := range slow {
					if s.downloads(&a.Blob) > 0 {
						return ""
					}
				}
				return "no artifact is downloaded"
			})
			if code := s.app.terminate(); code != 0 {
				s.Errorf("exit %d on SIGTERM, want 0", code)
			}
			for _, e := range s.queued() {
				if e.State == queue.Running || e.Attempts+e.Crashes+e.Losses > 0 {
					s.Errorf(
						"after the end %s is %s, %d attempts, %d losses: %s",
						e.Job.Key,
						e.State,
						e.Attempts,
						e.Losses,
						e.Reason,
					)
				}
			}
			again := time.Now()
			s.app.start()
			var took time.Duration
			eventually(s, func() string {
				claimed := s.claimed(again)
				if len(claimed) < 4 {
					return fmt.Sprintf("the next process has taken up %d jobs", len(claimed))
				}
				took = claimed[3].Sub(again)
				return ""
			})
			s.Logf(
				"every worker of the next process had a job %v after the command",
				took.Round(time.Millisecond),
			)
			for _, p := range pulls {
				s.want(s.Concluded(p.HeadSHA), "failure")
				s.Once(p, p.HeadSHA)
			}
		},
	)
}

// Everything that followed from a delivery is found in the log by its GUID: the response, the jobs,
// the conclusion and the end.
func TestLogShowsWhatFollowsADelivery(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Queued(p.HeadSHA)
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	d := s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Free()
	var trace []string
	for line := range strings.Lines(s.app.log.String()) {
		if strings.Contains(line, d.GUID) {
			trace = append(trace, line)
		}
	}
	for _, want := range []string{`"msg":"delivery","delivery":`,
		`"msg":"job claimed","job":"commit/`, fmt.Sprintf(`"msg":"job claimed","job":"pull/%d/%d`,
			s.repo.ID, p.Number), `"msg":"checked"`, `"sha":"` + p.HeadSHA, `"outcome":"done"`} {
		at := slices.IndexFunc(trace, func(line string) bool { return strings.Contains(line, want) })
		if at < 0 {
			s.Errorf("the lines with %s don't tell %s:\n%s", d.GUID, want, strings.Join(trace, ""))
		}
	}
}

// claimed returns the times at which the app claimed jobs since then, by its log.
func (s *story) claimed(since time.Time) (at []time.Time) {
	for line := range strings.Lines(s.app.log.String()) {
		var l struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "job claimed" &&
			l.Time.After(since) {
			at = append(at, l.Time)
		}
	}
	return at
}

// queued lists the queue of an app that is not running.
func (s *story) queued() []queue.Entry {
	s.Helper()
	q, err := queue.Open(
		s.Context(),
		queue.Options{
			URL:      s.app.env["REDIS_URL"],
			Dir:      s.app.env["COMPAT_DATA"],
			ReadOnly: s.app.env["REDIS_URL"] == "",
		},
	)
	if err != nil {
		s.Fatal(err)
	}
	defer q.Close()
	entries, err := q.List(s.Context(), queue.Filter{})
	if err != nil {
		s.Fatal(err)
	}
	return entries
}

func TestRestartKeepsWaitingJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, world{wait: 6 * time.Second}, func(s *story, _ *redistest.Server) {
		p := s.Open()
		s.Queued(p.HeadSHA)
		q := s.OpenWith("second", requiring("packaging>=25"))
		s.Queued(q.HeadSHA)
		s.app.kill()
		s.app.start()
		s.Finish(q, wheels(cases.CaseA("1.5.1")))
		s.want(s.Concluded(q.HeadSHA), "failure")
		s.notPassed(s.Concluded(p.HeadSHA)) // by its deadline
		s.Once(p, p.HeadSHA)
	})
}

func TestRedisOutage(t *testing.T) {
	redis := redistest.Start(t)
	s := tell(t, world{redis: redis})
	p := s.Open()
	s.Queued(p.HeadSHA)
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	redis.Kill()
	guid := githubtest.NewGUID()
	d := s.gh.SendAs(guid, "workflow_run", s.gh.RunEvent(w, "completed"))
	if d.Code != 503 || d.Header.Get("Retry-After") == "" {
		s.Errorf("without redis: answered %d, Retry-After %q", d.Code, d.Header.Get("Retry-After"))
	}
	if code, _ := s.app.get("/readyz"); code != 503 {
		s.Errorf("/readyz answers %d without redis", code)
	}
	if code, _ := s.app.get("/healthz"); code != 200 {
		s.Errorf("/healthz answers %d without redis", code)
	}
	redis.Start()
	eventually(s, func() string {
		if code, _ := s.app.get("/readyz"); code != 200 {
			return fmt.Sprintf("/readyz answers %d with redis back", code)
		}
		return ""
	})
	if d := s.gh.SendAs(guid, "workflow_run", s.gh.RunEvent(w, "completed")); d.Code != 202 {
		s.Errorf("the same delivery later: answered %d %s", d.Code, d.Body)
	}
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Once(p, p.HeadSHA)
}

// Deliveries that failed while the app was down are requested again, once. Those that arrived or
// were refused are not: that would be a violation.
func TestLostDeliveriesAreRequestedAgain(t *testing.T) {
	s := tell(t, world{asleep: true})
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	opened := s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	ended := s.gh.Lose("workflow_run", s.gh.RunEvent(w, "completed"))
	s.app.start()
	s.want(s.Concluded(p.HeadSHA), "failure")
	eventually(s, func() string {
		again := map[string]int{}
		for _, d := range s.gh.Deliveries() {
			if d.Redelivery {
				again[d.GUID]++
			}
		}
		for _, lost := range []*githubtest.Delivery{opened, ended} {
			if again[lost.GUID] != 1 {
				return fmt.Sprintf("%s was delivered again %d times", lost.Event, again[lost.GUID])
			}
		}
		return ""
	})
}

// Only one of two processes sweeps. When it dies, the other one continues, and requests nothing
// again.
func TestOneProcessSweeps(t *testing.T) {
	s := tell(t, world{redis: redistest.Start(t), asleep: true})
	swept := func(a *app) {
		t.Helper()
		eventually(s, func() string {
			if _, metrics := a.get(a.operator("/metrics")); !strings.Contains(
				metrics,
				`compat_sweeps_total{for="deliveries",outcome="done"} 1`,
			) {
				return "it has not looked at the deliveries"
			}
			return ""
		})
	}
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	s.app.start()
	swept(s.app)
	other := s.replica()
	other.start()
	defer other.kill()
	s.Queued(p.HeadSHA)
	if n := strings.Count(s.app.log.String(), "this process leads the sweeper"); n != 1 {
		t.Errorf("%d processes sweep, want one", n)
	}
	s.app.kill()
	swept(other)
	asked := 0
	for _, c := range s.gh.Calls() {
		if c.Op == "apps/redeliver-webhook-delivery" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the lost delivery was requested %d times, want once", asked)
	}
}

// A process with COMPAT_POOL=small gives a job with large artifacts to one of the large pool and
// continues with others.
func TestLargeArtifactsHaveAPool(t *testing.T) {
	s := tell(t, world{redis: redistest.Start(t), env: map[string]string{"COMPAT_POOL": "small"}})
	p := s.Open()
	big := wheels(cases.CaseA("1.5.1"))
	big.Size = 600 << 20
	s.Finish(p, big)
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "job is for the large pool") {
			return "the job is not given to the large pool"
		}
		return ""
	})
	q := s.OpenWith("other", requiring("packaging>=23"))
	s.Finish(q, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(q.HeadSHA), "failure")
	if k := s.Queued(p.HeadSHA); k.Status == "completed" {
		s.Errorf("the check of the large artifact is %s in the small pool", k.Conclusion)
	}
	large := s.replica()
	large.env["COMPAT_POOL"] = "large"
	large.start()
	defer large.kill()
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Once(p, p.HeadSHA)
}

func TestInstallationEnds(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"suspend", "deleted"} {
		t.Run(action, func(t *testing.T) {
			// The sweeper, which calls GitHub too, does not run during the test.
			s := tell(t, world{wait: time.Hour})
			p := s.Open()
			s.Queued(p.HeadSHA)
			q := s.elsewhere()
			d := s.gh.Send("installation", s.gh.InstallationEvent(s.inst, action))
			if d.Code != 200 && d.Code != 202 {
				s.Errorf("installation.%s: answered %d %s", action, d.Code, d.Body)
			}
			s.quiet() // calls that were in progress
			before := len(s.gh.Calls())
			never(s, 3*time.Second, func() string {
				for _, c := range s.gh.Calls()[before:] {
					if c.Installation == s.inst.ID {
						return "a call for an installation that is gone: " + c.String()
					}
				}
				return ""
			})
			s.checkedElsewhere(q)
		})
	}
}
