package service_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

// A job that ends the process of its worker is tried three times. The fourth worker concludes its
// check with that reason, and the job is dead, so it is not repeated forever. A new push is checked
// all the same.
func TestJobThatEndsTheService(t *testing.T) {
	s := start(t, time.Minute, func(s *service) { s.lease = 5 * time.Second })
	p := s.open("feature")
	s.until(func() string {
		if len(s.gh.Checks(s.repo, p.HeadSHA)) == 0 {
			return "no check run"
		}
		return ""
	})
	s.down()
	key := fmt.Sprintf("pull/%d/%d", s.repo.ID, p.Number)
	for n := range 3 {
		q, err := queue.Open(t.Context(), queue.Options{Dir: s.dir, Lease: s.lease})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 { // it is delayed until CI ends
			if err := q.RetryDead(t.Context(), key); err != nil && !errors.Is(err, queue.ErrState) {
				t.Fatal(err)
			}
		}
		lease, err := q.Claim(t.Context(), time.Minute)
		if err != nil || lease == nil || lease.Job.Key != key || lease.Crashes != n {
			t.Fatalf("crash %d: lease %+v, %v", n, lease, err)
		}
		if err := lease.Risk(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if err := q.Close(); err != nil { // with the lease, like a process that dies
			t.Fatal(err)
		}
	}
	s.up()
	s.want(s.concluded(p.HeadSHA), "failure", "The service was terminated 3 times")
	s.once(p.HeadSHA)
	s.until(func() string {
		e, err := s.queue.Show(t.Context(), key)
		if err != nil || e.State != queue.Dead ||
			!strings.Contains(e.Reason, "The service was terminated 3 times") {
			return fmt.Sprintf("the job is %+v, %v", e, err)
		}
		return ""
	})
	s.gh.Push(p, map[string]string{"a.py": "x = 1\n"})
	s.send("pull_request", s.gh.PullEvent(p, "synchronize"))
	s.finish(p, clean("1.1.0"))
	s.want(s.concluded(p.HeadSHA), "success")
}
