//go:build scale

package queue

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/redistest"
)

// TestScaleBackends prints what docs/scale.md compares: acknowledged deliveries a second at several
// numbers of concurrent requests, jobs that are claimed and done a second, the memory of waiting
// jobs, and the time of a restart.
func TestScaleBackends(t *testing.T) {
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	dir := t.TempDir()
	for _, backend := range []struct {
		name string
		o    Options
	}{{"embedded", Options{Dir: dir}}, {"redis", Options{URL: server.URL}}} {
		o := backend.o
		o.PerInstallation = 1 << 20
		q, err := Open(t.Context(), o)
		must(t, err)
		before := resident(t)
		n := 0
		for _, concurrent := range []int{1, 8, 64} {
			began, first := time.Now(), n
			var slowest atomic.Int64
			for time.Since(began) < 5*time.Second {
				deliver(t, q, n, concurrent, concurrent*8, &slowest)
				n += concurrent * 8
			}
			t.Logf("%s, %d at once: %.0f deliveries/s, slowest %s", backend.name, concurrent,
				float64(n-first)/time.Since(began).Seconds(), time.Duration(slowest.Load()))
		}
		var slowest atomic.Int64
		if n < 30000 {
			deliver(t, q, n, 64, 30000-n, &slowest)
			n = max(n, 30000)
		}
		t.Logf("%s: %d jobs wait, memory %+d KiB", backend.name, n, (resident(t)-before)/1024)
		if o.URL != "" {
			t.Logf("redis itself: %d KiB", usedMemory(t, q)/1024)
		}
		must(t, q.Close())
		began := time.Now()
		q, err = Open(t.Context(), o)
		must(t, err)
		t.Logf("%s: open again %s", backend.name, time.Since(began).Round(time.Millisecond))
		began = time.Now()
		drained := atomic.Int64{}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for time.Since(began) < 5*time.Second {
					l, err := q.Claim(t.Context(), 0)
					if err != nil || l == nil {
						t.Error(err)
						return
					}
					if _, err := l.Done(t.Context()); err != nil {
						t.Error(err)
					}
					drained.Add(1)
				}
			})
		}
		wg.Wait()
		t.Logf("%s: %.0f jobs claimed and done/s", backend.name,
			float64(drained.Load())/time.Since(began).Seconds())
		must(t, q.Close())
	}
}

// deliver stores n deliveries with one job each, several at once. slowest becomes the longest time
// of a call in nanoseconds.
func deliver(t *testing.T, q *Queue, from, concurrent, n int, slowest *atomic.Int64) {
	var next atomic.Int64
	next.Store(int64(from))
	var wg sync.WaitGroup
	for range concurrent {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= from+n {
					return
				}
				began := time.Now()
				_, err := q.Enqueue(t.Context(), fmt.Sprintf("guid-%032d", i), Job{
					Key: fmt.Sprintf("pull/%d/%d", i%1000, i), Kind: "pull",
					Installation: int64(i % 1000), Repository: int64(i % 1000),
					SHA: strings.Repeat("a", 40), Payload: []byte(`"` + strings.Repeat("x", 250) + `"`)})
				if err != nil {
					t.Error(err)
				}
				took, old := int64(time.Since(began)), slowest.Load()
				for took > old && !slowest.CompareAndSwap(old, took) {
					old = slowest.Load()
				}
			}
		})
	}
	wg.Wait()
}

// resident returns the resident memory of this process in bytes.
func resident(t *testing.T) int {
	runtime.GC()
	data, err := os.ReadFile("/proc/self/statm")
	must(t, err)
	var size, rss int
	_, err = fmt.Sscan(string(data), &size, &rss)
	must(t, err)
	return rss * os.Getpagesize()
}

// TestScaleList checks that a list of jobs takes time for their number and not for its square,
// however small its pages are.
func TestScaleList(t *testing.T) {
	const n, page = 2000, 20
	cost := func(n int) time.Duration {
		q := mustOpen(t, Options{Dir: t.TempDir()})
		err := q.engine.do(t.Context(), func(t *txn) error {
			for i := range n { // keys whose jobs are gone; some came into the state at the same time
				if err := t.addScore(prefix+"in:dead", strconv.Itoa(i/5), fmt.Sprintf("k%08d", i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		least := time.Hour
		for range 3 { // other programs only add to it
			start := time.Now()
			if _, err := q.list(t.Context(), partition(prefix), "in:dead", Dead, 0, n, page); err != nil {
				t.Fatal(err)
			}
			least = min(least, time.Since(start))
		}
		return least
	}
	one, ten := cost(n), cost(10*n)
	t.Logf("%d keys: %v, %d keys: %v", n, one, 10*n, ten)
	if ten > 20*one {
		t.Errorf("ten times as many keys take %.1f times as long", ten.Seconds()/one.Seconds())
	}
}
