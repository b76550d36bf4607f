package stories

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// shared is a head in two open pull requests: to main, where it fails, and to lenient, whose
// configuration lets everything pass.
func shared(s *story) (strict, lenient *githubtest.Pull) {
	s.Helper()
	s.gh.Commit(s.repo, "lenient", map[string]string{settings: "fail_on: never\n"})
	s.gh.BranchRun(s.repo, "lenient", wheels(cases.Clean("1.0.0")))
	strict = s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		requiring("packaging>=24"),
	)
	return strict, s.gh.OpenSame(strict, "lenient")
}

// stands waits until the newest check run of a commit has a conclusion.
func (s *story) stands(sha, conclusion string) githubtest.Check {
	s.Helper()
	var k githubtest.Check
	eventually(s, func() string {
		checks := s.gh.Checks(s.repo, sha)
		if len(checks) == 0 {
			return "no check run"
		}
		k = checks[0]
		for _, other := range checks {
			if other.ID > k.ID {
				k = other
			}
		}
		if k.Status != "completed" || k.Conclusion != conclusion {
			return "the check is " + k.Status + " " + k.Conclusion + ", want " + conclusion + ": " + k.Title
		}
		return ""
	})
	return k
}

func TestWorstResultOfAHeadCounts(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"strict first", "lenient first", "together"} {
		t.Run(order, func(t *testing.T) {
			s := tell(t, world{})
			strict, lenient := shared(s)
			sha := strict.HeadSHA
			switch order {
			case "strict first":
				s.Send("pull_request", s.gh.PullEvent(strict, "opened"))
				s.Finish(strict, wheels(cases.CaseA("1.5.1")))
				s.stands(sha, "failure")
				s.Send("pull_request", s.gh.PullEvent(lenient, "opened"))
			case "lenient first":
				s.gh.Do(func() { strict.State = "closed" })
				s.Send("pull_request", s.gh.PullEvent(lenient, "opened"))
				s.Finish(lenient, wheels(cases.CaseA("1.5.1")))
				s.stands(sha, "neutral")
				s.gh.Do(func() { strict.State = "open" })
				s.Send("pull_request", s.gh.PullEvent(strict, "reopened"))
			case "together":
				s.Send("pull_request", s.gh.PullEvent(strict, "opened"))
				s.Send("pull_request", s.gh.PullEvent(lenient, "opened"))
				s.Finish(strict, wheels(cases.CaseA("1.5.1")))
			}
			s.stands(sha, "failure")
			eventually(s, func() string {
				if k := s.stands(sha, "failure"); !strings.Contains(k.Summary, "also the head of #1") {
					return "doesn't say whose verdict stands: " + k.Summary
				}
				return ""
			})

			s.gh.Do(func() { strict.State = "closed" })
			s.Send("pull_request", s.gh.PullEvent(strict, "closed"))
			s.stands(sha, "neutral")
			s.gh.Do(func() { strict.State = "open" })
			s.Send("pull_request", s.gh.PullEvent(strict, "reopened"))
			s.stands(sha, "failure")

			// A new head of both is checked from the beginning.
			s.gh.Do(func() {
				strict.State = "closed"
			})
			s.Send("pull_request", s.gh.PullEvent(strict, "closed"))
			next := s.Push(lenient, map[string]string{"a.py": "x = 1\n"})
			s.Finish(lenient, wheels(cases.CaseA("1.6.1")))
			if k := s.stands(next, "neutral"); strings.Contains(k.Summary, "also the head") {
				t.Errorf("the old head's verdict has followed: %s", k.Summary)
			}
		})
	}
}
