package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// TestCallsOfAPush counts the calls of GitHub's API for one push. docs/calls.md explains the table.
//
// Not counted are downloads, which go to another host, and reading the files that annotations
// refer to, which happens once per content.
func TestCallsOfAPush(t *testing.T) {
	s := start(t, time.Hour, still)
	s.gh.Commit(s.repo, "main", map[string]string{".github/workflows/wheels.yml": "on: push\n"})
	s.gh.BranchRun(s.repo, "main", clean("1.0.1"))
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		map[string]string{
			"pyproject.toml": strings.Replace(
				project,
				"[\n]",
				"[\n    \"nvidia-nvjitlink-cu12>=12.8,<12.9\",\n]",
				1,
			),
		},
	)
	s.send("pull_request", s.gh.PullEvent(p, "opened"))
	s.finish(p, artifactOf(cases.Clean("1.1.0")))
	s.want(s.concluded(p.HeadSHA), "success")
	s.idle()

	for _, push := range []struct {
		name  string
		wheel cases.Wheel
		wants string
		// all calls, and those that GitHub did not answer with "304 Not Modified", which costs nothing
		calls, news int
	}{
		{"clean", cases.Clean("1.2.0"), "success", 7, 5},
		{"the first that fails: a review, the summary comment", cases.CaseB("1.3.0",
			"nvidia-nvjitlink-cu12>=12.8,<12.9"), "failure", 11, 9},
		{"still failing: the summary comment is edited", cases.CaseB("1.4.0",
			"nvidia-nvjitlink-cu12>=12.8,<12.9"), "failure", 11, 8},
		{"fixed: the thread is resolved, the comment edited", cases.Clean("1.5.0"), "success", 10, 8},
		{"clean again", cases.Clean("1.6.0"), "success", 7, 5},
	} {
		before := len(s.gh.Calls())
		s.gh.Push(p, map[string]string{"notes.md": fmt.Sprint(before)})
		s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
		s.until(func() string {
			if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
				return "no check run"
			}
			return ""
		})
		s.idle()
		s.finish(p, artifactOf(push.wheel))
		s.want(s.concluded(p.HeadSHA), push.wants)
		s.once(p.HeadSHA)
		s.idle()
		calls, news, told := counted(s.gh.Calls()[before:])
		if calls != push.calls || news != push.news {
			t.Errorf(
				"%s: %d calls, %d with news, want %d and %d:\n%s",
				push.name,
				calls,
				news,
				push.calls,
				push.news,
				told,
			)
		}
	}

	// The same events once more, as GitHub sends them for a redelivery: they are duplicates, and cost
	// no call. With new GUIDs they cost one look at the pull request.
	deliveries := s.gh.Deliveries()
	before := len(s.gh.Calls())
	for _, d := range deliveries[len(deliveries)-2:] {
		if again := s.gh.Again(d); again.Code != 200 {
			t.Errorf("a redelivery is answered %d", again.Code)
		}
	}
	s.idle()
	if calls, _, told := counted(s.gh.Calls()[before:]); calls != 0 {
		t.Errorf("redeliveries cost %d calls:\n%s", calls, told)
	}
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.idle()
	if calls, news, told := counted(s.gh.Calls()[before:]); calls != 4 || news != 0 {
		t.Errorf(
			"an event without news costs %d calls, %d with news, want 4 and 0:\n%s",
			calls,
			news,
			told,
		)
	}
	s.once(p.HeadSHA)
}

// The event of a push contains all that a check run needs, while it is the newest of its pull
// request. An older one is not used, and a commit that GitHub does not show yet is requested again.
func TestPushIsReadFromItsEvent(t *testing.T) {
	s := start(t, time.Hour, still)
	p := s.open("feature")
	queued := func(sha string) {
		t.Helper()
		s.until(func() string {
			if len(s.gh.Checks(s.repo, sha)) == 0 {
				return "no check run"
			}
			return ""
		})
		s.idle()
	}
	asked := func(before int) (n int) {
		for _, c := range s.gh.Calls()[before:] {
			if c.Op == "pulls/get" {
				n++
			}
		}
		return n
	}
	queued(p.HeadSHA)
	first, before := p.HeadSHA, len(s.gh.Calls())
	s.gh.Push(p, map[string]string{"a.py": "x = 1\n"})
	old := s.gh.PullEvent(p, "synchronize")
	s.send("pull_request", old)
	queued(p.HeadSHA)
	if n := asked(before); n != 0 {
		t.Errorf("GitHub got %d requests for what its event contains", n)
	}
	if k := s.gh.Checks(s.repo, first); len(k) != 1 || k[0].Conclusion != "cancelled" {
		t.Errorf("the head before has %+v", k)
	}

	second := p.HeadSHA
	s.gh.Fault("checks/create", 1, githubtest.Fault{Status: 422})
	s.gh.Push(p, map[string]string{"a.py": "x = 2\n"})
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	queued(p.HeadSHA)

	before = len(s.gh.Calls())
	s.send("pull_request", old) // captured, and sent again with another GUID
	s.idle()
	if n := asked(before); n == 0 {
		t.Error("an old event is believed")
	}
	s.finish(p, clean("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success")
	s.once(p.HeadSHA)
	if k := s.gh.Checks(s.repo, second); len(k) != 1 || k[0].Conclusion != "cancelled" {
		t.Errorf("the head before has %+v", k)
	}
}

// still excludes a slow machine from the numbers: after some seconds the service would check once
// more whether the head is still the newest.
func still(s *service) {
	now := time.Now()
	s.now = func() time.Time { return now }
}

func artifactOf(w cases.Wheel) *githubtest.Artifact {
	return githubtest.NewArtifact("wheels", cases.Dist(w))
}

// counted removes the calls that are not counted, and reports the others.
func counted(all []githubtest.Call) (calls, news int, told string) {
	var b strings.Builder
	for _, c := range all {
		if c.Installation == 0 ||
			slices.Contains([]string{"actions/download-artifact", "git/get-tree", "git/get-blob"}, c.Op) {
			continue
		}
		if c.Op == "repos/get" &&
			// what is cached of a repository is requested again after two minutes, which a slow machine may
			// take
			c.Status == 304 {
			continue
		}
		calls++
		if c.Status != 304 {
			news++
		}
		fmt.Fprintln(&b, c.String())
	}
	return calls, news, b.String()
}

// idle waits until no job waits or runs; delayed jobs do not count.
func (s *service) idle() {
	s.t.Helper()
	// a job may add another one to the queue between the counts, so two in a row have to agree; many
	// jobs take a slow machine long
	before := false
	s.within(15*time.Minute, func() string {
		stats, err := s.queue.Stats(s.t.Context())
		if err != nil {
			return err.Error()
		}
		free := stats.Waiting+stats.Running == 0
		if !free || !before {
			before = free
			return fmt.Sprintf("%d jobs wait and %d run", stats.Waiting, stats.Running)
		}
		return ""
	})
}
