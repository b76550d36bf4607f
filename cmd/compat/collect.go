package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// When a check collects: not before the heap has collectFrom bytes, which small files never reach,
// and from then on when it has grown by collectPercent.
const (
	collectFrom    = 24 << 20
	collectPercent = 35
)

// collect sets the collector's pace for a check, until end is called. checkMemory stays where it
// begins to work as hard as it can.
func collect() (end func()) {
	limit, percent := debug.SetMemoryLimit(checkMemory), debug.SetGCPercent(pace(0))
	var done atomic.Bool
	var next func(*[16]byte)
	next = func(*[16]byte) { // the runtime calls it once after each collection
		if done.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(pace(live[0].Value.Uint64()))
		runtime.SetFinalizer(new([16]byte), next)
	}
	runtime.SetFinalizer(new([16]byte), next)
	return func() {
		done.Store(true)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// pace is the percentage by which a heap of live bytes may grow. The runtime lets every heap grow
// to 4 MiB times that percentage.
func pace(live uint64) int {
	const most = collectFrom / (4 << 20) * 100
	if live*most/100 < collectFrom-min(live, collectFrom) {
		return most
	}
	return max(collectPercent, int((collectFrom-min(live, collectFrom))*100/live))
}
