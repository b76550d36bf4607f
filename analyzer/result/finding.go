package result

import (
	"fmt"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

// Severity orders findings.
type Severity string

const (
	// cannot work on a target that the artifact claims or that was asked for
	Error Severity = "error"
	// works only where something is present that the target does not promise
	Warning Severity = "warning"
	Note    Severity = "note" // worth knowing
	Off     Severity = "off"  // only in configuration: the rule is silent
)

// Rank orders severities: 3 for Error, 2 for Warning, 1 for Note, 0 for others.
func (s Severity) Rank() int {
	switch s {
	case Error:
		return 3
	case Warning:
		return 2
	case Note:
		return 1
	}
	return 0
}

// Finding is one thing that does not work, or may not. Two findings (of base and head) are the same
// when Identity is equal.
type Finding struct {
	Rule      string   `json:"rule"`
	Severity  Severity `json:"severity"`
	New       bool     `json:"new"`      // not in the base; true where there is no base
	Target    string   `json:"target"`   // the first target it shows on; On has all of them
	Artifact  string   `json:"artifact"` // path of its Artifact
	Object    string   `json:"object"`   // path inside the artifact; of a loose file its name
	Symbol    string   `json:"symbol"`
	Demangled string   `json:"demangled"` // "" where Symbol is not mangled
	Version   string   `json:"version"`
	Library   string   `json:"library"` // SONAME
	Message   string   `json:"message"` // what, where, why; one sentence
	Chain     []string `json:"chain"`   // who needs whom, from the object to the library
	// a library that defines the symbol and is not loaded; null where none is known
	ProvidedBy *string   `json:"provided_by"`
	Fixes      []fix.Fix `json:"fixes"`
	// where in a range of versions it begins or ends; null where both ends show it, or none was
	// declared
	Range *Range `json:"range,omitempty"`
	// normalised name of the package whose wheel holds the object, or of the dependency at fault
	Package string `json:"package,omitempty"`

	// Against names the earlier builds that a change of the ABI was found against; Source is the
	// place where the changed type or symbol is declared, as FILE:LINE, if it is known.
	Against []string `json:"against,omitempty"`
	Source  string   `json:"source,omitempty"`

	// On lists every target it shows on.
	On []string `json:"-"`
	// Behind is the requirement of the fix with which it shows, because the fix brings a library that
	// the object lacked; "" for findings that show without a fix.
	Behind string `json:"-"`
	// OtherPackage: it is about a file of another package that is loaded with the artifact's.
	OtherPackage bool `json:"-"`
}

// Identity is equal for findings of the same problem in two builds: it leaves out the artifact's
// file name, which contains a version.
func (f *Finding) Identity() string {
	return f.Rule + "\x00" + f.Object + "\x00" + f.Symbol + "\x00" + f.Version + "\x00" + f.Library
}

// Range is where in the declared range of a package's versions a finding begins or ends, when it
// occurs at one end of the range and not at the other. The versions between are bisected, so it is
// right as far as the finding changes once.
type Range struct {
	Package string `json:"package"`
	// as declared; the name alone where only another package requires it
	Requirement string       `json:"requirement"`
	Lowest      string       `json:"lowest"` // version that exists
	Highest     string       `json:"highest"`
	Fails       packages.End `json:"fails"`  // the end at which the finding occurs
	Before      string       `json:"before"` // the last version that behaves like the lowest
	First       string       `json:"first"`  // the first version that behaves like the highest
}

// String ends a finding's message.
func (r *Range) String() string {
	with, without := r.First+" and later", r.Before+" and earlier"
	if r.Fails == packages.Lowest {
		with, without = without, with
	}
	return fmt.Sprintf(". %s allows %s, which fail; %s work", r.Requirement, with, without)
}
