package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPace(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 600}, {1, 600}, {3 << 20, 600}, {4 << 20, 500}, {6 << 20, 300}, {8 << 20, 200},
		{12 << 20, 100}, {16 << 20, 60}, {24 << 20, 60}, {1 << 40, 60}} {
		if got := pace(c.live); got != c.want {
			t.Errorf("%d bytes may grow by %d%%, want %d%%", c.live, got, c.want)
		}
		if goal := c.live + c.live*uint64(pace(c.live))/100; c.live < collectFrom/2 &&
			goal > collectFrom {
			t.Errorf("%d bytes may grow to %d", c.live, goal)
		}
	}
}

// TestMemoryLimit checks that what is live always has room to grow, so that the collector does not
// run without end.
func TestMemoryLimit(t *testing.T) {
	for live := uint64(1 << 20); live < 1<<40; live *= 2 {
		limit := memoryLimit(live)
		if limit < checkMemory || limit < int64(live+live/10) {
			t.Errorf("%d bytes live, limit %d", live, limit)
		}
	}
	if got := memoryLimit(180 << 20); got != checkMemory {
		t.Errorf("the limit is %d", got)
	}
}

// TestCollectEnds checks that a check restores the settings of the garbage collector, after any
// collections.
func TestCollectEnds(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(1<<40)
	defer debug.SetGCPercent(percent)
	defer debug.SetMemoryLimit(limit)
	end := collect()
	for range 3 {
		runtime.GC()
	}
	end()
	for range 3 {
		runtime.GC()
	}
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("the collector is left at %d%%", got)
	}
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("the limit is left at %d", got)
	}
}
