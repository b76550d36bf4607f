package stories

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// documents is a change of many documents, and of other files.
func documents(n int, others map[string]string) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprintf("docs/%05d.md", i)] = fmt.Sprintf("# Page %d\n", i)
	}
	maps.Copy(all, others)
	return all
}

// passes returns why the newest check of a commit allows the merge; "" if it does not.
func (s *story) passes(sha string) string {
	checks := s.gh.Checks(s.repo, sha)
	if len(checks) == 0 {
		return ""
	}
	k := checks[0]
	for _, other := range checks {
		if other.ID > k.ID {
			k = other
		}
	}
	if c := k.Conclusion; c == "success" || c == "neutral" || c == "skipped" {
		return "the check passes: " + k.Title + "\n" + k.Summary
	}
	return ""
}

// shut waits until the check of a commit is concluded without passing, and for a while after that.
func (s *story) shut(sha string) githubtest.Check {
	s.Helper()
	s.Concluded(sha)
	never(s, 2*time.Second, func() string { return s.passes(sha) })
	k := s.Concluded(sha)
	s.notPassed(k)
	return k
}

// GitHub lists 300 files of a comparison and 3,000 of a pull request. What is behind them counts.
func TestFullListOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		passes bool
	}{
		"documents alone":       {documents(400, map[string]string{"LICENSE": "free\n"}), true},
		"all of a full list":    {documents(3001, nil), true},
		"source after 300":      {documents(305, map[string]string{"src/x.c": "int x;\n"}), false},
		"source after 3,000":    {documents(3005, map[string]string{"src/x.c": "int x;\n"}), false},
		"source named LICENSE_": {map[string]string{"LICENSE_x.c": "int x;\n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{})
			p := s.OpenWith("docs", c.change)
			if c.passes {
				s.want(s.Concluded(p.HeadSHA), "success")
				return
			}
			s.Queued(p.HeadSHA)
			s.Free()
			never(s, time.Second, func() string { return s.passes(p.HeadSHA) })
			s.Finish(p, wheels(cases.CaseA("1.5.1")))
			s.want(s.shut(p.HeadSHA), "failure")
		})
	}
}
