package buildlog

import "github.com/compat-app/compat/analyzer/fix"

// Values of Diagnosis.Cause: where to look first.
const (
	CauseArtifact    = "artifact"    // the artifact is wrong on any system
	CauseEnvironment = "environment" // the system or another package is wrong
	// the build failed; there may be no artifact
	CauseBuild   = "build"
	CauseUnknown = "unknown" // the text does not distinguish the causes
)

// Diagnosis is an error about one symbol, version or library, even if several lines report it.
// A field that the text does not contain is empty.
type Diagnosis struct {
	Line int `json:"line"` // number of the first line that reports it, from 1
	// Jobs are the jobs that report it, if the log names those of its lines ("gh run view --log"); at
	// most maxJobs.
	Jobs  []string `json:"jobs,omitempty"`
	Class string   `json:"class"` // one of Classes
	// The pattern that matched, for example "ld-undefined-reference".
	Rule    string `json:"rule"`
	Symbol  string `json:"symbol"`  // as printed, mangled or demangled, without its version
	Version string `json:"version"` // version of the symbol, or the missing version
	// The library that should provide it, as printed, with its path. If the text names none, the
	// library that is known to define the symbol.
	Library string `json:"library"`
	Object  string `json:"object"` // the object that requires it, or the invalid file
	Cause   string `json:"cause"`
	Message string `json:"message"` // one sentence
	// Most likely first. They are not verified.
	Fixes []fix.Fix `json:"fixes"`

	Place Place `json:"-"` // position of Line
	// What the fixes depend on besides: a platform tag, a function, a list of versions; may be "".
	named string
	at    setting
	// Requires-Python of the version that pip ignored, or "".
	python string
	// Result of the comparison with the artifacts; nil if there were none.
	Analysis *Analysis `json:"analysis,omitempty"`
}

// Analysis is the result of comparing a diagnosis with the artifacts.
type Analysis struct {
	Verdict string `json:"verdict"` // Confirmed, Contradicted or Undecided
	Why     string `json:"why"`     // one sentence
	// Path in the artifact of the object that requires it or is invalid; "" if not found.
	Object string `json:"object"`
	// SONAME of the library that defines the symbol or should define it; "" if unknown.
	Library string   `json:"library"`
	Targets []string `json:"targets"` // platforms on which it fails
	Rules   []string `json:"rules"`   // rules of findings about the same error
}

// Values of Analysis.Verdict.
const (
	Confirmed = "confirmed" // it fails in the same way on a platform that was checked
	// It does not fail: the log is from another build or environment.
	Contradicted = "contradicted"
	Undecided    = "undecided" // it cannot be determined from the artifacts
)

// Result is the result of reading a log. Limit is "" if the whole log was read, otherwise the
// limit that was reached: later lines may contain more errors.
type Result struct {
	Diagnoses []Diagnosis
	Lines     int
	Limit     string
	Sections  []Section // sections of a GitHub log
}
