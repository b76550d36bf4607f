//go:build scale

package queue

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
)

// TestScale prints what docs/scale.md tells: what enqueue and claim cost Redis with few and with
// many jobs waiting, by its own clock. It asserts that a long queue costs at most twice what a
// short one does. COMPAT_SCALE is the length of the long one; without it 10,000. It judges times,
// so it is behind a build tag: `make scale` runs it.
func TestScale(t *testing.T) {
	long := 10_000
	if n, err := strconv.Atoi(os.Getenv("COMPAT_SCALE")); err == nil {
		long = n
	}
	server := redistest.Start(t, "--appendfsync", "everysec")
	q := mustOpen(t, Options{URL: server.URL, PerInstallation: 1 << 20, Lease: time.Hour})
	const installations = 1000
	payload := []byte(`{"number":12,"padding":"` + strings.Repeat("x", 200) + `"}`)
	n := 0
	enqueueTo := func(length int) {
		// Connections side by side, or the way there and back would count most.
		work := make(chan int, 64)
		failed := make(chan error, 32)
		for range 32 {
			go func() {
				var first error
				for i := range work {
					job := Job{
						Key:          fmt.Sprintf("pull/%d/%d", i%installations, i),
						Kind:         "pull",
						Installation: int64(i % installations),
						Repository:   int64(i % installations),
						SHA:          strings.Repeat("a", 40),
						Payload:      payload,
					}
					_, err := q.Enqueue(t.Context(), fmt.Sprintf("guid-%08d", i), job)
					// a disk that stands still for seconds is none of the queue's
					for try := 0; err != nil && try < 10; try++ {
						_, err = q.Enqueue(t.Context(), fmt.Sprintf("guid-%08d", i), job)
					}
					if first == nil {
						first = err
					}
				}
				failed <- first
			}()
		}
		for ; n < length; n++ {
			work <- n
		}
		close(work)
		for range 32 {
			must(t, <-failed)
		}
	}
	// cost is what a call takes in Redis, median of some rounds, in microseconds.
	cost := func(f func(i int)) float64 {
		const calls = 200
		var rounds []float64
		for r := range 5 {
			must(t, q.rdb.Do(t.Context(), "CONFIG", "RESETSTAT").Err())
			for i := range calls {
				f(r*calls + i)
			}
			rounds = append(rounds, scriptMicroseconds(t, q))
		}
		return median(rounds)
	}
	type costs struct{ enqueue, claim, done float64 }
	measure := func(length int) costs {
		enqueueTo(length)
		// While Redis writes its file anew, a call pays for the pages that it copies; that is not
		// the queue's length.
		must(t, q.rdb.ConfigSet(t.Context(), "auto-aof-rewrite-percentage", "0").Err())
		until(t, "the end of the rewrite", func() bool {
			info, err := q.rdb.Info(t.Context(), "persistence").Result()
			return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") &&
				strings.Contains(info, "aof_rewrite_scheduled:0")
		})
		var c costs
		c.enqueue = cost(func(int) { enqueueTo(n + 1) })
		var held []*Lease
		c.claim = cost(func(int) {
			l, _, err := q.claim(t.Context())
			must(t, err)
			held = append(held, l)
		})
		c.done = cost(func(i int) { done(t, held[i], false) })
		t.Logf(
			"%8d waiting: enqueue %.0f us, claim %.0f us, done %.0f us of Redis's time",
			length,
			c.enqueue,
			c.claim,
			c.done,
		)
		return c
	}
	short := measure(1000)
	before := usedMemory(t, q)
	beforeN := n
	far := measure(long)
	t.Logf(
		"%d bytes of Redis's memory for each job, its delivery's mark among them",
		(usedMemory(t, q)-before)/(n-beforeN),
	)
	drain(t, q, mustOpen(t, Options{URL: server.URL, PerInstallation: 1 << 20, Lease: time.Hour}))
	// Twice, and what a busy machine adds.
	if far.enqueue > 2*short.enqueue+50 || far.claim > 2*short.claim+50 {
		t.Errorf("a long queue costs %+v, a short one %+v", far, short)
	}
}

// drain has two replicas take all that waits, and wants each job to be taken once.
func drain(t *testing.T, replicas ...*Queue) {
	t.Helper()
	waiting, err := replicas[0].rdb.ZCard(t.Context(), prefix+"in:"+string(Waiting)).Result()
	must(t, err)
	var seen sync.Map
	var each [2]atomic.Int64
	var workers sync.WaitGroup
	began := time.Now()
	for i, q := range replicas {
		for range 16 {
			workers.Go(func() {
				for {
					l, err := q.Claim(t.Context(), 0)
					if err != nil {
						t.Error(err)
						return
					}
					if l == nil {
						return
					}
					if _, twice := seen.LoadOrStore(l.Job.ID, true); twice {
						t.Errorf("%s is taken twice", l.Job.ID)
					}
					if _, err := l.Done(t.Context()); err != nil {
						t.Error(err)
					}
					each[i].Add(1)
				}
			})
		}
	}
	workers.Wait()
	taken := each[0].Load() + each[1].Load()
	if taken != waiting {
		t.Errorf("%d jobs waited, and %d were taken", waiting, taken)
	}
	t.Logf(
		"two replicas drained %d jobs (%d and %d), none twice, %.0f a second",
		taken,
		each[0].Load(),
		each[1].Load(),
		float64(taken)/time.Since(began).Seconds(),
	)
}

// scriptMicroseconds is what a script call has cost Redis on average since the statistics were set
// back.
func scriptMicroseconds(t *testing.T, q *Queue) float64 {
	t.Helper()
	info, err := q.rdb.Info(t.Context(), "commandstats").Result()
	must(t, err)
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			_, after, _ := strings.Cut(rest, "usec_per_call=")
			value, _, _ := strings.Cut(after, ",")
			us, err := strconv.ParseFloat(value, 64)
			must(t, err)
			return us
		}
	}
	t.Fatal("Redis tells no cost of scripts")
	return 0
}

func usedMemory(t *testing.T, q *Queue) int {
	t.Helper()
	info, err := q.rdb.Info(t.Context(), "memory").Result()
	must(t, err)
	_, after, _ := strings.Cut(info, "used_memory:")
	value, _, _ := strings.Cut(after, "\r")
	n, err := strconv.Atoi(value)
	must(t, err)
	return n
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
