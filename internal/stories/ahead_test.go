package stories

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/compat-app/compat/internal/githubtest/cases"
)

var analysesEnded = regexp.MustCompile(`compat_stage_seconds_count\{stage="analysis"\} (\d+)`)

// analyses counts what was judged so far.
func (s *story) analyses() string {
	_, page := s.app.get("/metrics")
	if m := analysesEnded.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return "no number"
}

func (s *story) analysed(n int) {
	s.Helper()
	eventually(s, func() string {
		if got := s.analyses(); got != fmt.Sprint(n) {
			return fmt.Sprintf("%s analyses have ended, want %d", got, n)
		}
		return ""
	})
}

func TestDefaultBranchIsJudgedAhead(t *testing.T) {
	s := tell(t, world{})
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.0.1\n"})
	s.Send("push", s.gh.PushEvent(s.repo, "main", "CHANGES"))
	base := wheels(cases.CaseA("1.0.1"))
	s.Send("workflow_run", s.gh.RunEvent(s.gh.BranchRun(s.repo, "main", base), "completed"))
	s.analysed(1)
	s.Free()

	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Free()
	s.Finish(p, wheels(cases.CaseA("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.tells(p, k, "already on main")
	s.analysed(2) // the head alone: its base was judged before
	if n := s.downloads(&base.Blob); n != 1 {
		t.Errorf("the base's artifact is downloaded %d times", n)
	}
	if checks := s.gh.Checks(s.repo, sha); len(checks) != 0 {
		t.Errorf("%d check runs on the default branch, which nobody asked for", len(checks))
	}
}
