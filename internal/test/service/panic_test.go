package service_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/buildlog"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/subject"
)

// panics panics instead of analyzing for a number of times, and then analyzes.
type panics struct {
	left atomic.Int64
	then subject.Checker
}

func (p *panics) Check(
	ctx context.Context,
	inputs []analyzer.Input,
	o analyzer.Options,
	diagnoses []buildlog.Diagnosis,
	risky func(),
) (*analyzer.Report, []buildlog.Diagnosis, error) {
	if p.left.Add(-1) >= 0 {
		var nobody *analyzer.Report
		nobody.Verdict = analyzer.Compatible
	}
	return p.then.Check(ctx, inputs, o, diagnoses, risky)
}

// A panic in the worker's own code ends one attempt of one job: it is retried, and the log contains
// the stack. Other jobs continue.
func TestPanicInAJob(t *testing.T) {
	var p panics
	p.left.Store(1)
	s := start(
		t,
		time.Minute,
		func(s *service) {
			s.checker = func(c subject.Checker) subject.Checker { p.then = c; return &p }
		},
	)
	pull := s.open("feature")
	s.finish(pull, bad("1.1.0"))
	s.want(s.concluded(pull.HeadSHA), "failure", "pow")
	s.once(pull.HeadSHA)
	s.mu.Lock()
	log := s.log.String()
	s.mu.Unlock()
	for _, want := range []string{"msg\":\"panic\"", "panic_test.go", "nil pointer dereference"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}

// A job that panics each time is given up: its check says so, and another pull request is checked.
func TestJobThatAlwaysPanics(t *testing.T) {
	var p panics
	p.left.Store(1 << 40)
	s := start(t, time.Minute, func(s *service) {
		s.tries = 2
		s.checker = func(c subject.Checker) subject.Checker { p.then = c; return &p }
	})
	pull := s.open("feature")
	s.finish(pull, bad("1.1.0"))
	check := s.concluded(pull.HeadSHA)
	s.want(check, "failure", "compat itself failed")
	if text := check.Title + check.Summary; strings.Contains(text, "panic") ||
		strings.Contains(text, ".go:") {
		t.Errorf("the check shows internals: %s", text)
	}
	s.until(func() string {
		e, err := s.queue.Show(t.Context(), fmt.Sprintf("pull/%d/%d", s.repo.ID, pull.Number))
		if err != nil || e.State != queue.Dead {
			return fmt.Sprintf("the job is %+v, %v", e, err)
		}
		return ""
	})
	p.left.Store(0)
	other := s.open("other")
	s.finish(other, clean("1.1.0"))
	s.want(s.concluded(other.HeadSHA), "success")
}
