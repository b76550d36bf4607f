package analyzer

import (
	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Schema names the shape of the JSON that Report marshals to.
const Schema = "compat/report/v1"

// Verdict sums up a report or a target.
type Verdict string

const (
	Compatible   Verdict = "compatible"   // nothing at or above the failing severity, nothing unread
	Incompatible Verdict = "incompatible" // a finding of severity error
	Unchecked    Verdict = "unchecked"    // something that should have been judged could not be
)

// Severity orders findings.
type Severity string

const (
	Error   Severity = "error"   // cannot work on a target that the artifact claims or that was asked for
	Warning Severity = "warning" // works only where something is present that the target does not promise
	Note    Severity = "note"    // worth knowing
	Off     Severity = "off"     // only in configuration: the rule is silent
)

// Report is what one analysis found. It marshals to the stable JSON of docs/report.schema.json.
type Report struct {
	Schema    string     `json:"schema"`
	Tool      Tool       `json:"tool"`
	Verdict   Verdict    `json:"verdict"`
	Targets   []Target   `json:"targets"`
	Artifacts []Artifact `json:"artifacts"`
	Findings  []Finding  `json:"findings"` // worst first, then by artifact, object, symbol
	Unread    []Unread   `json:"unread"`
	Skipped   []Unread   `json:"skipped"`
	Accepted  []Accepted `json:"accepted,omitempty"` // findings that the configuration accepts; they count for nothing
	Notes     []string   `json:"notes,omitempty"`    // what could not be looked up, and how to make it possible, and what of the packages that were given does not fit together; one sentence each
}

// NewReport is an empty report, with the lists that JSON shows.
func NewReport(version string) *Report {
	r := &Report{Schema: Schema, Tool: Tool{Version: version}, Verdict: Compatible}
	r.full()
	return r
}

// Tool says which compat made a report.
type Tool struct {
	Version string `json:"version"`
}

// Target is a platform with the packages beside it for which the artifacts were judged.
type Target struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	With    []string `json:"with,omitempty"` // the packages beside it, as NAME==VERSION
}

// Artifact is one thing that was judged: a wheel, an archive of loose files, a loose file.
type Artifact struct {
	Path    string `json:"path"`   // as given; a member of an archive as "outer.zip/inner.whl"
	SHA256  string `json:"sha256"` // of its bytes, hex
	Kind    string `json:"kind"`   // wheel, archive or object
	Objects int    `json:"objects"`
	Wheel   *Wheel `json:"wheel,omitempty"`
}

// Wheel is what a wheel says of itself.
type Wheel struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Tags     []string `json:"tags"` // expanded, python-abi-platform
	Requires []string `json:"requires,omitempty"`
	// Policy is auditwheel's verdict, and ABI3 abi3audit's; null for a wheel without an abi3 tag.
	// What those do not see is a finding.
	Policy *wheelpolicy.Policy `json:"policy"`
	ABI3   *abi3.Result        `json:"abi3"`
}

// Finding is one thing that does not work, or may not. Two findings are the same thing (in base and
// head) when Identity is equal.
type Finding struct {
	Rule       string    `json:"rule"`
	Severity   Severity  `json:"severity"`
	New        bool      `json:"new"`      // not in the base; true where there is no base
	Target     string    `json:"target"`   // the first target it shows on; the message names the others
	Artifact   string    `json:"artifact"` // path of its Artifact
	Object     string    `json:"object"`   // path inside the artifact; of a loose file its name
	Symbol     string    `json:"symbol"`
	Demangled  string    `json:"demangled"` // "" where Symbol is not mangled
	Version    string    `json:"version"`
	Library    string    `json:"library"`     // SONAME
	Message    string    `json:"message"`     // what, where, why; one sentence
	Chain      []string  `json:"chain"`       // who needs whom, from the object to the library
	ProvidedBy *string   `json:"provided_by"` // who has the symbol without being part of the load; null where nobody is known
	Fixes      []fix.Fix `json:"fixes"`
	on         []string  // every target it shows on
	besides    bool      // it is about a file of another package that is loaded with the artifact's
	Range      *Range    `json:"range,omitempty"`   // where in a range of versions it begins or ends; null where both ends show it, or none was declared
	Package    string    `json:"package,omitempty"` // normalised name of the package whose wheel holds the object, or of the dependency at fault
}

// Besides marks a finding about a file of another package that is loaded with the artifact's.
func (f *Finding) Besides() { f.besides = true }

// Identity tells whether two findings are the same one: it leaves out the artifact's file name,
// which carries a version.
func (f *Finding) Identity() string {
	return f.Rule + "\x00" + f.Object + "\x00" + f.Symbol + "\x00" + f.Version + "\x00" + f.Library
}

// Files counts the files that some are about: one may be there for several reasons.
func Files(us []Unread) int {
	paths := map[string]bool{}
	for _, u := range us {
		paths[u.Path] = true
	}
	return len(paths)
}

// Accepted is a finding that the configuration accepts, and why.
type Accepted struct {
	Finding Finding `json:"finding"`
	Because string  `json:"because"`
	Until   string  `json:"until,omitempty"` // YYYY-MM-DD, the last day
	By      string  `json:"by,omitempty"`    // who accepted it by a command; "" for the configuration file
}
