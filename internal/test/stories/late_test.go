package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// A run that is started again keeps its id: the artifacts of its second attempt are checked, and
// those of the first are not.
func TestSecondAttemptOfARun(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	w := s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	again := s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    p.HeadRef,
			SHA:       p.HeadSHA,
			Event:     "pull_request",
			Pull:      p,
			Artifacts: []*githubtest.Artifact{wheels(cases.Clean("1.1.0"))},
		},
	)
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

// A merge group that was removed from the queue needs no conclusion.
func TestDestroyedMergeGroup(t *testing.T) {
	s := tell(t, world{})
	p, sha := s.group()
	s.Queued(sha)
	s.Send("merge_group", s.gh.MergeGroupEvent(p, sha, "destroyed"))
	s.want(s.Concluded(sha), "cancelled")
}

// A locked conversation accepts no comment; the check run contains everything.
func TestLockedConversation(t *testing.T) {
	s := tell(t, world{})
	for _, op := range []string{"issues/create-comment", "pulls/create-review"} {
		s.gh.Fault(op, -1, githubtest.Fault{Status: 403})
	}
	p := s.OpenWith("feature", requiring("nvidia-nvjitlink-cu12>=12.8,<12.9"))
	s.Finish(p, wheels(cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9")))
	k := s.Concluded(p.HeadSHA)
	s.want(k, "failure")
	s.says(shown(k), "nvidia-nvjitlink-cu12>=12.9")
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "the conversation is locked or gone") {
			return "the comment is not given up"
		}
		return ""
	})
	s.quiet()
	s.Once(p, p.HeadSHA)
}

// Check events of other Apps, which come with every push of every CI system, cost no calls.
func TestChecksOfOtherAppsCostNoCalls(t *testing.T) {
	// The sweeper, which calls GitHub too, does not run during the test.
	s := tell(t, world{wait: time.Hour})
	p := s.Bad()
	s.Summary(p)
	s.quiet()
	before := len(s.gh.Calls())
	k := s.Concluded(p.HeadSHA)
	who := s.gh.User("maintainer")
	for _, action := range []string{"created", "completed", "rerequested"} {
		run := s.gh.CheckEvent(s.repo, k.ID, action, "", who)
		suite := s.gh.SuiteEvent(s.repo, p.HeadSHA, action, who)
		for name, event := range map[string]map[string]any{"check_run": run, "check_suite": suite} {
			event[name].(map[string]any)["app"] = map[string]any{"id": 99, "slug": "another"}
			if d := s.Send(name, event); d.Code != 200 {
				s.Errorf("%s.%s of another App is answered %d", name, action, d.Code)
			}
		}
	}
	s.quiet()
	if calls := s.gh.Calls(); len(calls) > before {
		s.Errorf(
			"%d calls for another App's checks, the first %s",
			len(calls)-before,
			calls[before].String(),
		)
	}
}

// A job of GitHub Actions is called compat and passes, as a workflow of anybody may. Its event
// costs no call; the App's own check run fails all the same, the other one is not changed, and a
// metric shows it to the operator.
func TestCheckOfAnotherAppWithTheSameName(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	name := s.Queued(p.HeadSHA).Name
	other := s.gh.AddCheck(s.repo, p.HeadSHA, "github-actions", name, "success")
	d := s.Send(
		"check_run",
		s.gh.CheckEvent(s.repo, other.ID, "completed", "", s.gh.User("maintainer")),
	)
	if d.Code != 200 || d.Text("status") != "ignored" {
		s.Errorf("answered %d %s: a job is made of it", d.Code, d.Body)
	}
	eventually(s, func() string {
		for line := range strings.Lines(s.app.log.String()) {
			if strings.Contains(line, d.GUID) &&
				strings.Contains(
					line,
					`"level":"WARN","msg":"another App's check run uses the name of this App's check run"`,
				) &&
				strings.Contains(
					line,
					`App \"github-actions\" has completed a check run named `+name+` on \"`+p.HeadSHA,
				) &&
				strings.Contains(line, "acme/widget") {
				return ""
			}
		}
		return "no line of the log reports the other App's check run"
	})
	if _, page := s.app.get(s.app.operator("/metrics")); !strings.Contains(
		page,
		"compat_webhook_namesakes_total 1\n",
	) {
		s.Error("no metric counts it")
	}
	s.Finish(p, wheels(cases.CaseA("1.5.1")))
	s.want(s.Concluded(p.HeadSHA), "failure")
	verdicts := s.Verdicts(p.HeadSHA)
	s.Say(p.Number, "maintainer", "/compat recheck") // lists the existing check runs
	s.want(s.Again(p.HeadSHA, verdicts), "failure")
	s.gh.Do(func() {
		if other.Conclusion != "success" || other.Title != "" || other.Verdicts != 0 {
			s.Errorf("the other App's check run is written to: %+v", other)
		}
	})
}
