package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/githubtest"
)

// A fork that opens dozens of pull requests gets its share of analyses; the others are made later,
// after those of everybody else.
func TestForkThatFloods(t *testing.T) {
	s := start(t, time.Hour, still)
	fork := s.gh.Fork(s.repo, "contributor")
	var pulls []*githubtest.Pull
	for i := range 14 {
		p := s.gh.OpenPull(
			s.repo,
			fork,
			fmt.Sprintf("fix-%d", i),
			s.gh.User("contributor"),
			map[string]string{"a.py": fmt.Sprintf("x = %d\n", i)},
		)
		s.gh.PullRun(p, bad("1.1.0"))
		s.send("pull_request", s.gh.PullEvent(p, "opened"))
		pulls = append(pulls, p)
	}
	own := s.open("feature")
	s.finish(own, bad("1.2.0"))
	for _, p := range append(pulls, own) {
		s.want(s.concluded(p.HeadSHA), "failure")
		s.once(p.HeadSHA)
	}
	s.idle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := strings.Count(s.log.String(), "many analyses were made for this fork"); n != 4 {
		t.Errorf("%d of the fork's 14 heads let others go first, want the last 4", n)
	}
}
