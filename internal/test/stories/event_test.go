package stories

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

func TestChangedBaseIsCheckedAgain(t *testing.T) {
	s := tell(t, world{})
	s.gh.Commit(s.repo, "lenient", map[string]string{settings: "fail_on: never\n"})
	p := s.Bad()
	s.gh.Do(func() { p.BaseRef, p.BaseSHA = "lenient", s.repo.Branches["lenient"] })
	event := s.gh.PullEvent(p, "edited")
	event["changes"] = map[string]any{"base": map[string]any{"ref": map[string]any{"from": "main"}}}
	s.Send("pull_request", event)
	s.stands(p.HeadSHA, "neutral")
}

func TestDraftReleasesAreChecked(t *testing.T) {
	s := tell(t, world{})
	p := s.gh.OpenPull(s.repo, s.repo, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	s.gh.Do(func() { p.Draft = true })
	s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	if d := s.Send("pull_request", s.gh.PullEvent(p, "converted_to_draft")); d.Code != 200 {
		t.Errorf("converted_to_draft is answered %d", d.Code)
	}
	s.gh.Do(func() { p.Draft = false })
	s.Send("pull_request", s.gh.PullEvent(p, "ready_for_review"))
	s.want(s.Concluded(p.HeadSHA), "failure")
}

func TestUnfinishedRunsCostNoCalls(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Queued(p.HeadSHA)
	w := s.gh.PullRun(p, wheels(cases.CaseA("1.5.1")))
	for _, action := range []string{"requested", "in_progress"} {
		if d := s.Send("workflow_run", s.gh.RunEvent(w, action)); d.Code != 200 {
			t.Errorf("workflow_run.%s is answered %d", action, d.Code)
		}
	}
	s.Send("workflow_run", s.gh.RunEvent(w, "completed"))
	s.want(s.Concluded(p.HeadSHA), "failure")
}

func TestReleasedWithoutPublishedEvent(t *testing.T) {
	s := tell(t, world{})
	sha := s.gh.Commit(s.repo, "main", map[string]string{"CHANGES": "1.1.0\n"})
	s.gh.Tag(s.repo, "v1.1.0", sha)
	l := s.gh.AddRelease(s.repo, "v1.1.0", asset(cases.CaseA("1.5.1")))
	s.Send("release", s.gh.ReleaseEvent(s.repo, l, "released"))
	s.want(s.Concluded(sha), "failure")
}

// quiet waits until no job waits or runs.
func (s *story) quiet() {
	s.Helper()
	eventually(s, func() string {
		log := s.app.log.String()
		if strings.Count(log, `"msg":"job claimed"`) > strings.Count(log, `"msg":"job ended"`) {
			return "a job is under way"
		}
		return ""
	})
}

func TestRenamedRepository(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.quiet()
	s.gh.Do(func() { s.repo.Name = "gadget" })
	event := s.gh.PullEvent(p, "renamed")
	delete(event, "pull_request")
	s.Send("repository", event)
	sha := s.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(cases.Clean("1.1.1")))
	s.want(s.Concluded(sha), "success")
}

// The event for the new name is lost: a 404 under the cached name clears the cache.
func TestRenamedRepositoryWithoutEvent(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	s.quiet()
	s.gh.Do(func() { s.repo.Name = "gadget" })
	sha := s.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.Finish(p, wheels(cases.Clean("1.1.1")))
	s.want(s.Concluded(sha), "success")
}

func TestRepositoryRemovedFromInstallation(t *testing.T) {
	// The sweeper, which calls GitHub too, does not run during the test.
	s := tell(t, world{wait: time.Hour})
	other := s.newRepo(s.inst, "other")
	p := s.Open()
	s.Queued(p.HeadSHA)
	q := s.gh.OpenPull(other, other, "feature", s.gh.User("maintainer"), requiring("packaging>=24"))
	s.Send("pull_request", s.gh.PullEvent(q, "opened"))
	eventually(s, func() string {
		if len(s.gh.Checks(other, q.HeadSHA)) == 0 {
			return "no check in the other repository"
		}
		return ""
	})
	s.gh.Do(func() { other.Installation = nil })
	s.Send(
		"installation_repositories",
		map[string]any{
			"action":             "removed",
			"installation":       map[string]any{"id": s.inst.ID},
			"repositories_added": []any{},
			"repositories_removed": []any{
				map[string]any{"id": other.ID, "name": "other", "full_name": "acme/other"},
			},
			"repository_selection": "selected",
			"sender":               map[string]any{"login": "acme", "type": "User"},
		},
	)
	eventually(s, func() string {
		if !strings.Contains(s.app.log.String(), "its jobs are dropped") {
			return "the jobs are not dropped"
		}
		return ""
	})
	s.quiet() // calls that were in progress
	before := len(s.gh.Calls())
	never(s, 2*time.Second, func() string {
		for _, c := range s.gh.Calls()[before:] {
			if strings.Contains(c.String(), "/acme/other/") {
				return "a call for a repository that was taken away: " + c.String()
			}
		}
		return ""
	})
	s.Finish(p, wheels(cases.CaseA("1.5.1"))) // those of others continue
	s.want(s.Concluded(p.HeadSHA), "failure")
}
