package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// order claims and finishes n jobs and returns their keys.
func order(t *testing.T, q *Queue, n int) string {
	var keys []string
	for range n {
		l := claim(t, q, "")
		keys = append(keys, l.Job.Key)
		done(t, l, false)
	}
	return strings.Join(keys, " ")
}

func testPriority(t *testing.T, q *Queue) {
	of := together(t, q, 4)
	enqueue(
		t,
		q,
		"",
		Job{Key: "sweep", Installation: of[0], Priority: Background},
		Job{Key: "pull", Installation: of[0]},
		Job{Key: "release", Kind: "release", Installation: of[0]},
	)
	if got := order(t, q, 3); got != "release pull sweep" {
		t.Errorf("of one installation: %s", got)
	}
	enqueue(t, q, "", Job{Key: "nothing", Installation: of[3]})
	order(t, q, 1) // the fourth claim ignores the priority; the next is the first of four again
	enqueue(
		t,
		q,
		"",
		Job{Key: "sweep", Installation: of[0], Priority: Background},
		Job{Key: "pull", Installation: of[1]},
		Job{Key: "release", Kind: "release", Installation: of[2]},
	)
	if got := order(t, q, 3); got != "release pull sweep" {
		t.Errorf("of several: %s", got)
	}

	// Of two jobs with one key the higher priority applies, waiting or running.
	enqueue(
		t,
		q,
		"",
		Job{Key: "a", Installation: of[0], Priority: Background},
		Job{Key: "b", Installation: of[0]},
	)
	enqueue(t, q, "", Job{Key: "a", Installation: of[0], Priority: Urgent})
	enqueue(t, q, "", Job{Key: "a", Installation: of[0]})
	l := claim(t, q, "a")
	if l.Job.Priority != Normal {
		t.Errorf("the job has priority %d, not its own", l.Job.Priority)
	}
	enqueue(t, q, "", Job{Key: "a", Installation: of[0], Priority: Urgent})
	enqueue(t, q, "", Job{Key: "a", Installation: of[0], Priority: Background})
	done(t, l, true)
	if got := order(t, q, 2); got != "a b" {
		t.Errorf("after a rerun: %s", got)
	}
	if _, err := q.Enqueue(t.Context(), "g", Job{Key: "a", Priority: 2}); err == nil {
		t.Error("a priority that doesn't exist is taken")
	}
}

// One installation floods the queue with urgent jobs. Those of another are still claimed, once in
// four claims.
func testStarving(t *testing.T, q *Queue) {
	of := together(t, q, 3)
	for i := range 20 {
		enqueue(t, q, "", Job{Key: fmt.Sprint("release", i), Installation: of[0], Priority: Urgent})
	}
	for i := range 3 {
		enqueue(
			t,
			q,
			"",
			Job{Key: fmt.Sprint("pull", i), Installation: of[1]},
			Job{Key: fmt.Sprint("sweep", i), Installation: of[2], Priority: Background},
		)
	}
	time.Sleep(2 * time.Millisecond)
	got := order(t, q, 20)
	for _, want := range []string{"pull1", "sweep1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s was not among the first 20: %s", want, got)
		}
	}
	if n := strings.Count(got, "release"); n < 14 {
		t.Errorf("%d of 20 were urgent: %s", n, got)
	}
}
