package service_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

func TestEveryCallFailsOnce(t *testing.T) {
	for name, f := range map[string]githubtest.Fault{"502": {Status: 502}, "cut": {Cut: true},
		"cut after it took effect": {Cut: true, After: true}} {
		t.Run(name, func(t *testing.T) {
			s := start(t, time.Minute)
			s.gh.EachOnce(f)
			p := s.open("feature")
			s.finish(p, bad("1.1.0"))
			s.want(s.concluded(p.HeadSHA), "failure", "pow")
			s.oneSummary(p)
			s.once(p.HeadSHA)
		})
	}
}

func TestWritesTookEffectButFailed(t *testing.T) {
	s := start(t, time.Minute)
	for _, op := range []string{"checks/create", "checks/update", "issues/create-comment"} {
		s.gh.Fault(op, 1, githubtest.Fault{Status: 502, After: true})
	}
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.oneSummary(p)
	s.once(p.HeadSHA)
}

// limit is longer than githubtest's grace.
const limit = 5 * time.Second

func TestLimits(t *testing.T) {
	for name, f := range map[string]githubtest.Fault{
		"primary":   {Status: 403, Limit: limit, Primary: true},
		"secondary": {Status: 403, Limit: limit, RetryAfter: true},
		"429":       {Status: 429, Limit: limit, RetryAfter: true},
	} {
		for _, op := range []string{"checks/update", "actions/list-workflow-runs-for-repo",
			"issues/create-comment"} {
			t.Run(name+" on "+strings.ReplaceAll(op, "/", " "), func(t *testing.T) {
				s := start(t, time.Minute)
				p := s.open("feature")
				s.until(func() string {
					if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
						return "no check run"
					}
					return ""
				})
				s.gh.Fault(op, 1, f)
				s.finish(p, bad("1.1.0"))
				s.want(s.concluded(p.HeadSHA), "failure", "pow")
				s.oneSummary(p)
				s.once(p.HeadSHA)
			})
		}
	}
}

func TestRevokedToken(t *testing.T) {
	s := start(t, time.Minute)
	p := s.open("feature")
	a := bad("1.1.0")
	a.Slow = time.Second
	s.finish(p, a)
	s.until(func() string {
		n := 0
		if s.gh.Do(func() { n = a.Downloads }); n == 0 {
			return "not fetched"
		}
		return ""
	})
	s.gh.RevokeTokens()
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
}

func TestRestartInTheMiddle(t *testing.T) {
	s := start(t, time.Minute)
	p, q := s.open("feature"), s.open("waiting")
	a := bad("1.1.0")
	a.Slow = 2 * time.Second
	s.finish(p, a)
	s.until(func() string {
		n := 0
		if s.gh.Do(func() { n = a.Downloads }); n == 0 || len(s.gh.Checks(s.repo, q.HeadSHA)) == 0 {
			return "not under way"
		}
		return ""
	})
	s.down()
	s.up()
	s.finish(q, bad("1.2.0"))
	for _, x := range []*githubtest.Pull{p, q} {
		s.want(s.concluded(x.HeadSHA), "failure", "pow")
		s.oneSummary(x)
		s.once(x.HeadSHA)
	}
}

func TestRestartBetweenVerdictAndComment(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Fault("issues/create-comment", 2, githubtest.Fault{Status: 502, Delay: 50 * time.Millisecond})
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.down()
	s.up()
	s.oneSummary(p)
	s.once(p.HeadSHA)
}

// A conclusion that was written stays, even if what follows it always fails.
func TestCommentsAlwaysFail(t *testing.T) {
	s := start(t, time.Minute)
	s.down()
	s.tries = 2
	s.up()
	s.gh.Fault("issues/create-comment", 100, githubtest.Fault{Status: 502})
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.until(func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !bytes.Contains(s.log.Bytes(), []byte("job failed for the last time")) {
			return "not given up"
		}
		return ""
	})
	s.down() // a running job ends first
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.once(p.HeadSHA)
}

func TestSuspended(t *testing.T) {
	s := start(t, 4*time.Second)
	p := s.open("feature")
	s.until(func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	s.until(
		// the first sweep, which calls GitHub too, has ended; the next one will not see the installation
		func() string {
			if at, err := s.queue.Get(t.Context(), "sweeper/reconciled"); err != nil || at == nil {
				return "the heads are not looked at"
			}
			return ""
		},
	)
	s.send("installation", s.gh.InstallationEvent(s.inst, "suspend"))
	s.until(func() string { // running jobs end
		s.mu.Lock()
		defer s.mu.Unlock()
		if claimed, ended := strings.Count(s.log.String(), "job claimed"), strings.Count(s.log.String(),
			"job ended"); claimed != ended {
			return fmt.Sprintf("%d jobs were claimed and %d have ended", claimed, ended)
		}
		return ""
	})
	time.Sleep(time.Second) // GitHub may still process a call that the process has given up
	before := len(s.gh.Calls())
	time.Sleep(4 * time.Second)
	for _, c := range s.gh.Calls()[before:] {
		if c.Installation == s.inst.ID {
			t.Errorf("a call for a suspended installation: %s", &c)
		}
	}
}

func TestPullRequestIsNotVisibleYet(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Fault("pulls/get", 2, githubtest.Fault{Status: 404})
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	s.once(p.HeadSHA)
}
