package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// logged waits until the log contains a line n times.
func (s *service) logged(n int, words string) {
	s.t.Helper()
	s.until(func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if strings.Count(s.log.String(), words) < n {
			return "the log has no " + words
		}
		return ""
	})
}

func (s *service) downloads(a *githubtest.Artifact) (n int) {
	s.gh.Do(func() { n = a.Downloads })
	return n
}

// The commit of the default branch is checked once, when the last of its runs has ended; a run of
// an older commit that ends later costs no call.
func TestBaseIsCheckedInAdvance(t *testing.T) {
	s := start(t, time.Hour)
	older := s.gh.BranchRun(s.repo, "main", bad("1.0.1"))
	sha := s.gh.Commit(s.repo, "main", map[string]string{"a.txt": "1\n"})
	first, second := bad("1.0.2"), needing("1.0.2", "exp@GLIBC_2.29")
	second.Name = "more"
	one := s.gh.BranchRun(s.repo, "main", first)
	two := s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    "main",
			SHA:       sha,
			Event:     "push",
			Name:      "more",
			Path:      ".github/workflows/more.yml",
			Status:    "in_progress",
			Artifacts: []*githubtest.Artifact{second},
		},
	)
	s.send("workflow_run", s.gh.RunEvent(one, "completed"))
	s.logged(1, "the default branch is not analyzed before its pull requests")
	if n := s.downloads(first); n != 0 {
		t.Errorf("checked while a run is in progress")
	}
	s.gh.Do(func() { two.Status, two.Conclusion = "completed", "success" })
	s.send("workflow_run", s.gh.RunEvent(two, "completed"))
	s.until(func() string {
		if s.downloads(first) == 0 || s.downloads(second) == 0 {
			return "the base is not analyzed"
		}
		return ""
	})
	s.idle()
	before := len(s.gh.Calls())
	s.send("workflow_run", s.gh.RunEvent(older, "completed"))
	s.logged(1, "an older run of the default branch was re-run; a newer one is already analyzed")
	if calls, _, told := counted(s.gh.Calls()[before:]); calls != 0 {
		t.Errorf("the older run costs %d calls:\n%s", calls, told)
	}

	p := s.open("feature")
	s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    "feature",
			SHA:       p.HeadSHA,
			Event:     "pull_request",
			Pull:      p,
			Name:      "more",
			Path:      ".github/workflows/more.yml",
			Artifacts: []*githubtest.Artifact{githubtest.NewArtifact("more", second.Data)},
		},
	)
	s.finish(p, bad("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success", "already on")
}

// A merge queue builds the commit before it is on the branch: no run of the branch follows, only
// the push.
func TestMergedGroupIsCheckedInAdvance(t *testing.T) {
	s := start(t, time.Hour)
	p := s.open("feature")
	branch := githubtest.GroupBranch(p)
	sha := s.gh.Commit(s.repo, branch, map[string]string{"a.txt": "1\n"})
	a := bad("1.1.0")
	run := s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    branch,
			SHA:       sha,
			Event:     "merge_group",
			Artifacts: []*githubtest.Artifact{a},
		},
	)
	s.send("merge_group", s.gh.MergeGroupEvent(p, sha, "checks_requested"))
	s.send("workflow_run", s.gh.RunEvent(run, "completed"))
	s.want(s.concluded(sha), "failure")
	s.idle()
	s.gh.Do(func() { s.repo.Branches["main"] = sha })
	before := len(s.gh.Calls())
	s.send("push", s.gh.PushEvent(s.repo, "main", "a.txt"))
	s.until(func() string {
		for _, c := range s.gh.Calls()[before:] {
			if c.Op == "actions/list-workflow-run-artifacts" {
				return ""
			}
		}
		return "the merged commit is not looked at"
	})
	s.once(sha)
}
