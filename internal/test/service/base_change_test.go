package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// retarget changes the base branch of a pull request.
func (s *service) retarget(p *githubtest.Pull, base string) {
	s.t.Helper()
	from := p.BaseRef
	s.gh.Do(func() { p.BaseRef, p.BaseSHA = base, s.repo.Branches[base] })
	event := s.gh.PullEvent(p, "edited")
	event["changes"] = map[string]any{"base": map[string]any{"ref": map[string]any{"from": from}}}
	s.send("pull_request", event)
}

// A finding that one base has is existing there and new on another one, and an acceptance is valid
// for the base on which it was made.
func TestVerdictBelongsToABase(t *testing.T) {
	s := start(t, time.Minute)
	s.gh.Commit(s.repo, "stable", map[string]string{"README.md": "# stable\n"})
	s.gh.BranchRun(s.repo, "stable", clean("1.0.0"))
	s.gh.Commit(s.repo, "main", map[string]string{"README.md": "# main\n"})
	s.gh.BranchRun(s.repo, "main", bad("1.0.0"))
	p := s.open("feature")
	s.finish(p, bad("1.1.0"))
	s.judged(p.HeadSHA, "success", "main")
	onMain := s.concluded(p.HeadSHA).ExternalID

	s.retarget(p, "stable")
	s.judged(p.HeadSHA, "failure", "pow")
	onStable := s.concluded(p.HeadSHA).ExternalID

	s.retarget(p, "main")
	s.judged(p.HeadSHA, "success", "main")
	again := s.concluded(p.HeadSHA).ExternalID
	if onMain == onStable || again == onStable || again == onMain {
		t.Errorf("external ids %s, %s, %s", onMain, onStable, again)
	}

	s.retarget(p, "stable")
	s.judged(p.HeadSHA, "failure", "pow")
	s.say(p, "maintainer", "/compat accept pow because stable is for AlmaLinux 9 only")
	s.judged(p.HeadSHA, "success", "accepted `pow`")
	s.retarget(p, "main")
	s.judged(p.HeadSHA, "success", "already on main")
	if k := s.concluded(p.HeadSHA); strings.Contains(k.Title+k.Summary, "accepted") {
		t.Errorf("what was accepted on stable counts on main: %s", k.Summary)
	}
	s.retarget(p, "stable")
	s.judged(p.HeadSHA, "success", "accepted `pow`")
}
