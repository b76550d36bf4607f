package result

import (
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
)

// Severity is the severity of a finding.
type Severity string

const (
	// Does not work on a target that the artifact's tags or the user name.
	Error Severity = "error"
	// Works only if something is installed that the target does not guarantee.
	Warning Severity = "warning"
	Note    Severity = "note" // worth knowing
	Off     Severity = "off"  // only in the configuration: the rule is disabled
)

// Rank returns 3 for Error, 2 for Warning, 1 for Note, and 0 for others.
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

// Finding is something that does not or may not work. Findings of base and head are the same if
// their Identity is equal.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	New      bool     `json:"new"` // the base does not have it; true without a base
	// The first target on which it occurs; On has all of them.
	Target   string `json:"target"`
	Artifact string `json:"artifact"` // path of the Artifact
	// The path in the artifact, or the name of a single file. Of a finding about an environment it is
	// the name of a package if no file is the problem.
	Object    string `json:"object"`
	Symbol    string `json:"symbol"`
	Demangled string `json:"demangled"` // "" if Symbol is not mangled
	// A symbol version. Of a finding about an environment it is the Requirement or InstalledFor.
	Version string `json:"version"`
	Library string `json:"library"` // SONAME
	Message string `json:"message"` // a sentence: what, where, why
	// From the object to the library, each needed by the one before.
	Chain []string `json:"chain"`
	// A library that defines the symbol and is not loaded; null if none is known.
	ProvidedBy *string   `json:"provided_by"`
	Fixes      []fix.Fix `json:"fixes"`
	// The versions between which it starts or ends; null if it occurs at both ends, or no range was
	// declared.
	Range *Range `json:"range,omitempty"`
	// Normalized name of the package that contains the object, or of the dependency that causes the
	// finding.
	Package string `json:"package,omitempty"`

	// Against are the earlier builds in which an ABI change was found. Source is the declaration of
	// the changed type or symbol, as FILE:LINE, if known.
	Against []string `json:"against,omitempty"`
	Source  string   `json:"source,omitempty"`

	// Why is a clause, why it has this severity and not another one; "" if the rule has only one, or
	// the message says it.
	Why string `json:"-"`
	// Headline is the first sentence of Message, without a period; "" if Message is one sentence, and
	// no cause is titled by it.
	Headline string `json:"-"`
	// Shorter are shorter forms of Headline, the longest first.
	Shorter []string `json:"-"`
	// Reason is the part of Headline that findings about other objects or targets have too: "its tag
	// is manylinux_2_34". "" for rules whose causes are not titled by it.
	Reason string `json:"-"`
	// BuiltWith is the series of Package that the object was built against, and FailsWith the one
	// that it does not work with ("NumPy 1", "NumPy 2"); "" if something is missing in Package.
	BuiltWith string `json:"-"`
	FailsWith string `json:"-"`

	// RequiredBy is the package whose Requirement, as NAMESPEC, another one does not satisfy or is
	// not installed for: Package; "" for other findings.
	RequiredBy  string `json:"-"`
	Requirement string `json:"-"`
	// InstalledFor is what all files of an installed package are for, where the interpreter does not
	// load them ("aarch64", "Python 3.12"); "" for other findings.
	InstalledFor string `json:"-"`
	// NoWheelFor is what a pinned version has no wheel for ("musl", "Python 3.13"); "" for other
	// findings, and if it is not one property of the environment.
	NoWheelFor string `json:"-"`
	// OnlyAt is the end of the declared ranges at which it occurs, if it is not known of which package
	// (Range is nil then); "" if it occurs at both.
	OnlyAt packages.End `json:"only_at,omitempty"`
	// On lists all targets on which it occurs.
	On []string `json:"-"`
	// Raises is the exception that Python raises when Object is imported, "ValueError: …"; "" for a
	// message of a loader, and if it is not known.
	Raises string `json:"-"`
	// Type is the type of another package that Object was built with, as Raises names it; "" for a
	// finding that is not about one.
	Type string `json:"-"`
	// NoVersion is set if Library has no symbol of Version: then the loader reports the version.
	NoVersion bool `json:"-"`
	// Program is set if Object is a program, which Python does not load.
	Program bool `json:"-"`
	// Module is the module that loads Object when Python imports it: Object, or one that needs it; ""
	// if Object is opened in another way, as with ctypes. It is nil if that is not known.
	Module *string `json:"-"`
	// RevealedBy is the requirement of the fix with which it occurs, because the fix provides a
	// missing library; "" for findings that occur without a fix.
	RevealedBy string `json:"-"`
	// OtherPackage is set if it is about a file of another package that is loaded with the
	// artifact.
	OtherPackage bool `json:"-"`
	// Optional is set if importing the package works without Object: its sources handle that it cannot
	// be loaded.
	Optional bool `json:"-"`
	// OnlyWith is the hardware without which Object is not loaded: "an Intel GPU"; "" for none.
	OnlyWith string `json:"-"`
	// System is set if the target is an unpacked system, of which all files are known.
	System bool `json:"-"`
	// NotExported is a library that the object links and that has the symbol, if Library is the same,
	// or may have it, but does not export it; "" for none.
	NotExported string `json:"-"`
	// LackedBy is the release of a package, installed with the object, that has another version of
	// Library, or that should have it ("cmeel-boost==1.83.0"); "" for none.
	LackedBy string `json:"-"`
	// Shown is set for a note that text reports show without --verbose too.
	Shown bool `json:"-"`
	// Unknown is set if a package that could not be looked up may provide what is missing.
	Unknown bool `json:"-"`
	// Unreached is set if it is not decided whether Library, to which no search path of the object
	// leads, is loaded before.
	Unreached bool `json:"-"`
	// Stops is set if the package of Object imports it in any case, and its import fails. Then no
	// other module of the package is imported.
	Stops bool `json:"-"`
}

// End returns the end of the declared ranges at which the finding occurs; "" if it occurs at both,
// or there are no ranges.
func (f *Finding) End() packages.End {
	if f.Range != nil {
		return f.Range.Fails
	}
	return f.OnlyAt
}

// Identity is equal for findings of the same problem in two builds. It does not include the
// artifact's file name, which contains a version.
func (f *Finding) Identity() string {
	return f.Rule + "\x00" + f.Object + "\x00" + f.Symbol + "\x00" + f.Version + "\x00" + f.Library
}

// Range is the part of a declared version range in which a finding occurs, if it occurs at only
// one end of the range. It is found by bisection, so it is correct if the finding appears or
// disappears once.
type Range struct {
	Package string `json:"package"`
	// As declared; only the name if another package requires it.
	Requirement string       `json:"requirement"`
	Lowest      string       `json:"lowest"` // an existing version
	Highest     string       `json:"highest"`
	Fails       packages.End `json:"fails"` // the end at which the finding occurs
	// The last version with the result of the lowest.
	Before string `json:"before"`
	// The first version with the result of the highest.
	First string `json:"first"`
}

// String returns the last sentence of the finding's message.
func (r *Range) String() string {
	low := r.Lowest + " to " + r.Before
	if r.Lowest == r.Before {
		low = r.Lowest
	}
	fails, works := r.First+" and later", low
	if r.Fails == packages.Lowest {
		fails, works = works, fails
	}
	text := ". The declared requirement " + r.Requirement + " is too wide"
	if r.Requirement == r.Package {
		text = ". No declared requirement limits the version of " + r.Package
	}
	return text + ": this problem occurs with " + fails + ", but not with " + works
}
