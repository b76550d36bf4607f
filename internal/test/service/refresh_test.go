package service_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// An installation has 500 open pull requests with the same base branch, which moves. None of them
// costs a call, unless the push changes their configuration: then they are checked again slowly
// enough to stay below GitHub's limits for writing.
func TestPushToTheBase(t *testing.T) {
	const open, wave = 500, 20
	var minutes atomic.Int64
	s := start(t, time.Hour, func(s *service) {
		s.now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	})
	a := bad("1.1.0")
	var pulls []*githubtest.Pull
	for i := range open {
		p := s.gh.OpenPull(
			s.repo,
			s.repo,
			fmt.Sprintf("feature-%d", i),
			s.gh.User("maintainer"),
			map[string]string{"a.py": fmt.Sprintf("x = %d\n", i)},
		)
		s.gh.PullRun(p, githubtest.NewArtifact(a.Name, a.Data))
		pulls = append(pulls, p)
	}
	looked := func() (n int) {
		s.gh.Do(func() {
			for _, k := range s.repo.Checks {
				if k.Status == "completed" {
					n++
				}
			}
		})
		return n
	}
	push := func(files map[string]string) []githubtest.Call {
		before := len(s.gh.Calls())
		s.gh.Commit(s.repo, "main", files)
		var changed []string
		for path := range files {
			changed = append(changed, path)
		}
		s.send("push", s.gh.PushEvent(s.repo, "main", changed...))
		s.idle()
		return s.gh.Calls()[before:]
	}

	calls := push(map[string]string{"a.txt": "1\n"})
	for _, c := range calls {
		if strings.Contains(c.Path, "/pulls") || c.Writes() {
			t.Errorf("a push that changes no setting costs %s", &c)
		}
	}
	if n := len(push(map[string]string{"a.txt": "2\n"})); n > 4 {
		t.Errorf("another such push costs %d calls", n)
	}

	push(map[string]string{".github/compat.yml": "fail_on: warning\n"})
	if n := looked(); n != wave {
		t.Errorf("%d pull requests are judged by the new configuration at once, want %d", n, wave)
	}
	first := s.gh.Heaviest(s.inst)
	if first.Content > 80 || first.Content*12 > 500 || first.Points > 900 ||
		first.AtOnce > 100 { // some every five minutes
		t.Errorf(
			"one wave: %+v: GitHub allows 80 comments and reviews a minute and 500 an hour, 900 points a "+
				"minute, and 100 requests at once",
			first,
		)
	}
	push(map[string]string{"a.txt": "3\n"}) // does not speed it up
	push(map[string]string{".github/compat.yml": "fail_on: error\n"})
	if n := looked(); n != wave {
		t.Errorf("%d pull requests are judged after further pushes, want %d", n, wave)
	}
	minutes.Add(5)
	push(map[string]string{"a.txt": "4\n"})
	if n := looked(); n != 2*wave {
		t.Errorf("%d pull requests are judged after five minutes, want %d", n, 2*wave)
	}

	t.Logf(
		"%d open pull requests, %d of them checked again: %+v, then %+v",
		open,
		wave,
		first,
		s.gh.Heaviest(s.inst),
	)
	judged := 0
	for _, p := range pulls {
		for _, k := range s.gh.Checks(s.repo, p.HeadSHA) {
			if judged++; k.Conclusion != "failure" {
				t.Errorf("#%d is judged as %s", p.Number, k.Conclusion)
			}
		}
	}
	if judged == 0 {
		t.Error("nothing is judged")
	}
}
