package buildlog

import "github.com/compat-app/compat/analyzer/fix"

// Causes: where to look first.
const (
	CauseArtifact    = "artifact"    // what was built is wrong wherever it runs
	CauseEnvironment = "environment" // what it runs on, or beside, is wrong
	// the build that wrote the log went wrong; there may be no artifact
	CauseBuild   = "build"
	CauseUnknown = "unknown" // the text fits both
)

// Diagnosis is one thing that went wrong: one symbol, version or library, however many lines say
// it. Fields that the text does not name are empty.
type Diagnosis struct {
	Line    int    `json:"line"`    // the first line that says it, from 1
	Class   string `json:"class"`   // one of Classes
	Rule    string `json:"rule"`    // the pattern that saw it: "ld-undefined-reference"
	Symbol  string `json:"symbol"`  // as printed, mangled or not, without its version
	Version string `json:"version"` // of the symbol, or the version node that is missing
	// who should have provided it, as printed, with its path; where the text names none, the library
	// that is known to have the symbol
	Library string `json:"library"`
	Object  string `json:"object"` // who asked, or the file at fault
	Cause   string `json:"cause"`
	Message string `json:"message"` // one sentence
	// the likeliest first; none is verified, there is nothing here to try them on
	Fixes []fix.Fix `json:"fixes"`

	Place Place `json:"-"` // of Line
	// what the artifacts show of it; nil where none were given
	Analysis *Analysis `json:"analysis,omitempty"`
}

// Analysis is what the analysis of the artifacts makes of a diagnosis.
type Analysis struct {
	Verdict string `json:"verdict"` // Confirmed, Contradicted or Undecided
	Why     string `json:"why"`     // one sentence
	// path in the artifact of who asked, or is at fault; "" where none was found
	Object  string   `json:"object"`
	Library string   `json:"library"` // SONAME of who has the symbol, or should have; "" unknown
	Targets []string `json:"targets"` // platforms on which it fails
	Rules   []string `json:"rules"`   // of the findings that say the same
}

// Verdicts of an Analysis.
const (
	Confirmed = "confirmed" // it fails so, on a platform that was judged
	// what was given does not fail so: the log is from another build or of another environment
	Contradicted = "contradicted"
	Undecided    = "undecided" // the artifacts don't tell
)

// Result is what a log says. Limit is "" when the whole log was looked at, else which bound ended
// it: later lines may say more.
type Result struct {
	Diagnoses []Diagnosis
	Lines     int
	Limit     string
	Sections  []Section // of a log of GitHub's
}
