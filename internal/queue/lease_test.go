package queue

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func testDead(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	l := claim(t, q, "a")
	if l.Last {
		t.Error("the first of two attempts is the last")
	}
	start := time.Now()
	must(t, l.Retry(t.Context(), "GitHub said 502"))
	if e := show(t, q, "a", Delayed); e.Attempts != 1 || e.Reason != "GitHub said 502" {
		t.Errorf("entry %+v", e)
	}
	l = claim(t, q, "a")
	if d := time.Since(start); d < 700*time.Millisecond {
		t.Errorf("the first retry came after %s, want about 1 s", d)
	}
	if l.Attempt != 2 || !l.Last {
		t.Errorf("lease %+v", l)
	}
	must(t, l.Retry(t.Context(), "still 502"))
	if e := show(t, q, "a", Dead); e.Attempts != 2 || e.Reason != "still 502" {
		t.Errorf("entry %+v", e)
	}
	none(t, q)
	if r := enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "2"}); r.Duplicate ||
		r.Superseded != 0 {
		t.Errorf("result %+v", r)
	}
	if l = claim(t, q, "a"); l.Attempt != 1 || l.Job.SHA != "2" {
		t.Errorf("lease %+v", l)
	}
}

func testKill(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	l := claim(t, q, "a")
	must(t, l.Kill(t.Context(), strings.Repeat("é", 2000)+"\xff"))
	if e := show(t, q, "a", Dead); len(e.Reason) > maxReason ||
		!strings.HasPrefix(e.Reason, "ééé") {
		t.Errorf("reason of %d bytes", len(e.Reason))
	}
	none(t, q)
	wantErr(t, "kill", l.Kill(t.Context(), "x"), ErrLost)
}

// lost checks that every method of a lost lease returns ErrLost and changes nothing.
func lost(t *testing.T, q *Queue, l *Lease) {
	t.Helper()
	ctx := t.Context()
	before, _ := q.Show(ctx, l.Job.Key)
	_, err := l.Extend(ctx)
	wantErr(t, "extend", err, ErrLost)
	wantErr(t, "check", l.Check(ctx), ErrLost)
	wantErr(t, "save", l.Save(ctx, []byte("late")), ErrLost)
	_, err = l.Done(ctx)
	wantErr(t, "done", err, ErrLost)
	wantErr(t, "retry", l.Retry(ctx, "late"), ErrLost)
	wantErr(t, "snooze", l.Snooze(ctx, 0, "late"), ErrLost)
	wantErr(t, "release", l.Release(ctx), ErrLost)
	wantErr(t, "kill", l.Kill(ctx, "late"), ErrLost)
	after, _ := q.Show(ctx, l.Job.Key)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("a late worker changed\n %+v to\n %+v", before, after)
	}
}

func testFencing(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	late := claim(t, q, "a")
	time.Sleep(100 * time.Millisecond)
	// The lease is still held, because nobody has claimed the job.
	if _, err := late.Extend(t.Context()); err != nil {
		t.Errorf("extend of a lease that nobody reaped: %v", err)
	}
	l := claim(t, q, "a")
	if l.Losses != 1 || l.Crashes != 0 || l.Attempt != 1 {
		t.Errorf("lease %+v", l)
	}
	q.o.Lease = time.Minute
	_, err := l.Extend(t.Context())
	must(t, err)
	lost(t, q, late)
	done(t, l, false)
	lost(t, q, l)
}

func testExtend(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	l := claim(t, q, "a")
	for range 3 {
		// Longer than the lease without Extend.
		must(t, q.rdb.ZAddXX(t.Context(), at(t, q, 1)+"leases", redis.Z{Score: 1, Member: "a"}).Err())
		_, err := l.Extend(t.Context())
		must(t, err)
		none(t, q)
	}
	done(t, l, false)
}

// next claims a job, also if it is delayed.
func next(t *testing.T, q *Queue, key string) *Lease {
	t.Helper()
	l, err := q.Claim(t.Context(), 0)
	must(t, err)
	if l == nil {
		// The delay ends.
		must(t, q.rdb.ZAddXX(t.Context(), at(t, q, 1)+"delayed", redis.Z{Score: 1, Member: key}).Err())
		l = claim(t, q, key)
	}
	return l
}

// lose claims a job and lets the lease expire, at risk or not.
func lose(t *testing.T, q *Queue, key string, risk bool) *Lease {
	t.Helper()
	l := next(t, q, key)
	if risk {
		must(t, l.Risk(t.Context(), true))
	}
	// The lease expires.
	must(t, q.rdb.ZAddXX(t.Context(), at(t, q, 1)+"leases", redis.Z{Score: 1, Member: key}).Err())
	return l
}

func testCrashes(t *testing.T, q *Queue) {
	enqueue(t, q, "g1", Job{Key: "a", Installation: 1})
	for i := range 3 {
		if i > 0 {
			// A worker that ends the lease resets the count.
			l := claim(t, q, "a")
			must(t, l.Snooze(t.Context(), 0, "a word"))
		}
		if l := lose(t, q, "a", true); l.Crashes != 0 || l.Losses != 0 {
			t.Fatalf("round %d: %+v", i, l)
		}
	}
	if l := lose(t, q, "a", true); l.Crashes != 1 || l.Last {
		t.Errorf("lease %+v", l)
	}
	// A lease that expires without risk is no crash. From the second time on suspects are
	// separated, so another may be claimed first.
	if l := lose(t, q, "a", false); l.Crashes != 2 || l.Losses != 2 || !l.Last || !l.FinalLoss ||
		l.Attempt != 1 {
		t.Errorf("lease %+v", l)
	}
	if l := lose(t, q, "a", true); l.Crashes != 2 || l.Losses != 3 {
		t.Errorf("lease %+v", l)
	}
	enqueue(t, q, "", Job{Key: "b", Installation: 1})
	claim(t, q, "b")
	if e := show(t, q, "a", Dead); e.Crashes != 3 ||
		!strings.Contains(e.Reason, "3 times in a row") {
		t.Errorf("entry %+v", e)
	}
	if r := enqueue(t, q, "g1", Job{Key: "a", Installation: 1}); r.Duplicate {
		t.Error("the redelivery of a dead job is a duplicate")
	}
	for {
		if l := claim(t, q, ""); l.Job.Key == "a" {
			if l.Crashes != 0 || l.Losses != 0 {
				t.Errorf("revived %+v", l)
			}
			return
		}
	}
}

// Leases that expire without risk make a job dead too, but later.
func testLosses(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	for i := range 12 {
		l := lose(t, q, "a", false)
		if l.Crashes != 0 || l.Losses != i || l.FinalLoss != (i == 11) || l.Last != l.FinalLoss {
			t.Fatalf("after %d: %+v", i, l)
		}
		if i == 5 {
			l = next(t, q, "a")
			must(t, l.Risk(t.Context(), true))
			must(t, l.Risk(t.Context(), false))
			must(t, l.Release(t.Context())) // says nothing about the job
		}
	}
	none(t, q)
	if e := show(t, q, "a", Dead); e.Losses != 12 ||
		!strings.Contains(e.Reason, "12 times in a row") {
		t.Errorf("entry %+v", e)
	}
}

// Jobs that ran in the process of a crash are suspected too, and do not run together again.
func TestSuspectsRunSeparately(t *testing.T) {
	dir := t.TempDir()
	var q *Queue
	for i := range 3 {
		q = mustReopen(t, q, Options{Dir: dir, Lease: time.Minute, PerInstallation: 10})
		if i == 0 {
			for n := range 8 {
				enqueue(t, q, "", Job{Key: "k" + strconv.Itoa(n), Installation: 1})
			}
		}
		if i < 2 {
			for range 8 {
				must(t, claim(t, q, "").Risk(t.Context(), true))
			}
		}
	}
	entries, err := q.List(t.Context(), Filter{State: Delayed})
	must(t, err)
	due := map[int64]bool{}
	for _, e := range entries {
		due[e.Due.Sub(e.Since).Milliseconds()] = true
		if e.Crashes != 2 || !strings.Contains(e.Reason, "2 times in a row") {
			t.Errorf("entry %+v", e)
		}
	}
	if len(entries) != 8 || len(due) != 8 {
		t.Errorf("%d jobs wait for %d different times, want 8 and 8", len(entries), len(due))
	}
	must(t, q.Close())
}

// mustReopen closes old, if not nil, without ending its leases, like a crash.
func mustReopen(t *testing.T, old *Queue, o Options) *Queue {
	t.Helper()
	if old != nil {
		must(t, old.Close())
	}
	q, err := Open(t.Context(), o)
	must(t, err)
	return q
}
