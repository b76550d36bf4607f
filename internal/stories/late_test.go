package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/githubtest"
	"github.com/compat-app/compat/internal/githubtest/cases"
)

// A run that is started again keeps its id: what its second attempt uploads is judged, and what the first left is not.
func TestSecondAttemptOfARun(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	w := s.Finish(p, wheels(cases.CaseA("1.1.0")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	again := s.gh.AddRun(&githubtest.Run{Repo: s.repo, Head: s.repo, Branch: p.HeadRef, SHA: p.HeadSHA, Event: "pull_request", Pull: p, Artifacts: []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))}})
	s.gh.Do(func() {
		w.Attempt, w.Artifacts = 2, again.Artifacts
		s.repo.Runs = s.repo.Runs[:len(s.repo.Runs)-1]
	})
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.stands(p.HeadSHA, "success")
	for _, k := range s.gh.Checks(s.repo, p.HeadSHA) {
		if k.Verdicts != 1 {
			s.Errorf("a run got %d verdicts: %s", k.Verdicts, k.Title)
		}
	}
}

// A merge group that the queue takes back needs no verdict.
func TestMergeGroupIsDestroyed(t *testing.T) {
	s := tell(t, world{})
	p, sha := s.group()
	s.Queued(sha)
	s.Send("merge_group", s.gh.MergeGroupEvent(p, sha, "destroyed"))
	s.want(s.Concluded(sha), "cancelled")
}

// A conversation that is locked takes no comment; the check run says it all.
func TestLockedConversation(t *testing.T) {
	s := tell(t, world{})
	for _, op := range []string{"issues/create-comment", "pulls/create-review"} {
		s.gh.Fault(op, -1, githubtest.Fault{Status: 403})
	}
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "nvidia-nvjitlink-cu12>=12.9")
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "the conversation takes no more words") {
			return "the comment is not given up"
		}
		return ""
	})
	s.quiet()
	s.Once(p, p.HeadSHA)
}

// Check events of other Apps come with every push of every CI system, and cost nothing.
func TestOtherAppsChecksCostNothing(t *testing.T) {
	s := tell(t, world{wait: time.Hour}) // the sweeper's look at all heads, which calls too, is far away
	p := s.Bad()
	s.Summary(p)
	s.quiet()
	before := len(s.gh.Calls())
	k := s.Concluded(p.HeadSHA)
	who := s.gh.User("maintainer")
	for _, action := range []string{"created", "completed", "rerequested"} {
		run, suite := s.gh.CheckEvent(s.repo, k.ID, action, "", who), s.gh.SuiteEvent(s.repo, p.HeadSHA, action, who)
		for name, event := range map[string]map[string]any{"check_run": run, "check_suite": suite} {
			event[name].(map[string]any)["app"] = map[string]any{"id": 99, "slug": "another"}
			if d := s.Send(name, event); d.Code != 200 {
				s.Errorf("%s.%s of another App is answered %d", name, action, d.Code)
			}
		}
	}
	s.quiet()
	if calls := s.gh.Calls(); len(calls) > before {
		s.Errorf("%d calls for another App's checks, the first %s", len(calls)-before, calls[before].String())
	}
}
