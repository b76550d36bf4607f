package stories

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

var analysesEnded = regexp.MustCompile(`compat_stage_seconds_count\{stage="analysis"\} (\d+)`)

// analyses counts the analyses so far.
func (s *story) analyses() string {
	_, page := s.app.get(s.app.operator("/metrics"))
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

func TestDefaultBranchIsCheckedInAdvance(t *testing.T) {
	s := tell(t, world{})
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.0.1\n"})
	s.Send("push", s.gh.PushEvent(s.repo, "main", "CHANGES"))
	base := wheels(cases.CaseA("1.5.0"))
	s.Send("workflow_run", s.gh.RunEvent(s.gh.BranchRun(s.repo, "main", base), "completed"))
	s.analysed(1)
	s.Free()

	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Free()
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	s.tells(p, k, "already on main")
	s.analysed(2) // only the head: its base was checked before
	if n := s.downloads(&base.Blob); n != 1 {
		t.Errorf("the base's artifact is downloaded %d times", n)
	}
	if checks := s.gh.Checks(s.repo, sha); len(checks) != 0 {
		t.Errorf("%d check runs on the default branch, which nobody requested", len(checks))
	}
}

// other is a second workflow that uploads artifacts. Its file is on main.
const other = ".github/workflows/arm.yml"

func (s *story) builds(on string, base ...*githubtest.Artifact) {
	s.Helper()
	sha := s.gh.Commit(
		s.repo,
		"main",
		map[string]string{other: "name: arm\non: " + on + "\njobs: {}\n"},
	)
	s.gh.BranchRun(s.repo, "main", wheels(cases.Clean("1.0.0")))
	s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    "main",
			SHA:       sha,
			Event:     "push",
			Name:      "arm",
			Path:      other,
			Artifacts: base,
		},
	)
}

func (s *story) arm(p *githubtest.Pull, conclusion string, artifacts ...*githubtest.Artifact) {
	s.Helper()
	w := s.gh.AddRun(
		&githubtest.Run{
			Repo:       s.repo,
			Head:       s.repo,
			Branch:     p.HeadRef,
			SHA:        p.HeadSHA,
			Event:      "pull_request",
			Pull:       p,
			Name:       "arm",
			Path:       other,
			Conclusion: conclusion,
			Artifacts:  artifacts,
		},
	)
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
}

// The last runs of the base were of two workflows that upload artifacts. A head whose first
// workflow ends before the second starts is not checked with the first alone.
func TestChecksWaitForASecondWorkflow(t *testing.T) {
	s := tell(t, world{})
	s.builds("[push, pull_request]", artifact("arm", cases.Dist(cases.Clean("1.0.0"))))
	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "arm may still come") {
			return "nothing says that a workflow is missing"
		}
		return ""
	})
	if n := s.Verdicts(p.HeadSHA); n > 0 {
		t.Errorf("%d verdicts on half of the set", n)
	}
	s.arm(p, "success", artifact("arm", cases.Dist(cases.CaseA("1.5.1"))))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "pow")
	if strings.Contains(k.Summary, "partial") {
		t.Errorf("a whole set is called partial:\n%s", k.Summary)
	}
	s.Once(p, p.HeadSHA)
}

// A workflow whose filter of paths excludes the change does not run, and is not expected. One that
// fails, or should have run, uploads nothing and is missed.
func TestWorkflowThatDoesNotRun(t *testing.T) {
	s := tell(t, world{})
	s.builds("{pull_request: {paths: ['src/**']}}", artifact("arm", cases.Dist(cases.CaseC("1.0.0"))))
	p := s.OpenWith("feature", map[string]string{"a.py": "x = 1\n"})
	s.Queued(p.HeadSHA)
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "success")
	if text := shown(k); strings.Contains(text, "arm") {
		t.Errorf("a workflow is missed that GitHub does not start:\n%s", text)
	}

	sha := s.Push(p, map[string]string{"src/b.py": "x = 2\n"})
	s.Queued(sha)
	s.Free()
	s.gh.PullRun(p, wheels(cases.Clean("1.1.1")))
	s.arm(p, "failure")
	k = s.Concluded(sha)
	s.notPassed(k)
	s.says(shown(k), "Missing", "arm.yml has failed for this commit",
		"/compat accept missing arm because")
}

// A workflow that never runs for pull requests, or uploads nothing, is not expected.
func TestWorkflowsThatDoNotRunForPulls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		on   string
		base []*githubtest.Artifact
	}{
		"pushes to main alone": {"{push: {branches: [main]}}",
			[]*githubtest.Artifact{artifact("arm", cases.Dist(cases.Clean("1.0.0")))}},
		"keeps nothing": {"[push, pull_request]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, world{})
			s.builds(c.on, c.base...)
			p := s.Open()
			s.Finish(p, wheels(cases.Clean("1.1.0")))
			k := s.Concluded(p.HeadSHA)
			s.want(k, "success")
			if strings.Contains(k.Summary, "Missing") ||
				strings.Contains(s.app.log.String(), "may still come") {
				t.Errorf("a workflow is missed that no pull request has:\n%s", k.Summary)
			}
		})
	}
}

// The key workflows of the configuration names the workflows to wait for.
func TestChecksWaitForConfiguredWorkflows(t *testing.T) {
	s := tell(t, world{})
	s.Configure("workflows: [wheels.yml, arm.yml]\n")
	p := s.Open()
	s.Queued(p.HeadSHA)
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	k := s.Concluded(p.HeadSHA)
	s.notPassed(k)
	s.says(shown(k), "Missing", "arm.yml: the workflow has not run for this commit",
		"/compat accept missing arm.yml because")
	before := s.Verdicts(p.HeadSHA)
	s.arm(p, "success", artifact("arm", cases.Dist(cases.CaseA("1.5.1"))))
	s.want(s.Again(p.HeadSHA, before), "failure") // it came late, and is checked
}
