package pinned

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Sixteen workers with a large lock file each need the memory of one.
func TestLargeFilesTakeTurns(t *testing.T) {
	text := &strings.Builder{}
	for i := 0; text.Len() < 8<<20; i++ {
		fmt.Fprintf(text, "# %s\n", strings.Repeat("x", 1000))
		if i < 10000 {
			fmt.Fprintf(text, "package%d==1.0\n", i)
		}
	}
	data := []byte(text.String())
	most := func(workers int) uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		before, peak := m.HeapAlloc, uint64(0)
		var group sync.WaitGroup
		done := make(chan struct{})
		for range workers {
			group.Go(func() {
				if names := Names("requirements.txt", data); len(names) < 5000 {
					t.Errorf("%d names", len(names))
				}
			})
		}
		go func() { group.Wait(); close(done) }()
		for {
			runtime.GC()
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > before {
				peak = max(peak, m.HeapAlloc-before)
			}
			select {
			case <-done:
				return peak
			case <-time.After(time.Millisecond):
			}
		}
	}
	one, many := most(1), most(16)
	t.Logf("one worker needs %d KiB, sixteen %d KiB", one>>10, many>>10)
	if many > 4*one+32<<20 {
		t.Errorf("one worker needs %d KiB, sixteen %d KiB", one>>10, many>>10)
	}
}
