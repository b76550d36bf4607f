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

	"github.com/compat-app/compat/analyzer/fix"
)

// Causes: where to look first.
const (
	CauseArtifact    = "artifact"    // what was built is wrong wherever it runs
	CauseEnvironment = "environment" // what it runs on, or beside, is wrong
	CauseBuild       = "build"       // the build that wrote the log went wrong; there may be no artifact
	CauseUnknown     = "unknown"     // the text fits both
)

// Diagnosis is one thing that went wrong: one symbol, version or library, however many lines say
// it. Fields that the text does not name are empty.
type Diagnosis struct {
	Line    int       `json:"line"`    // the first line that says it, from 1
	Class   string    `json:"class"`   // one of Classes
	Rule    string    `json:"rule"`    // the pattern that saw it: "ld-undefined-reference"
	Symbol  string    `json:"symbol"`  // as printed, mangled or not, without its version
	Version string    `json:"version"` // of the symbol, or the version node that is missing
	Library string    `json:"library"` // who should have provided it, as printed, with its path; where the text names none, the library that is known to have the symbol
	Object  string    `json:"object"`  // who asked, or the file at fault
	Cause   string    `json:"cause"`
	Message string    `json:"message"` // one sentence
	Fixes   []fix.Fix `json:"fixes"`   // the likeliest first; none is verified, there is nothing here to try them on

	Place    Place     `json:"-"`                  // of Line
	Analysis *Analysis `json:"analysis,omitempty"` // what the artifacts show of it; nil where none were given
}

// Analysis is what the analysis of the artifacts makes of a diagnosis.
type Analysis struct {
	Verdict string   `json:"verdict"` // Confirmed, Contradicted or Undecided
	Why     string   `json:"why"`     // one sentence
	Object  string   `json:"object"`  // path in the artifact of who asked, or is at fault; "" where none was found
	Library string   `json:"library"` // SONAME of who has the symbol, or should have; "" unknown
	Targets []string `json:"targets"` // platforms on which it fails
	Rules   []string `json:"rules"`   // of the findings that say the same
}

// Verdicts of an Analysis.
const (
	Confirmed    = "confirmed"    // it fails so, on a platform that was judged
	Contradicted = "contradicted" // what was given does not fail so: the log is of another build or of another environment
	Undecided    = "undecided"    // the artifacts don't tell
)

// Result is what a log says. Limit is "" when the whole log was looked at, else which bound ended
// it: later lines may say more.
type Result struct {
	Diagnoses []Diagnosis
	Lines     int
	Limit     string
	Sections  []Section // of a log of GitHub's
}

// Bounds. A log with more different failures than maxDiagnoses has one cause, which its first ones
// show. The work bounds hold down the time that lines made to look like messages can take (up to a
// second for 4 MiB); a pattern's own is less, so that a log full of one message still shows the
// others.
const (
	maxDiagnoses = 200
	maxLine      = 16 << 10
	maxWork      = 16 << 20
	maxPattern   = 4 << 20
	maxField     = 4 << 10
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
