//go:build scale

package queue

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/redistest"
)

// TestScale prints the numbers in docs/scale.md: the time of enqueue and claim in Redis with few
// and with many waiting jobs. It asserts that a long queue is at most twice as slow as a short
// one. COMPAT_SCALE is the length of the long queue, by default 10,000. It measures time, so it
// has a build tag: `make scale` runs it.
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
		// Concurrent connections, because otherwise the latency would dominate.
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
					// the disk may stall for seconds
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
	// cost returns the time of a call in Redis in microseconds, the median of several rounds.
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
		// While Redis rewrites its file, calls are slower because of copied pages, not because of
		// the length of the queue.
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
			l, _, err := q.claim(t.Context(), mustPlan(t, q), prefix)
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
	// Twice, plus the noise of a busy machine.
	if far.enqueue > 2*short.enqueue+50 || far.claim > 2*short.claim+50 {
		t.Errorf("a long queue costs %+v, a short one %+v", far, short)
	}
}

// drain processes all waiting jobs with several replicas, and checks that each job is claimed
// once.
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

// scriptMicroseconds returns the average time of a script call in Redis since the last reset of
// its statistics.
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

// TestScaleCluster prints how the load of enqueue, claim and done is distributed over the masters
// of a Cluster, from their commandstats. The busiest master limits the throughput: it asserts that
// three masters carry at least 2.6 times and six 5 times of one, and that the numbers of calls
// agree within 10 %. All masters share this machine, so a call takes longer with more of them;
// therefore the load of the busiest is compared with the sum of the same run.
func TestScaleCluster(t *testing.T) {
	alone := 0.0 // calls for each job with one master
	for _, test := range []struct{ masters, partitions int }{{1, 48}, {3, 16}, {3, 48}, {6, 16},
		{6, 48}} {
		busy, calls, jobs := clusterLoad(t, test.masters, test.partitions)
		total := time.Duration(0)
		for _, d := range busy {
			total += d
		}
		each := float64(sumOf(calls)) / float64(jobs)
		if test.masters == 1 {
			alone = each
		}
		carried := total.Seconds() / slices.Max(busy).Seconds() * alone / each
		over := 100 * (float64(slices.Max(calls)*len(calls))/float64(sumOf(calls)) - 1)
		t.Logf("%d masters, %d partitions: %.2f calls and %.0f us of Redis' time a job; they carry %.2f "+
			"times one master; the busiest has %.0f %% more calls than the mean", test.masters,
			test.partitions, each, float64(total.Microseconds())/float64(jobs), carried, over)
		least := map[int]float64{1: 1, 3: 2.6, 6: 5}[test.masters]
		if test.partitions == 48 && (carried < least || over > 10) {
			t.Errorf("want %.1f times, evenly within 10 %%", least)
		}
	}
}

func sumOf(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// clusterLoad enqueues, claims and finishes jobs of 3,000 installations, and returns the time that
// each master took for scripts, and their number.
func clusterLoad(
	t *testing.T,
	n, partitions int,
) (busy []time.Duration, calls []int, jobs int) {
	masters := redistest.Cluster(t, n, "--appendfsync", "everysec")
	q := mustOpen(t, Options{URL: masters[0].ClusterURL(), Partitions: partitions, Lease: time.Hour})
	const installations, each, workers = 3000, 4, 4
	mustPlan(t, q)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < installations*each; i += workers {
				key := fmt.Sprintf("pull/%d/%d", i%installations, i)
				_, err := q.Enqueue(t.Context(), fmt.Sprintf("guid-%032d", i), Job{Key: key, Kind: "pull",
					Installation: int64(i % installations), Repository: int64(i % installations),
					SHA: strings.Repeat("a", 40), Payload: []byte(`"` + strings.Repeat("x", 250) + `"`)})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var done atomic.Int64
	for range workers {
		all.Go(func() {
			for {
				l, err := q.Claim(t.Context(), 0)
				if err != nil {
					t.Error(err)
				}
				if l == nil {
					return
				}
				if _, err := l.Done(t.Context()); err != nil {
					t.Error(err)
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != installations*each {
		t.Errorf("%d jobs were done, want %d", done.Load(), installations*each)
	}
	for _, m := range masters {
		c := redis.NewClient(&redis.Options{Addr: m.Addr(), Protocol: 2})
		info, err := c.Info(t.Context(), "commandstats").Result()
		must(t, errors.Join(err, c.Close()))
		total, number := 0, 0
		for line := range strings.Lines(info) {
			name, rest, _ := strings.Cut(line, ":")
			if name != "cmdstat_evalsha" && name != "cmdstat_eval" && name != "cmdstat_getex" {
				continue // the commands of scripts are counted again
			}
			var count, us int
			_, err := fmt.Sscanf(rest, "calls=%d,usec=%d", &count, &us)
			must(t, err)
			total += us
			number += count
		}
		busy = append(busy, time.Duration(total)*time.Microsecond)
		calls = append(calls, number)
		m.Kill()
	}
	return busy, calls, installations * each
}
