package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
	"github.com/redis/go-redis/v9"
)

func TestEmbedded(t *testing.T) {
	testQueue(t, func(t *testing.T, o Options) *Queue {
		t.Parallel() // each test has its own engine
		o.Dir = t.TempDir()
		return mustOpen(t, o)
	})
}

// The same with 16 partitions in a Cluster.
func TestClusterPartitions(t *testing.T) {
	masters := redistest.Cluster(t, redistest.Masters(t))
	testQueue(t, func(t *testing.T, o Options) *Queue {
		for _, m := range masters {
			flush(t, m)
		}
		o.URL, o.Partitions = masters[1].ClusterURL(), 16
		return mustOpen(t, o)
	})
}

func flush(t *testing.T, server *redistest.Server) {
	c := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	defer c.Close()
	must(t, c.FlushAll(t.Context()).Err())
}

func TestRedis(t *testing.T) {
	server := redistest.Start(t) // crash_test.go tests persistence
	testQueue(t, func(t *testing.T, o Options) *Queue {
		o.URL = server.URL
		q := mustOpen(t, o)
		must(t, q.rdb.FlushAll(t.Context()).Err())
		return q
	})
}

// testQueue runs the tests that every backend must pass. open returns an empty queue that is
// closed at the end of the test.
func testQueue(t *testing.T, open func(t *testing.T, o Options) *Queue) {
	for _, test := range []struct {
		name string
		o    Options
		run  func(t *testing.T, q *Queue)
	}{
		{"what goes in comes out", Options{}, testRoundTrip},
		{"duplicate delivery", Options{}, testDuplicate},
		{"refused jobs leave no mark", Options{}, testRefused},
		{"superseded while waiting", Options{}, testSupersedeWaiting},
		{"superseded while running", Options{}, testSupersedeRunning},
		{"superseded while running, every end", Options{}, testSupersedeEnds},
		{"superseded while snoozed", Options{}, testSupersedeSnoozed},
		{"moved to another installation", Options{}, testMoved},
		{"force id kept", Options{}, testForceID},
		{"retry until dead, revived", Options{MaxAttempts: 2}, testDead},
		{"redelivery of a dead job", Options{}, testRedeliverDead},
		{"retry of a dead job by hand", Options{}, testRetryDead},
		{"killed", Options{}, testKill},
		{"late worker", Options{Lease: 60 * time.Millisecond}, testFencing},
		{"extended lease", Options{}, testExtend},
		{"crashes", Options{Lease: time.Hour, MaxCrashes: 3}, testCrashes},
		{"losses", Options{Lease: time.Hour, MaxCrashes: 3}, testLosses},
		{"state", Options{}, testState},
		{"fair between installations", Options{}, testFair},
		{"by class", Options{}, testByClass},
		{"list of many", Options{}, testListMany},
		{"urgent first", Options{Priorities: map[string]Priority{"release": Urgent}}, testPriority},
		{"no priority starves", Options{PerInstallation: 100}, testStarving},
		{"one leads", Options{}, testLead},
		{"few of one installation at once", Options{PerInstallation: 2}, testCap},
		{"parked", Options{}, testPark},
		{"pools", Options{PerInstallation: 2}, testPools},
		{"woken for their pool", Options{}, testPoolsWake},
		{"installation dropped", Options{}, testDropInstallation},
		{"dropped", Options{}, testDrop},
		{"list and stats", Options{}, testList},
		{"blobs", Options{}, testBlobs},
		{"updates", Options{}, testUpdates},
		{"waiting workers are woken", Options{}, testWake},
		{"many workers", Options{}, testMany},
		{"cancelled and closed", Options{}, testClosed},
		{"damaged job", Options{}, testDamaged},
		{"anything in any order", Options{Lease: 20 * time.Millisecond, PerInstallation: 2}, testRandom},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := open(t, test.o)
			test.run(t, q)
			if q.ctx.Err() == nil {
				consistent(t, q)
			}
		})
	}
}

// patience is the timeout for a busy machine; only a deadlock reaches it.
const patience = time.Minute

func mustOpen(t testing.TB, o Options) *Queue {
	t.Helper()
	q, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, q.Close()) })
	return q
}

func mustPlan(t testing.TB, q *Queue) *plan {
	t.Helper()
	p, err := q.plan(t.Context())
	must(t, err)
	return p
}

// at returns the prefix of the keys of an installation.
func at(t testing.TB, q *Queue, installation int64) string {
	t.Helper()
	return string(of(mustPlan(t, q).parts, installation))
}

// together returns n installations of one partition; of a queue with one they are 1 to n. The
// order of claims is exact only in one partition.
func together(t testing.TB, q *Queue, n int) (installations []int64) {
	t.Helper()
	parts := mustPlan(t, q).parts
	for i := int64(1); len(installations) < n; i++ {
		if of(parts, i) == of(parts, 1) {
			installations = append(installations, i)
		}
	}
	return installations
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func enqueue(t testing.TB, q *Queue, delivery string, jobs ...Job) Result {
	t.Helper()
	r, err := q.Enqueue(t.Context(), delivery, jobs...)
	must(t, err)
	return r
}

// claim returns the next job, which must exist and have the given key; "" = any.
func claim(t testing.TB, q *Queue, key string) *Lease {
	t.Helper()
	l, err := q.Claim(t.Context(), patience)
	must(t, err)
	if l == nil {
		t.Fatalf("nothing to claim, want %q", key)
	}
	if key != "" && l.Job.Key != key {
		t.Fatalf("claimed %q, want %q", l.Job.Key, key)
	}
	return l
}

func none(t testing.TB, q *Queue) {
	t.Helper()
	l, err := q.Claim(t.Context(), 0)
	must(t, err)
	if l != nil {
		t.Fatalf("claimed %q, want nothing", l.Job.ID)
	}
}

func done(t testing.TB, l *Lease, wantRerun bool) {
	t.Helper()
	rerun, err := l.Done(t.Context())
	must(t, err)
	if rerun != wantRerun {
		t.Fatalf("done %s: rerun %v, want %v", l.Job.ID, rerun, wantRerun)
	}
}

func show(t testing.TB, q *Queue, key string, state State) Entry {
	t.Helper()
	e, err := q.Show(t.Context(), key)
	must(t, err)
	if e.State != state {
		t.Fatalf("%s is %s, want %s", key, e.State, state)
	}
	return e
}

func testRoundTrip(t *testing.T, q *Queue) {
	none(t, q)
	in := Job{
		Key: "pull/1/2", Kind: "pull", Installation: 7, Repository: 1, SHA: "abc",
		Trigger: "pull_request.opened", Delivery: "g1", ForceID: "x",
		Payload: []byte(
			`{"number":2,"text":"ünï\u0000 \n"}`,
		), Received: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC),
	}
	r := enqueue(t, q, "g1", in, Job{Key: "release/1/9", Installation: 7})
	if r.Duplicate || r.Superseded != 0 || len(r.IDs) != 2 || r.IDs[0] == r.IDs[1] {
		t.Fatalf("result %+v", r)
	}
	l := claim(t, q, "pull/1/2")
	if l.Attempt != 1 || l.Crashes != 0 || l.Last || l.State != nil {
		t.Errorf("lease %+v", l)
	}
	in.ID = r.IDs[0]
	if got, want := fmt.Sprintf("%+v", l.Job), fmt.Sprintf("%+v", in); got != want {
		t.Errorf("job\n %s, want\n %s", got, want)
	}
	second := claim(t, q, "release/1/9")
	if second.Job.ID != r.IDs[1] || second.Job.Payload != nil {
		t.Errorf("job %+v", second.Job)
	}
	done(t, l, false)
	done(t, second, false)
	none(t, q)
	if _, err := q.Show(t.Context(), "pull/1/2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a finished job: %v", err)
	}
	if again := enqueue(t, q, "", in); again.IDs[0] == in.ID {
		t.Errorf("the id %s was given twice", in.ID)
	}
}

func testDuplicate(t *testing.T, q *Queue) {
	job := Job{Key: "a", Installation: 1}
	enqueue(t, q, "g1", job)
	for _, state := range []State{Waiting, Running, "done"} {
		if r := enqueue(t, q, "g1", job); !r.Duplicate || len(r.IDs) != 0 {
			t.Errorf("second delivery while %s: %+v", state, r)
		}
		switch state {
		case Waiting:
			defer func(l *Lease) { wantErr(t, "after the end", l.Check(t.Context()), ErrLost) }(
				claim(t, q, "a"),
			)
		case Running:
			must(t, q.Drop(t.Context(), "a"))
		}
	}
	enqueue(t, q, "empty")
	if r := enqueue(t, q, "empty"); !r.Duplicate {
		t.Error("a delivery without jobs left no mark")
	}
	if r := enqueue(t, q, "", job); r.Duplicate {
		t.Error("a follow-up is a duplicate")
	}
	if r := enqueue(t, q, "", job); r.Duplicate || r.Superseded != 1 {
		t.Errorf("a second follow-up: %+v", r)
	}
	claim(t, q, "a")
	none(t, q)
	for guid, want := range map[string]bool{"arrived": true, "never": false} {
		if want {
			enqueue(t, q, guid)
		}
		if got, err := q.Arrived(t.Context(), 0, guid); got != want || err != nil {
			t.Errorf("arrived %s: %v %v", guid, got, err)
		}
	}
}

func testRefused(t *testing.T, q *Queue) {
	good := Job{Key: "good", Installation: 1}
	for name, test := range map[string]struct {
		job  Job
		want error
	}{
		"no key":        {Job{}, nil},
		"line break":    {Job{Key: "a\nb"}, nil},
		"not UTF-8":     {Job{Key: "a\xff"}, nil},
		"long key":      {Job{Key: strings.Repeat("k", 600)}, ErrTooLarge},
		"long force id": {Job{Key: "a", ForceID: strings.Repeat("k", 600)}, ErrTooLarge},
		"long payload": {Job{Key: "a", Payload: []byte(`"` + strings.Repeat("x", maxJob) + `"`)},
			ErrTooLarge},
		"not JSON": {Job{Key: "a", Payload: []byte(`{`)}, nil},
	} {
		_, err := q.Enqueue(t.Context(), "g1", good, test.job)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none(t, q)
	if r := enqueue(t, q, "g1", good); r.Duplicate {
		t.Error("a refused delivery left a mark")
	}
}

func testSupersedeWaiting(t *testing.T, q *Queue) {
	enqueue(t, q, "g1", Job{Key: "a", Installation: 1, SHA: "1"}, Job{Key: "b", Installation: 1})
	r := enqueue(t, q, "g2", Job{Key: "a", Installation: 1, SHA: "2"})
	if r.Superseded != 1 {
		t.Errorf("result %+v", r)
	}
	l := claim(t, q, "a") // it keeps its place before b
	if l.Job.SHA != "2" || l.Job.ID != r.IDs[0] {
		t.Errorf("job %+v", l.Job)
	}
	claim(t, q, "b")
	none(t, q)
}

func testSupersedeRunning(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "1"})
	l := claim(t, q, "a")
	if superseded, err := l.Extend(t.Context()); superseded || err != nil {
		t.Errorf("extend: %v %v", superseded, err)
	}
	if r := enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "2"}); r.Superseded != 1 {
		t.Errorf("result %+v", r)
	}
	enqueue(t, q, "", Job{Key: "b", Installation: 1})
	enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "3"})
	if superseded, err := l.Extend(t.Context()); !superseded || err != nil {
		t.Errorf("extend: %v %v", superseded, err)
	}
	must(t, l.Check(t.Context()))
	if e := show(t, q, "a", Running); !e.Superseded {
		t.Errorf("entry %+v", e)
	}
	done(t, l, true)
	next := claim(t, q, "a") // it was enqueued before b
	if next.Job.SHA != "3" {
		t.Errorf("job %+v", next.Job)
	}
	if superseded, _ := next.Extend(t.Context()); superseded {
		t.Error("the newest job is superseded")
	}
	wantErr(t, "old lease", l.Check(t.Context()), ErrLost)
	done(t, next, false)
	claim(t, q, "b")
	none(t, q)
}

// However the lease ends, the newer job waits without failures.
func testSupersedeEnds(t *testing.T, q *Queue) {
	for name, end := range map[string]func(l *Lease) error{
		"retry":   func(l *Lease) error { return l.Retry(t.Context(), "x") },
		"snooze":  func(l *Lease) error { return l.Snooze(t.Context(), time.Hour, "x") },
		"release": func(l *Lease) error { return l.Release(t.Context()) },
		"kill":    func(l *Lease) error { return l.Kill(t.Context(), "x") },
	} {
		enqueue(t, q, "", Job{Key: name, Installation: 1, SHA: "1"})
		l := claim(t, q, name)
		enqueue(t, q, "", Job{Key: name, Installation: 1, SHA: "2"})
		must(t, end(l))
		if next := claim(t, q, name); next.Job.SHA != "2" || next.Attempt != 1 {
			t.Errorf("%s: %+v", name, next)
		} else {
			done(t, next, false)
		}
	}
}

func testSupersedeSnoozed(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "1"})
	must(t, claim(t, q, "a").Snooze(t.Context(), time.Hour, "waits for CI"))
	none(t, q)
	e := show(t, q, "a", Delayed)
	if e.Reason != "waits for CI" || time.Until(e.Due) < 59*time.Minute || e.Attempts != 0 {
		t.Errorf("entry %+v", e)
	}
	enqueue(t, q, "", Job{Key: "a", Installation: 1, SHA: "2"})
	l := claim(t, q, "a")
	if l.Job.SHA != "2" || l.Attempt != 1 {
		t.Errorf("lease %+v", l)
	}
	start := time.Now()
	must(t, l.Snooze(t.Context(), 400*time.Millisecond, ""))
	l = claim(t, q, "a")
	if d := time.Since(start); d < 350*time.Millisecond { // the server's clock may differ slightly
		t.Errorf("a snooze of 400 ms took %s", d)
	}
	must(t, l.Snooze(t.Context(), -time.Second, ""))
	claim(t, q, "a")
}

// A repository can be transferred to another owner, and thereby to another installation.
func testMoved(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	enqueue(t, q, "", Job{Key: "a", Installation: 2})
	must(t, q.DropInstallation(t.Context(), 1))
	l := claim(t, q, "a")
	enqueue(t, q, "", Job{Key: "a", Installation: 3})
	must(t, q.DropInstallation(t.Context(), 2))
	wantErr(t, "extend", l.Check(t.Context()), ErrLost)
	if l = claim(t, q, "a"); l.Job.Installation != 3 {
		t.Errorf("job %+v", l.Job)
	}
	must(t, q.DropInstallation(t.Context(), 3))
	none(t, q)
}

func testForceID(t *testing.T, q *Queue) {
	put := func(forceID string) { enqueue(t, q, "", Job{Key: "a", Installation: 1, ForceID: forceID}) }
	want := func(l *Lease, forceID string) *Lease {
		t.Helper()
		if l.Job.ForceID != forceID {
			t.Fatalf("force id %q, want %q", l.Job.ForceID, forceID)
		}
		return l
	}
	put("asked")
	put("")
	l := want(claim(t, q, "a"), "asked")
	put("")
	done(t, l, true)
	l = want(claim(t, q, "a"), "asked") // the first may have been canceled before its check
	put("again")
	put("")
	done(t, l, true)
	l = want(claim(t, q, "a"), "again")
	must(t, l.Snooze(t.Context(), time.Hour, ""))
	put("")
	l = want(claim(t, q, "a"), "again")
	must(t, l.Kill(t.Context(), "x"))
	put("")
	done(t, want(claim(t, q, "a"), "again"), false)
	put("")
	want(claim(t, q, "a"), "")
}

func testRedeliverDead(t *testing.T, q *Queue) {
	jobs := []Job{{Key: "a", Installation: 1}, {Key: "b", Installation: 1}}
	enqueue(t, q, "g1", jobs...)
	must(t, claim(t, q, "a").Kill(t.Context(), "x"))
	done(t, claim(t, q, "b"), false)
	r := enqueue(t, q, "g1", jobs...)
	if r.Duplicate || len(r.IDs) != 1 || !strings.HasPrefix(r.IDs[0], "a#") {
		t.Errorf("result %+v", r)
	}
	if r := enqueue(t, q, "g1", jobs...); !r.Duplicate {
		t.Errorf("third delivery: %+v", r)
	}
	done(t, claim(t, q, "a"), false)
	none(t, q)
	if r := enqueue(t, q, "g1", jobs...); !r.Duplicate {
		t.Errorf("fourth delivery: %+v", r)
	}
}

func testRetryDead(t *testing.T, q *Queue) {
	wantErr(t, "retry of nothing", q.RetryDead(t.Context(), "a"), ErrNotFound)
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	wantErr(t, "retry of a waiting job", q.RetryDead(t.Context(), "a"), ErrState)
	l := claim(t, q, "a")
	wantErr(t, "retry of a running job", q.RetryDead(t.Context(), "a"), ErrState)
	must(t, l.Kill(t.Context(), "x"))
	must(t, q.RetryDead(t.Context(), "a"))
	l = claim(t, q, "a")
	must(t, l.Snooze(t.Context(), time.Hour, ""))
	must(t, q.RetryDead(t.Context(), "a"))
	claim(t, q, "a")
}

func testState(t *testing.T, q *Queue) {
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	l := claim(t, q, "a")
	state := []byte("check run 4711\x00\xff")
	must(t, l.Save(t.Context(), state))
	if !bytes.Equal(l.State, state) {
		t.Errorf("the lease's own state is %q", l.State)
	}
	wantErr(t, "large state", l.Save(t.Context(), make([]byte, maxState+1)), ErrTooLarge)
	if e := show(t, q, "a", Running); e.Saved != len(state) {
		t.Errorf("entry %+v", e)
	}
	must(t, l.Release(t.Context()))
	l = claim(t, q, "a")
	if !bytes.Equal(l.State, state) {
		t.Errorf("after release: %q", l.State)
	}
	done(t, l, false)
	seconds, err := q.rdb.Do(t.Context(), "TTL", at(t, q, 1)+"state:a").Int64()
	must(t, err)
	if days := seconds / (24 * 3600); days < 29 || days > 31 {
		t.Errorf("the state is kept for %d days", days)
	}
	enqueue(t, q, "", Job{Key: "a", Installation: 1}, Job{Key: "b", Installation: 1})
	l = claim(t, q, "a")
	if !bytes.Equal(l.State, state) {
		t.Errorf("after done: %q", l.State)
	}
	if l := claim(t, q, "b"); l.State != nil {
		t.Errorf("another key's state: %q", l.State)
	}
	must(t, l.Save(t.Context(), nil))
	must(t, l.Release(t.Context()))
	if l := claim(t, q, "a"); l.State != nil {
		t.Errorf("a forgotten state: %q", l.State)
	}
}

func testDrop(t *testing.T, q *Queue) {
	ctx := t.Context()
	wantErr(t, "drop of nothing", q.Drop(ctx, "a"), ErrNotFound)
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	must(t, q.Drop(ctx, "a"))
	none(t, q)
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	l := claim(t, q, "a")
	must(t, q.Drop(ctx, "a"))
	lost(t, q, l)
	enqueue(t, q, "", Job{Key: "a", Installation: 1})
	must(t, claim(t, q, "a").Kill(ctx, ""))
	must(t, q.Drop(ctx, "a"))
	_, err := q.Show(ctx, "a")
	wantErr(t, "show", err, ErrNotFound)
}

func testList(t *testing.T, q *Queue) {
	ctx := t.Context()
	if s, err := q.Stats(ctx); err != nil || s.Waiting+s.Running+s.Delayed+s.Dead+s.Parked != 0 ||
		len(s.Oldest) != 0 {
		t.Errorf("stats of nothing: %+v %v", s, err)
	}
	of := together(t, q, 2)
	for i := range 6 {
		enqueue(t, q, "", Job{Key: fmt.Sprint("k", i), Installation: of[i%2]})
		time.Sleep(2 * time.Millisecond)
	}
	must(t, claim(t, q, "k0").Kill(ctx, "broken"))
	must(t, claim(t, q, "k1").Snooze(ctx, time.Hour, "later"))
	claim(t, q, "k2")
	keys := func(f Filter) string {
		entries, err := q.List(ctx, f)
		must(t, err)
		var s []string
		for _, e := range entries {
			s = append(s, e.Job.Key+" "+string(e.State))
		}
		return strings.Join(s, ", ")
	}
	for _, test := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "k3 waiting, k4 waiting, k5 waiting, k2 running, k1 delayed, k0 dead"},
		{Filter{State: Dead}, "k0 dead"},
		{Filter{Installation: of[1]}, "k3 waiting, k5 waiting, k1 delayed"},
		{Filter{State: Waiting, Limit: 2}, "k3 waiting, k4 waiting"},
		{Filter{State: Waiting, Installation: of[1], Limit: 2}, "k3 waiting, k5 waiting"},
	} {
		if got := keys(test.f); got != test.want {
			t.Errorf("%+v: %s, want %s", test.f, got, test.want)
		}
	}
	for page := 1; page < 4; page++ {
		if entries, err := q.list(ctx, partition(at(t, q, 1)), "in:waiting", Waiting, 0, 10, page); err != nil || len(entries) != 3 ||
			entries[2].Job.Key != "k5" {
			t.Errorf("in pages of %d: %+v %v", page, entries, err)
		}
	}
	if e := show(t, q, "k2", Running); e.Due.Sub(e.Since) != defaultLease {
		t.Errorf("running entry %+v", e)
	}
	time.Sleep(5 * time.Millisecond)
	s, err := q.Stats(ctx)
	must(t, err)
	if s.Waiting != 3 || s.Running != 1 || s.Delayed != 1 || s.Dead != 1 {
		t.Errorf("stats %+v", s)
	}
	for _, state := range States() {
		if age := s.Oldest[state]; age <= 0 || age > time.Minute {
			t.Errorf("the oldest %s job is %s old", state, age)
		}
	}
	if s.Oldest[Waiting] < s.Oldest[Running] {
		t.Errorf("ages %v", s.Oldest)
	}
}

func testUpdates(t *testing.T, q *Queue) {
	add := func(q *Queue, mark byte) error {
		return q.Update(t.Context(), "list", time.Hour, func(old []byte) ([]byte, error) {
			return append(bytes.Clone(old), mark), nil
		})
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if err := add(q, byte(i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := q.Get(t.Context(), "list")
	if slices.Sort(got); err != nil || len(got) != 200 || len(slices.Compact(got)) != 200 {
		t.Errorf("%d of 200 updates are there: %v", len(got), err)
	}
	no := errors.New("no")
	err = q.Update(t.Context(), "list", time.Hour, func([]byte) ([]byte, error) { return nil, no })
	wantErr(t, "a change that refuses", err, no)
	must(t, q.Update(t.Context(), "list", time.Hour, func([]byte) ([]byte, error) { return nil, nil }))
	if left, _ := q.Get(t.Context(), "list"); len(left) != 200 {
		t.Errorf("an update that changes nothing left %d bytes", len(left))
	}
	big := make([]byte, MaxBlob+1)
	err = q.Update(t.Context(), "list", time.Hour, func([]byte) ([]byte, error) { return big, nil })
	wantErr(t, "a large value", err, ErrTooLarge)
}

func testBlobs(t *testing.T, q *Queue) {
	ctx := t.Context()
	value := []byte("report\x00\xff")
	must(t, q.Put(ctx, "report/1", value, time.Hour))
	if got, err := q.Get(ctx, "report/1"); err != nil || !bytes.Equal(got, value) {
		t.Errorf("get: %q %v", got, err)
	}
	must(t, q.Put(ctx, "report/1", []byte("newer"), time.Hour))
	if got, _ := q.Get(ctx, "report/1"); string(got) != "newer" {
		t.Errorf("get: %q", got)
	}
	must(t, q.Put(ctx, "empty", nil, time.Hour))
	if got, err := q.Get(ctx, "empty"); got == nil || len(got) != 0 || err != nil {
		t.Errorf("an empty value: %v %v", got, err)
	}
	for _, key := range []string{"nothing", "", "a\nb"} {
		if got, err := q.Get(ctx, key); got != nil || err != nil {
			t.Errorf("get %q: %q %v", key, got, err)
		}
	}
	wantErr(t, "large", q.Put(ctx, "large", make([]byte, MaxBlob+1), time.Hour), ErrTooLarge)
	if err := q.Put(ctx, "", nil, time.Hour); err == nil {
		t.Error("an empty key was taken")
	}
	if err := q.Put(ctx, "k", nil, 0); err == nil {
		t.Error("a value without time to live was taken")
	}
	must(t, q.Put(ctx, "report/1", []byte("newest"), 30*time.Millisecond))
	time.Sleep(40 * time.Millisecond)
	if got, err := q.Get(ctx, "report/1"); got != nil || err != nil {
		t.Errorf("an expired value: %q %v", got, err)
	}
}

func testWake(t *testing.T, q *Queue) {
	const workers = 4
	// A worker that is not woken tries again a second later. On a busy machine one that is woken
	// may be slow too, but not each time.
	for round := 0; ; round++ {
		var wg sync.WaitGroup
		took := make([]time.Duration, workers)
		var sent time.Time
		for i := range workers {
			wg.Go(func() {
				l, err := q.Claim(t.Context(), patience)
				if l == nil || err != nil {
					t.Errorf("claim: %v %v", l, err)
				}
				took[i] = time.Since(sent)
			})
		}
		time.Sleep(50 * time.Millisecond)
		var jobs []Job
		for i := range workers {
			jobs = append(
				jobs,
				Job{Key: fmt.Sprint("k", round, "/", i), Installation: int64(workers*round + i)},
			)
		}
		sent = time.Now()
		enqueue(t, q, "", jobs...)
		wg.Wait()
		if slowest := slices.Max(took); slowest < 900*time.Millisecond {
			break
		} else if round == 20 {
			t.Fatalf("a waiting worker had its job after %s", slowest)
		}
	}
	if l, err := q.Claim(t.Context(), 100*time.Millisecond); l != nil || err != nil {
		t.Errorf("claim of nothing: %v %v", l, err)
	}
}

// Each job is done by one worker, and two jobs of one key never at the same time.
func testMany(t *testing.T, q *Queue) {
	const keys, deliveries = 12, 120
	var mu sync.Mutex
	running := map[string]bool{}
	last := map[string]string{}
	sent := make(chan struct{})
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for {
				over := false
				select {
				case <-sent:
					over = true
				default:
				}
				l, err := q.Claim(t.Context(), 400*time.Millisecond)
				if err != nil {
					t.Error(err)
				}
				if l == nil && (over || err != nil) {
					return
				}
				if l == nil {
					continue
				}
				mu.Lock()
				if running[l.Job.Key] {
					t.Errorf("two workers have %s", l.Job.Key)
				}
				running[l.Job.Key] = true
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				running[l.Job.Key] = false
				last[l.Job.Key] = l.Job.SHA
				mu.Unlock()
				if _, err := l.Done(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range deliveries {
		key := i % keys
		enqueue(
			t,
			q,
			fmt.Sprint("g", i),
			Job{Key: fmt.Sprint("k", key), Installation: int64(key % 3), SHA: fmt.Sprint(i)},
		)
	}
	close(sent)
	wg.Wait()
	for key := range keys {
		want := fmt.Sprint(deliveries - keys + key)
		if got := last[fmt.Sprint("k", key)]; got != want {
			t.Errorf("the last job of k%d was %s, want %s", key, got, want)
		}
	}
	if s, _ := q.Stats(t.Context()); s.Waiting+s.Running+s.Delayed+s.Dead != 0 {
		t.Errorf("left over: %+v", s)
	}
}

func testClosed(t *testing.T, q *Queue) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	if l, err := q.Claim(ctx, patience); l != nil || !errors.Is(err, context.Canceled) ||
		time.Since(start) > patience/2 {
		t.Errorf("cancelled claim: %v %v after %s", l, err, time.Since(start))
	}
	must(t, q.Ping(t.Context()))
	ended := make(chan error)
	go func() {
		_, err := q.Claim(t.Context(), time.Minute)
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	q.cancel()
	wantErr(t, "waiting claim", <-ended, ErrClosed)
	wantErr(t, "ping", q.Ping(t.Context()), ErrClosed)
	_, err := q.Enqueue(t.Context(), "g", Job{Key: "a"})
	wantErr(t, "enqueue", err, ErrClosed)
	wantErr(t, "put", q.Put(t.Context(), "k", nil, time.Hour), ErrClosed)
	_, err = q.Get(t.Context(), "k")
	wantErr(t, "get", err, ErrClosed)
}

func testDamaged(t *testing.T, q *Queue) {
	ctx := t.Context()
	enqueue(t, q, "", Job{Key: "bad", Installation: 1}, Job{Key: "good", Installation: 1})
	must(t, q.rdb.HSet(ctx, at(t, q, 1)+"job:bad", "job", "{").Err())
	claim(t, q, "good")
	if e := show(t, q, "bad", Dead); !strings.Contains(e.Reason, "damaged") {
		t.Errorf("entry %+v", e)
	}
}

// All keys of a script are in one slot: a Cluster rejects keys of other slots in a script with a
// shebang.
func TestRedisClusterSlot(t *testing.T) {
	server, _ := redistest.Node(t)
	q := mustOpen(t, Options{URL: server.URL, Lease: 20 * time.Millisecond, PerInstallation: 2})
	ctx := t.Context()
	must(t, q.rdb.ClusterAddSlotsRange(ctx, 0, 16383).Err())
	for start := time.Now(); !strings.Contains(q.rdb.ClusterInfo(ctx).Val(),
		"cluster_state:ok"); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatal("a cluster of one server does not come up")
		}
	}
	// With a shebang, Redis rejects keys of another slot.
	for name := range q.scripts {
		lib, err := luaFiles.ReadFile("lua/lib.lua")
		must(t, err)
		body, err := luaFiles.ReadFile("lua/" + name + ".lua")
		must(t, err)
		q.scripts[name] = redis.NewScript("#!lua\n" + string(lib) + "\n" + string(body))
	}
	testRandom(t, q)
	keys, err := q.rdb.Keys(ctx, "*").Result()
	must(t, err)
	slots := map[int64]bool{}
	for _, key := range keys {
		slots[q.rdb.ClusterKeySlot(ctx, key).Val()] = true
	}
	if len(slots) != 1 {
		t.Errorf("keys in %d slots: %q", len(slots), keys)
	}
}
