package queue

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
)

// The partitions are distributed evenly over masters with equal ranges of slots, and the
// installations evenly over the partitions.
func TestDistribution(t *testing.T) {
	for _, n := range []int{2, 3, 16, 48, MaxPartitions} {
		for _, masters := range []int{1, 3, 6} {
			each := make([]int, masters)
			for _, part := range (division{Partitions: n}).partitions() {
				tag := strings.Trim(string(part), "{}:")
				each[slot(tag)*masters/slots]++
			}
			if least := n / masters; slices.Min(each) < least || slices.Max(each) > least+1 {
				t.Errorf("%d partitions on %d masters: %v", n, masters, each)
			}
		}
	}
	parts := division{Partitions: 16}.partitions()
	count := map[partition]int{}
	for i := range int64(16000) {
		count[of(parts, i)]++
	}
	for part, n := range count {
		if n < 850 || n > 1150 {
			t.Errorf("%s has %d installations of 16,000", part, n)
		}
	}
	if got := slot("123456789"); got != 0x31C3%slots { // the check value of CRC-16/XMODEM
		t.Errorf("slot %#x", got)
	}
}

// A queue keeps the keys and the partition of earlier releases, and refuses another number.
func TestPartitionsAreFixed(t *testing.T) {
	server := redistest.Start(t)
	old := mustOpen(t, Options{URL: server.URL})
	enqueue(t, old, "g", Job{Key: "a", Installation: 1})
	if names := keys(t, old, "compat:*"); len(names) > 0 {
		t.Errorf("a queue of one partition has the keys %q", names)
	}
	_, err := Open(t.Context(), Options{URL: server.URL, Partitions: 16})
	wantErr(t, "16 partitions for a queue of one", err, ErrPartitions)
	check := func(want int) error {
		t.Helper()
		return mustOpen(t, Options{URL: server.URL}).CheckPartitions(t.Context(), want)
	}
	wantErr(t, "a check of 16 partitions for a queue of one", check(16), ErrPartitions)
	must(t, check(1))
	must(t, check(0))

	flush(t, server)
	must(t, check(16))
	if names := keys(t, old, "*compat*"); len(names) > 0 {
		t.Errorf("the check of an empty Redis stores %q", names)
	}
	enqueue(t, mustOpen(t, Options{URL: server.URL, Partitions: 16}), "g", Job{Key: "a"})
	_, err = Open(t.Context(), Options{URL: server.URL, Partitions: 8})
	wantErr(t, "8 partitions for 16", err, ErrPartitions)
	wantErr(t, "a check of 8 partitions for 16", check(8), ErrPartitions)
	must(t, check(16))
	q := mustOpen(t, Options{URL: server.URL})
	claim(t, q, "a")
	if n := len(mustPlan(t, q).parts); n != 16 {
		t.Errorf("%d partitions are found, want 16", n)
	}
}

// A job of a transferred repository replaces the one of the earlier installation, and has its
// state, also if they have different partitions.
func TestTransferredRepository(t *testing.T) {
	server := redistest.Start(t)
	q := mustOpen(t, Options{URL: server.URL, Partitions: 16})
	from := int64(1)
	to := from + 1
	for at(t, q, to) == at(t, q, from) {
		to++
	}
	enqueue(t, q, "", Job{Key: "a", Installation: from, Repository: 7})
	l := claim(t, q, "a")
	must(t, l.Save(t.Context(), []byte("state")))
	enqueue(t, q, "", Job{Key: "a", Installation: to, Repository: 7})
	lost(t, q, l)
	if l = claim(t, q, "a"); l.Job.Installation != to || string(l.State) != "state" {
		t.Errorf("job %+v, state %q", l.Job, l.State)
	}
	none(t, q)
	consistent(t, q)
}

// The queue is divided again while two processes use it. Each job is done, none by two workers at
// the same time, and each once unless it came several times.
func TestRepartition(t *testing.T) {
	server := redistest.Start(t)
	ctx := t.Context()
	var replicas []*Queue
	for range 2 {
		replicas = append(replicas, mustOpen(t, Options{URL: server.URL, Lease: time.Minute}))
	}
	q := replicas[0]
	// States of each kind, before the change.
	enqueue(t, q, "", Job{Key: "dead", Installation: 1, Delivery: "d"},
		Job{Key: "kept", Installation: 2})
	enqueue(t, q, "d", Job{Key: "dead", Installation: 1, Delivery: "d"})
	must(t, claim(t, q, "dead").Kill(ctx, "broken"))
	l := claim(t, q, "kept")
	must(t, l.Save(ctx, []byte("state")))
	done(t, l, false)
	enqueue(t, q, "", Job{Key: "delayed", Installation: 3})
	must(t, claim(t, q, "delayed").Large(ctx))
	must(t, claim(t, q, "delayed").Snooze(ctx, time.Hour, "waits"))
	enqueue(t, q, "", Job{Key: "running", Installation: 4})
	running := claim(t, q, "running")
	must(t, running.Save(ctx, []byte("before")))
	enqueue(t, q, "", Job{Key: "parked", Installation: 5})
	must(t, claim(t, q, "parked").Large(ctx))
	must(t, q.Park(ctx, 5, time.Now().Add(time.Hour)))

	var work, send sync.WaitGroup
	var stop atomic.Bool
	var mu sync.Mutex
	count, busy := map[string]int{}, map[string]bool{}
	for i := range 8 {
		work.Go(func() {
			for !stop.Load() {
				l, err := replicas[i%2].Claim(ctx, 50*time.Millisecond)
				if err != nil {
					t.Error(err)
				}
				if l == nil {
					continue
				}
				mu.Lock()
				if busy[l.Job.Key] {
					t.Errorf("two workers have %s", l.Job.Key)
				}
				busy[l.Job.Key] = true
				count[l.Job.Key]++
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				busy[l.Job.Key] = false
				mu.Unlock()
				if _, err := l.Done(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	const jobs = 400
	for i := range 4 {
		send.Go(func() {
			for n := range jobs / 4 {
				guid := fmt.Sprintf("g%d/%d", i, n)
				job := Job{Key: fmt.Sprintf("k%d/%d", i, n), Installation: int64(10 + n%20)}
				for range 2 { // the second is a duplicate, whichever partition it reaches
					if _, err := replicas[n%2].Enqueue(ctx, guid, job); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	time.Sleep(30 * time.Millisecond)
	divided := make(chan error)
	go func() {
		operator := mustOpen(t, Options{URL: server.URL})
		divided <- operator.Repartition(ctx, 16, nil)
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := running.Extend(ctx); err != nil {
		t.Errorf("a running job: %v", err)
	}
	if r := enqueue(t, q, "", Job{Key: "running", Installation: 4, SHA: "newer"}); r.Superseded != 1 {
		t.Errorf("a newer job of a running one: %+v", r)
	}
	done(t, running, true)
	must(t, <-divided)
	send.Wait()
	until(t, "the end of all jobs", func() bool {
		s, err := q.Stats(ctx)
		must(t, err)
		return s.Waiting == 1 && s.Running == 0 // the parked one waits
	})
	stop.Store(true)
	work.Wait()
	for i := range 4 {
		for n := range jobs / 4 {
			if c := count[fmt.Sprintf("k%d/%d", i, n)]; c != 1 {
				t.Errorf("k%d/%d was done %d times", i, n, c)
			}
		}
	}
	if count["running"] != 1 || count["parked"] != 0 || count["delayed"] != 0 {
		t.Errorf("done: running %d, parked %d, delayed %d times", count["running"], count["parked"],
			count["delayed"])
	}

	for _, r := range replicas {
		if p := mustPlan(t, r); len(p.parts) != 16 {
			t.Errorf("a process uses %d partitions", len(p.parts))
		}
	}
	show(t, q, "delayed", Delayed)
	if e := show(t, q, "dead", Dead); e.Reason != "broken" {
		t.Errorf("dead because %q", e.Reason)
	}
	if r := enqueue(t, q, "d", Job{Key: "dead", Installation: 1}); r.Duplicate {
		t.Error("a redelivery does not revive a dead job that was moved")
	}
	done(t, claim(t, q, "dead"), false)
	enqueue(t, q, "", Job{Key: "kept", Installation: 2})
	if l = claim(t, q, "kept"); string(l.State) != "state" {
		t.Errorf("the state of a finished job is %q", l.State)
	}
	done(t, l, false)
	none(t, q)
	must(t, q.Park(ctx, 5, time.Time{}))
	q.o.Pool = SmallPool
	none(t, q)
	q.o.Pool = LargePool
	done(t, claim(t, q, "parked"), false)
	consistent(t, q)
	for _, name := range keys(t, q, prefix+"*") {
		for _, index := range []string{"job:", "in:", "inst:", "ready:", "ring:", "large"} {
			if strings.HasPrefix(name, prefix+index) {
				t.Errorf("%s is still there", name)
			}
		}
	}
	// And back, with other keys.
	must(t, q.Repartition(ctx, 1, nil))
	if p := mustPlan(t, q); len(p.parts) != 1 || p.parts[0] == prefix {
		t.Errorf("partitions %q", p.parts)
	}
	show(t, q, "delayed", Delayed)
	must(t, q.RetryDead(ctx, "delayed"))
	claim(t, q, "delayed") // by a worker of the large pool
}
