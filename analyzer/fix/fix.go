// Package fix holds ways out of findings as values: what is shown (Fix), and what it changes in the
// analyzed world (Change, applied to a Scenario), so that the analysis can be run again before a
// fix is offered.
//
//	c := fix.Candidate{Fix: fix.Fix{Kind: fix.KindPin, …}, Change: fix.Pin{Requirement: "nvidia-nvjitlink-cu12>=12.9"}}
//	again := c.Change.Apply(scenario)
//
// It runs nothing and knows no rule; the analyzer verifies.
package fix

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/shellword"
)

// Kinds of fixes.
const (
	KindPin         = "pin"          // ask for another version of a dependency
	KindLinkFlag    = "link-flag"    // link a user of the library with these flags
	KindPlatformTag = "platform-tag" // claim another platform
	KindRebuild     = "rebuild"      // build again, against something else
	KindImage       = "image"        // build in another image
	KindSymver      = "symver"       // bind to an older version of the same symbol
	KindPatchelf    = "patchelf"     // edit the finished object
	KindDependency  = "dependency"   // declare a dependency that brings the library
	KindEnvironment = "environment"  // install something else beside it
	KindSource      = "source"       // change the source
)

// Fix is one way out of a finding, as it is shown. What can be applied to the analyzed environment
// was: Verified is set when its finding disappeared and no new one came.
type Fix struct {
	Kind  string `json:"kind"`
	Title string `json:"title"` // imperative, one line
	// what to type or to add; "" where there is nothing to copy
	Command shellword.Line `json:"command"`
	// PEP 508, for pins and dependencies; "" for others
	Requirement string `json:"requirement"`
	Verified    bool   `json:"verified"`
	// what it costs: "conflicts with torch==2.7.0, which pins …"
	Cost []string `json:"cost"`
	// Change is the edit that was tried, so that it can be tried with others; nil where the model
	// can't apply the fix.
	Change Change `json:"-"`
}

// ConflictsWith begins a cost: a requirement that is not met with the fix.
const ConflictsWith = "conflicts with "

// Conflicts reports whether an installer rejects the versions that are left with the fix.
func (f Fix) Conflicts() bool {
	return slices.ContainsFunc(f.Cost, func(s string) bool {
		return strings.HasPrefix(s, ConflictsWith)
	})
}

// Candidate is a fix before it was tried. A nil Change can't be applied in the model (change the
// source): the fix is offered as unverified.
type Candidate struct {
	Fix    Fix
	Change Change
	Search *Search // instead of a Change: the analyzer finds the requirement, and writes the fix
}

// Search asks for the smallest change of one package's version that removes the finding.
type Search struct {
	Package string // normalised
	From    string // the version that is at fault
	// a quick look whether a version can help; what it lets through is tried
	Good func(version string) bool
}
