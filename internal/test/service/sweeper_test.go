package service_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

func TestLostDeliveriesAreRequestedAgain(t *testing.T) {
	s := start(t, time.Minute)
	s.down()
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	s.gh.Lose("workflow_run", s.gh.RunEvent(s.gh.PullRun(p, bad("1.1.0")), "completed"))
	s.up()
	s.want(s.concluded(p.HeadSHA), "failure", "pow")
	n := map[string]int{}
	for _, d := range s.gh.Deliveries() {
		if n[d.GUID]++; n[d.GUID] > 2 {
			t.Errorf("%s was requested more than once", d.GUID)
		}
	}
}

// calls counts the calls of an operation.
func (s *service) calls(op string) (n int) {
	for _, c := range s.gh.Calls() {
		if c.Op == op {
			n++
		}
	}
	return n
}

// swept waits until another sweep of the deliveries has ended.
func (s *service) swept(before string) (at string) {
	s.t.Helper()
	s.until(func() string {
		got, err := s.queue.Get(s.t.Context(), "sweeper/deliveries")
		if at = string(got); err != nil || at == "" || at == before {
			return "no look at the deliveries has ended"
		}
		return ""
	})
	return at
}

// The next process does not read again what has arrived.
func TestSweeperContinuesForThePreviousOne(t *testing.T) {
	s := start(t, time.Hour)
	at := s.swept("")
	s.down()
	old := time.Now().Add(-2 * time.Hour)
	for range 250 { // three pages
		d := s.gh.Lose("ping", map[string]any{"zen": "x"})
		s.gh.Do(func() { d.Code, d.At = http.StatusOK, old })
	}
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	before := s.calls("apps/list-webhook-deliveries")
	s.up()
	s.swept(at)
	if n := s.calls("apps/list-webhook-deliveries") - before; n != 1 {
		t.Errorf("the next process read %d pages of deliveries, want one", n)
	}
	if n := s.calls("apps/redeliver-webhook-delivery"); n != 1 {
		t.Errorf("%d deliveries were requested, want the one that was lost", n)
	}
}

// A process ends while the redelivery that it requested is on its way: the next one does not
// request it again.
func TestSweeperRequestsADeliveryOnce(t *testing.T) {
	s := start(t, time.Hour)
	s.down()
	arrive := make(chan struct{})
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-arrive
		s.ServeHTTP(w, r)
	}))
	defer way.Close()
	s.gh.Hook = way.URL + "/webhook"
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	s.up()
	at := s.swept("")
	s.down()
	s.up()
	s.swept(at)
	close(arrive)
	s.until(func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	if n := s.calls("apps/redeliver-webhook-delivery"); n != 1 {
		t.Errorf("requested %d times, want once", n)
	}
}

// GitHub fails during the request: it is repeated a little later, if GitHub's list shows no new
// attempt.
func TestSweeperRepeatsFailedRequests(t *testing.T) {
	s := start(t, time.Hour)
	s.down()
	p := s.gh.OpenPull(
		s.repo,
		s.repo,
		"feature",
		s.gh.User("maintainer"),
		map[string]string{"a.py": "x = 1\n"},
	)
	s.gh.Lose("pull_request", s.gh.PullEvent(p, "opened"))
	s.gh.Fault("apps/redeliver-webhook-delivery", 1, githubtest.Fault{Status: http.StatusBadGateway})
	s.up()
	s.until(func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	if n := s.calls("apps/redeliver-webhook-delivery"); n != 2 {
		t.Errorf("requested %d times, want twice", n)
	}
}

// forget makes the service start with an empty queue, as after a loss of its data.
func (s *service) forget() {
	s.t.Helper()
	s.down()
	if err := os.Remove(filepath.Join(s.dir, "queue.db")); err != nil {
		s.t.Fatal(err)
	}
	s.up()
}

// The queue is empty, and no event will come: open heads are concluded all the same, in the check
// run that was left open.
func TestSweeperFindsUnknownHeads(t *testing.T) {
	s := start(t, time.Minute)
	stuck := s.open("stuck")
	s.until(func() string {
		if len(s.gh.Checks(s.repo, stuck.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	known := s.open("known")
	s.finish(known, bad("1.1.0"))
	s.concluded(known.HeadSHA)
	s.down()
	// Its event was lost, and GitHub no longer lists it.
	silent := s.gh.OpenPull(
		s.repo,
		s.repo,
		"silent",
		s.gh.User("maintainer"),
		map[string]string{"a.py": "x = 1\n"},
	)
	closed := s.gh.OpenPull(
		s.repo,
		s.repo,
		"closed",
		s.gh.User("maintainer"),
		map[string]string{"b.py": "x = 1\n"},
	)
	s.gh.Do(func() { closed.State = "closed" })
	s.gh.PullRun(stuck, bad("1.1.0"))
	s.gh.PullRun(silent, clean("1.1.0"))
	s.forget()
	s.want(s.concluded(stuck.HeadSHA), "failure", "pow")
	s.once(stuck.HeadSHA)
	s.want(s.concluded(silent.HeadSHA), "success")
	s.once(silent.HeadSHA)
	s.once(known.HeadSHA)
	if n := len(s.gh.Checks(s.repo, closed.HeadSHA)); n != 0 {
		t.Errorf("%d check runs on a pull request that is closed", n)
	}
}

// The same for merge groups and releases, which no list of pull requests contains. Those with a
// conclusion, and those that nobody waits for, are not checked.
func TestSweeperFindsUnknownGroupsAndReleases(t *testing.T) {
	s := start(t, 20*time.Second)
	p := s.open("feature")
	released := s.tagged("v1.0.0")
	old := s.gh.AddRelease(s.repo, "v1.0.0", asset("1.0.0", "pow@GLIBC_2.29"))
	s.send("release", s.gh.ReleaseEvent(s.repo, old, "published"))
	s.want(s.concluded(released), "failure", "pow")
	s.down()
	// Their events were lost, and GitHub no longer lists them.
	group := s.gh.Commit(s.repo, githubtest.GroupBranch(p), map[string]string{"a.py": "x = 1\n"})
	s.gh.AddRun(
		&githubtest.Run{
			Repo:      s.repo,
			Head:      s.repo,
			Branch:    githubtest.GroupBranch(p),
			SHA:       group,
			Event:     "merge_group",
			Artifacts: []*githubtest.Artifact{bad("1.1.0")},
		},
	)
	other := s.gh.Commit(s.repo, "gh-readonly-queues", map[string]string{"a.py": "x = 2\n"})
	silent := s.tagged("v1.0.1")
	s.gh.AddRelease(s.repo, "v1.0.1", asset("1.0.1", "pow@GLIBC_2.29"))
	ancient := s.tagged("v0.1.0")
	l := s.gh.AddRelease(s.repo, "v0.1.0", asset("0.1.0", "pow@GLIBC_2.29"))
	draft := s.gh.AddRelease(s.repo, "v2.0.0")
	s.gh.Do(func() { l.At, draft.Draft = time.Now().AddDate(0, -1, 0), true })
	s.forget()
	s.want(s.concluded(group), "failure", "pow")
	s.once(group)
	s.want(s.concluded(silent), "failure", "pow")
	s.once(silent)
	s.once(released)
	for _, sha := range []string{other, ancient} {
		if n := len(s.gh.Checks(s.repo, sha)); n != 0 {
			t.Errorf("%d check runs on %s, which waits for nobody", n, sha)
		}
	}
}
