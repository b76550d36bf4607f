package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The garbage collector runs first when the heap has collectFrom bytes, which small files never
// reach, and then whenever it has grown by collectPercent. With half of both, published wheels need
// up to 15 MB less memory, and a tenth more CPU.
const (
	collectFrom    = 24 << 20
	collectPercent = 60
)

// collect sets the pace of the garbage collector until end is called. checkMemory is its limit.
func collect() (end func()) {
	limit, percent := debug.SetMemoryLimit(checkMemory), debug.SetGCPercent(pace(0))
	var done atomic.Bool
	var next func(*[16]byte)
	next = func(*[16]byte) { // called by the runtime after each collection
		if done.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		bytes := live[0].Value.Uint64()
		debug.SetGCPercent(pace(bytes))
		debug.SetMemoryLimit(memoryLimit(bytes))
		runtime.SetFinalizer(new([16]byte), next)
	}
	runtime.SetFinalizer(new([16]byte), next)
	return func() {
		done.Store(true)
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// pace returns the percentage (GOGC) by which a heap of live bytes may grow. The runtime lets every
// heap grow to at least 4 MiB times that percentage.
func pace(live uint64) int {
	const most = collectFrom / (4 << 20) * 100
	if live*most/100 < collectFrom-min(live, collectFrom) {
		return most
	}
	return max(collectPercent, int((collectFrom-min(live, collectFrom))*100/live))
}

// checkMemory is the soft memory limit of a check, in bytes. With it, files with some hundred
// megabytes of generated symbols stay below 300 MiB; published wheels do not reach it.
const checkMemory = 224 << 20

// memoryLimit returns the soft limit for a heap of live bytes. An environment of large packages
// needs more than checkMemory: near to a limit, half of the time is spent on collecting garbage
// that does not exist.
func memoryLimit(live uint64) int64 {
	if live < checkMemory/10*9 {
		return checkMemory
	}
	return int64(live + live/100*collectPercent)
}
