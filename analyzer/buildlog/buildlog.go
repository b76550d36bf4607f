// Package buildlog finds errors of linkers, loaders and runtimes in the logs of builds and
// runs: GNU ld, gold, lld, mold, nvlink, ld.so of glibc, musl and Android, Python, Node, the
// JVM, auditwheel, pip, uv, Poetry, CUDA, ROCm, OpenMP, NumPy and PyTorch.
//
//	result, err := buildlog.Read(logFile)
//	for _, d := range result.Diagnoses { fmt.Println(d.Line, d.Class, d.Symbol, d.Fixes) }
//
// It reads a log of any size in one pass with constant memory: an automaton finds the few lines
// that contain a known phrase, and only these are matched with regular expressions (RE2, whose
// run time is linear). A line is limited to 16 KiB, and all matched lines to 16 MiB. The text
// of a log is untrusted: fields are limited, without control characters, and used in a command
// only if they are plain names. Only the text is considered; what does not follow from it is
// unknown.
//
// To add a message, add a pattern to the file of its tool, with an example and a similar line
// that must not match.
package buildlog

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"io"
)

// Limits. A log with more than maxDiagnoses different errors has one cause, which the first
// ones show. maxWork and maxPattern limit the time for lines that look like messages (up to a
// second for 4 MiB). The limit of a single pattern is smaller, so that a log full of one
// message still shows the others.
const (
	maxDiagnoses = 200
	maxLine      = 16 << 10
	maxWork      = 16 << 20
	maxPattern   = 4 << 20
	maxJobs      = 20 // of a diagnosis
)

// Read reads a log until its end or a limit. It returns the error of r. Messages in a short text
// that was folded are read too.
func Read(r io.Reader) (Result, error) {
	text, err := inUTF8(r)
	if err != nil {
		return Result{}, fmt.Errorf("read log at line 1: %w", err)
	}
	start, err := io.ReadAll(io.LimitReader(text, maxFolded+1))
	if err != nil {
		return Result{}, fmt.Errorf("read log at line 1: %w", err)
	}
	if len(start) > maxFolded {
		return readLines(io.MultiReader(bytes.NewReader(start), text))
	}
	plain, err := readLines(bytes.NewReader(start))
	if err != nil {
		return Result{}, err
	}
	return readUnfolded(start, plain)
}

// readLines reads a log in UTF-8.
func readLines(text io.Reader) (Result, error) {
	s := newReader()
	lines, err := scan(text, s.handleRaw)
	if err != nil {
		return Result{}, fmt.Errorf("read log at line %d: %w", lines, err)
	}
	together := ownersByObject(s.out)
	for i := range s.out {
		d := &s.out[i]
		d.Library = cmp.Or(d.Library, knownLibrary(d))
		d.Cause, d.Message, d.Fixes = causeOf(d), message(d), fixes(d, together[d.Object])
	}
	return Result{Diagnoses: s.out, Lines: lines, Limit: s.limit, Sections: s.sections}, nil
}

func newReader() *reader {
	return &reader{
		seen:    map[key]int{},
		skipped: map[string]string{},
		lines:   map[uint64]bool{},
		seed:    maphash.MakeSeed(),
		spent:   make([]int, len(patterns.Get())),
	}
}
