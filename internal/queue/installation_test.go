package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func testFair(t *testing.T, q *Queue) {
	var jobs []Job
	of := together(t, q, 4)
	for i := range 40 {
		jobs = append(jobs, Job{Key: fmt.Sprintf("a/%02d", i), Installation: of[0]})
	}
	for i := range 3 {
		jobs = append(
			jobs,
			Job{Key: fmt.Sprintf("b/%d", i), Installation: of[1]},
			Job{Key: fmt.Sprintf("c/%d", i), Installation: of[2]},
		)
	}
	enqueue(t, q, "", jobs...)
	var order []string
	for range 12 {
		l := claim(t, q, "")
		order = append(order, l.Job.Key)
		done(t, l, false)
	}
	want := "a/00 b/0 c/0 a/01 b/1 c/1 a/02 b/2 c/2 a/03 a/04 a/05"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	// Another installation waits for at most one claim.
	enqueue(t, q, "", Job{Key: "d", Installation: of[3]})
	first, second := claim(t, q, ""), claim(t, q, "")
	if first.Job.Key != "d" && second.Job.Key != "d" {
		t.Errorf("the newcomer had to wait: %s, %s", first.Job.Key, second.Job.Key)
	}
}

func testCap(t *testing.T, q *Queue) {
	of := together(t, q, 2)
	enqueue(
		t,
		q,
		"",
		Job{Key: "a1", Installation: of[0]},
		Job{Key: "a2", Installation: of[0]},
		Job{Key: "a3", Installation: of[0]},
		Job{Key: "b1", Installation: of[1]},
	)
	claim(t, q, "a1")
	claim(t, q, "b1")
	l := claim(t, q, "a2")
	none(t, q)
	// A waiting worker is woken when the limit allows another job.
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = l.Done(context.Background())
	}()
	claim(t, q, "a3")
	none(t, q)
}

func testPark(t *testing.T, q *Queue) {
	ctx := t.Context()
	enqueue(t, q, "", Job{Key: "a1", Installation: 1}, Job{Key: "b1", Installation: 2})
	must(t, q.Park(ctx, 1, time.Now().Add(time.Hour)))
	must(t, q.Park(ctx, 1, time.Now().Add(10*time.Millisecond))) // the later end applies
	enqueue(t, q, "", Job{Key: "a1", Installation: 1}, Job{Key: "a2", Installation: 1})
	running := claim(t, q, "b1")
	none(t, q)
	if s, _ := q.Stats(ctx); s.Parked != 1 {
		t.Errorf("stats %+v", s)
	}
	must(t, q.Park(ctx, 1, time.Time{}))
	start := time.Now()
	must(t, q.Park(ctx, 1, start.Add(400*time.Millisecond)))
	l := claim(t, q, "a1")
	if d := time.Since(start); d < 350*time.Millisecond {
		t.Errorf("a pause of 400 ms ended after %s", d)
	}
	// A running job continues, and is parked again after Release.
	must(t, q.Park(ctx, 1, time.Now().Add(time.Hour)))
	must(t, l.Check(ctx))
	must(t, l.Release(ctx))
	done(t, running, false)
	none(t, q)
	must(t, q.Park(ctx, 1, time.Time{}))
	claim(t, q, "a1")
	claim(t, q, "a2")
}

func testDropInstallation(t *testing.T, q *Queue) {
	ctx := t.Context()
	of := together(t, q, 2)
	for _, key := range []string{"running", "delayed", "dead", "waiting"} {
		enqueue(t, q, "", Job{Key: key, Installation: of[0]}, Job{Key: "other " + key, Installation: of[1]})
	}
	running := claim(t, q, "running")
	kept := claim(t, q, "other running")
	must(t, claim(t, q, "delayed").Snooze(ctx, time.Hour, ""))
	done(t, claim(t, q, "other delayed"), false)
	must(t, claim(t, q, "dead").Kill(ctx, ""))
	done(t, claim(t, q, "other dead"), false)
	enqueue(t, q, "", Job{Key: "running", Installation: of[0]}) // waits for the running job

	must(t, q.DropInstallation(ctx, of[0]))
	lost(t, q, running)
	must(t, kept.Check(ctx))
	claim(t, q, "other waiting")
	none(t, q)
	entries, err := q.List(ctx, Filter{Installation: of[0]})
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %+v %v", entries, err)
	}
	enqueue(t, q, "", Job{Key: "running", Installation: of[0]})
	claim(t, q, "running")
}
