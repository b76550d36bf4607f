package stories

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// limit is a rate limit of some seconds; its response reports the end unless bare is set.
const limit = 5 * time.Second // longer than githubtest's grace

// A pull request with case A gets one check run and one comment, whatever fails meanwhile.
// githubtest checks that no call is made during a limit.
func TestConcludesDespiteFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		wrong func(*githubtest.Server)
	}{
		{"primary limit", func(gh *githubtest.Server) {
			gh.Fault("actions/*", 1, githubtest.Fault{Status: 403, Limit: limit, Primary: true})
		}},
		{"429 with Retry-After", func(gh *githubtest.Server) {
			gh.Fault("actions/*", 1, githubtest.Fault{Status: 429, Limit: limit, RetryAfter: true})
		}},
		{"limit on the verdict", func(gh *githubtest.Server) {
			gh.Fault("checks/update", 1, githubtest.Fault{Status: 403, Limit: limit, RetryAfter: true})
		}},
		{"limit on the comment", func(gh *githubtest.Server) {
			gh.Fault("issues/create-comment", 1, githubtest.Fault{Status: 403, Limit: limit,
				RetryAfter: true})
		}},
		{"502 once for each operation", func(gh *githubtest.Server) {
			gh.EachOnce(githubtest.Fault{Status: 502})
		}},
		{"502 after it took effect", func(gh *githubtest.Server) {
			for _, op := range []string{"checks/create", "checks/update", "issues/create-comment",
				"pulls/create-review"} {
				gh.Fault(op, 1, githubtest.Fault{Status: 502, After: true})
			}
		}},
		{"404 just after the event", func(gh *githubtest.Server) {
			for _, op := range []string{"pulls/get", "actions/get-workflow-run",
				"actions/list-workflow-run-artifacts"} {
				gh.Fault(op, 2, githubtest.Fault{Status: 404})
			}
		}},
		{"connections that are cut", func(gh *githubtest.Server) {
			for i := range 6 {
				gh.FaultAfter("*", 4*i, 1, githubtest.Fault{Cut: true})
			}
		}},
		{"slow answers", func(gh *githubtest.Server) {
			gh.Fault("*", -1, githubtest.Fault{Delay: 300 * time.Millisecond})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tell(t, world{})
			c.wrong(s.gh)
			p := s.Open()
			s.Finish(p, wheels(cases.CaseA("1.5.1")))
			k := s.Concluded(p.HeadSHA)
			s.want(k, "failure")
			s.says(shown(k), "pow")
			s.Summary(p)
			time.Sleep(time.Second) // time for a second comment
			s.Once(p, p.HeadSHA)
		})
	}
}

func TestTokenEndsDuringAJob(t *testing.T) {
	t.Parallel()
	t.Run("expires", func(t *testing.T) {
		s := tell(t, world{tokenLife: 3 * time.Second})
		p := s.Open()
		slow := wheels(cases.CaseA("1.5.1"))
		slow.Slow = 4 * time.Second
		s.Finish(p, slow)
		s.want(s.Concluded(p.HeadSHA), "failure")
		s.Summary(p)
	})
	t.Run("is revoked", func(t *testing.T) {
		s := tell(t, world{})
		p := s.Open()
		s.Queued(p.HeadSHA)
		s.gh.RevokeTokens()
		s.Finish(p, wheels(cases.CaseA("1.5.1")))
		s.want(s.Concluded(p.HeadSHA), "failure")
		s.Summary(p)
	})
}

func TestLimitOfOneInstallation(t *testing.T) {
	s := tell(t, world{})
	s.gh.Fault(
		"actions/*",
		1,
		githubtest.Fault{Status: 403, Limit: 20 * time.Second, RetryAfter: true},
	)
	limited := s.Open()
	s.Finish(limited, wheels(cases.CaseA("1.5.1")))
	eventually(s, func() string {
		for _, c := range s.gh.Calls() {
			if c.Status == 403 {
				return ""
			}
		}
		return "the limit is not met"
	})
	ends := time.Now().Add(20 * time.Second)
	s.checkedElsewhere(s.elsewhere())
	if late := time.Since(ends); late > 0 {
		s.Logf("no proof: the limit was over %v ago", late)
	}
}

// elsewhere opens a pull request in another installation.
func (s *story) elsewhere() *githubtest.Pull {
	s.Helper()
	repo := s.newRepo(s.gh.Install("umbrella"), "widget")
	p := s.gh.OpenPull(repo, repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	s.Send("pull_request", s.gh.PullEvent(p, "opened"))
	return p
}

// checkedElsewhere ends its CI with case A and waits for the conclusion.
func (s *story) checkedElsewhere(p *githubtest.Pull) {
	s.Helper()
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	eventually(s, func() string {
		for _, k := range s.gh.Checks(p.Repo, p.HeadSHA) {
			if k.Conclusion == "failure" {
				return ""
			}
		}
		return "another installation has to wait"
	})
}

// TestAcknowledgedBeforeGitHubAnswers: a delivery is answered before GitHub's timeout, while no
// call of GitHub's API is answered.
func TestAcknowledgedBeforeGitHubAnswers(t *testing.T) {
	s := tell(t, world{})
	s.gh.Fault("*", -1, githubtest.Fault{Delay: 2 * patience})
	p := s.Open()
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	for _, d := range s.gh.Deliveries() {
		if d.Code != 202 {
			s.Errorf("%s is answered %d", d.Event, d.Code)
		}
	}
}

// TestManyDeliveriesAtOnce: all acknowledged deliveries are processed. The test logs how long the
// responses took and compares that with GitHub's limit of ten seconds.
func TestManyDeliveriesAtOnce(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	run := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	opened, ended := s.gh.PullEvent(p, "synchronize"), s.gh.RunEvent(run, "completed")
	var wait sync.WaitGroup
	for i := range 300 {
		wait.Go(func() {
			if i%10 == 0 {
				s.gh.Send("workflow_run", ended)
				return
			}
			s.gh.Send("pull_request", opened)
		})
	}
	wait.Wait()
	var took []time.Duration
	for _, d := range s.gh.Deliveries() {
		if took = append(took, d.Took); d.Code != 202 {
			s.Errorf("%s is answered %d %s", d.Event, d.Code, d.Body)
		}
	}
	slices.Sort(took)
	s.Logf(
		"%d answers: half within %v, 99 of 100 within %v",
		len(took),
		took[len(took)/2],
		took[len(took)*99/100],
	)
	s.want(s.Concluded(p.HeadSHA), "failure")
	s.Summary(p)
	s.Once(p, p.HeadSHA)
}

// GitHub refuses the conclusion three times with 403: it is posted later, and is not the refusal.
func TestRefusedConclusion(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Free()
	s.gh.Fault("checks/update", 3, githubtest.Fault{Status: 403})
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "pow")
}
