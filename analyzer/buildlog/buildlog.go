// Package buildlog reads the logs of builds and runs and says what the linkers, loaders and
// runtimes in them complained of: GNU ld, gold, lld, mold, nvlink, ld.so of glibc, musl and
// Android, Python, Node, the JVM, auditwheel, pip, CUDA and ROCm.
//
//	result, err := buildlog.Read(logFile)
//	for _, d := range result.Diagnoses { fmt.Println(d.Line, d.Class, d.Symbol, d.Fixes) }
//
// It reads any size in one pass with flat memory: an automaton over the bytes picks the few lines
// that hold a known phrase, and only those are matched, with RE2 (no line can make it slow), each
// cut to 16 KiB, 16 MiB of them in all. A log is an outsider's text: fields are bounded, without
// control characters, and enter a command only where they are plain names. It judges the text
// alone: what the text can't tell is said to be unknown.
//
// Adding a message is one pattern in the file of its tool, with the line it is for and a line it
// must leave alone.
package buildlog

import (
	"fmt"
	"hash/maphash"
	"io"
)

// Bounds. A log with more different failures than maxDiagnoses has one cause, which its first ones
// show. The work bounds hold down the time that lines made to look like messages can take (up to a
// second for 4 MiB); a pattern's own is less, so that a log full of one message still shows the
// others.
const (
	maxDiagnoses = 200
	maxLine      = 16 << 10
	maxWork      = 16 << 20
	maxPattern   = 4 << 20
)

// Read reads a log to its end, or to a bound. The error is r's.
func Read(r io.Reader) (Result, error) {
	s := &reader{
		seen:  map[key]int{},
		lines: map[uint64]bool{},
		seed:  maphash.MakeSeed(),
		spent: make([]int, len(patterns())),
	}
	lines, err := scan(r, s.line)
	if err != nil {
		return Result{}, fmt.Errorf("read log at line %d: %w", lines, err)
	}
	together := ownersByObject(s.out)
	for i := range s.out {
		d := &s.out[i]
		d.Library = or(d.Library, knownLibrary(d))
		d.Cause, d.Message, d.Fixes = cause(d), message(d), fixes(d, together[d.Object])
	}
	return Result{Diagnoses: s.out, Lines: lines, Limit: s.limit, Sections: s.sections}, nil
}
