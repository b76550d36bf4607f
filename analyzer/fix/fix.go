// Package fix represents fixes of findings as values: what is shown (Fix), and what it changes
// in the checked environment (Change, applied to a Scenario), so that a fix can be verified
// before it is offered.
//
//	change := fix.Pin{Requirement: "nvidia-nvjitlink-cu12>=12.9"}
//	c := fix.Candidate{Fix: fix.Fix{Kind: fix.KindPin, …}, Change: change}
//	changed := c.Change.Apply(scenario)
//
// It executes nothing and knows no rules. Package trial verifies fixes.
package fix

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// Values of Fix.Kind.
const (
	KindPin         = "pin"          // require another version of a dependency
	KindLinkFlag    = "link-flag"    // link the users of the library with these flags
	KindPlatformTag = "platform-tag" // use another platform tag
	KindRebuild     = "rebuild"      // rebuild, with something else
	KindImage       = "image"        // build in another image
	KindSymver      = "symver"       // bind to an older version of the symbol
	KindPatchelf    = "patchelf"     // edit the built object
	KindDependency  = "dependency"   // declare a dependency that provides the library
	KindEnvironment = "environment"  // install something else in the environment
	KindSource      = "source"       // change the source
)

// Fix is a fix as it is shown. Verified is set if the fix was simulated, and its finding
// disappeared without a new one.
type Fix struct {
	Kind  string `json:"kind"`
	Title string `json:"title"` // imperative, one line
	// What to run or add; "" if there is nothing to copy.
	Command shellword.Line `json:"command"`
	// PEP 508, for pins and dependencies; otherwise "". Of a finding in an environment, whose files
	// pin versions, it admits all that help, and Title and Command have the one that was tried.
	Requirement string `json:"requirement"`
	Verified    bool   `json:"verified"`
	// Disadvantages: "pip cannot resolve this: numba==0.61 requires …, not 2026.0.0".
	Cost []string `json:"cost"`
	// Extra is the one of the wheel's own extras that requires Requirement, or in a cause several,
	// separated by ","; "" for other fixes.
	Extra string `json:"-"`
	// Last is set for a fix that comes after the others of its cause even if only this one can be
	// simulated: it needs other hardware, more work than they do, or every user to act.
	Last bool `json:"-"`
	// Retags are the changes of a fix that changes the tags of wheels. Command is made from them.
	Retags []Retagging `json:"-"`
	// Change is what was simulated, so that it can be combined with others; nil if the fix cannot
	// be simulated.
	Change Change `json:"-"`
}

// StringABI is the macro that selects the ABI of std::string in libstdc++.
const StringABI = "_GLIBCXX_USE_CXX11_ABI"

// ForStringABI reports whether a fix selects the ABI of std::string.
func (f Fix) ForStringABI() bool { return strings.Contains(string(f.Command), StringABI) }

// ConflictsWith is the prefix of a cost: a requirement that the fix violates.
const ConflictsWith = "pip cannot resolve this: "

// Conflicts reports whether an installer would reject the versions that the fix leads to.
func (f Fix) Conflicts() bool {
	return slices.ContainsFunc(f.Cost, func(s string) bool {
		return strings.HasPrefix(s, ConflictsWith)
	})
}

// Remain is the prefix of a cost of a fix in a plan: errors that are there with all its fixes.
const Remain = "with the fixes of all causes, errors remain"

// Candidate is a fix before it was tried. If Change and Search are nil, the fix cannot be
// simulated (a change of the source) and is offered as not verified.
type Candidate struct {
	Fix    Fix
	Change Change
	// Instead of a Change: the requirement is searched, and the fix created from it.
	Search *Search
}

// Search describes a search for the smallest change of a package's version that removes the
// finding.
type Search struct {
	Package string // normalized name
	From    string // the failing version
	// A quick check whether a version may help. Versions for which it returns true are tried.
	Good func(version string) bool
}
