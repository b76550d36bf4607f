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

// Fix is a fix as it is shown. Verified is set if the fix was simulated, and its finding
// disappeared without a new one.
type Fix struct {
	Kind  Kind  `json:"kind"`
	Title Title `json:"title"`
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
	// System are the packages of the system that the fix installs; nil for other fixes. Command is
	// made from them.
	System *SystemPackages `json:"-"`
	// Bundling is how libraries are copied into the wheel; nil for other fixes. Command is made from
	// it.
	Bundling *Bundling `json:"-"`
	// Required is set for a fix that installs the version that the artifact requires instead of the
	// one that was specified.
	Required bool `json:"-"`
	// Change is what was simulated, so that it can be combined with others; nil if the fix cannot
	// be simulated.
	Change Change `json:"-"`
}

// NextBuild begins the sentence that says what the build of a wheel needs; see
// result.CauseFix.NextBuild.
const NextBuild = "For the next build, "

// Same reports whether a fix is shown like another one: it is the same fix of another cause.
func (f Fix) Same(other Fix) bool {
	return f.Title.Equal(other.Title) && f.Command == other.Command
}

// Requirements returns the requirements that a fix changes or adds, in its order; nil if it changes
// none.
func (f Fix) Requirements() []string {
	if out := requirements(f.Change); len(out) > 0 || f.Requirement == "" {
		return out
	}
	return []string{f.Requirement}
}

// requirements returns those that a change changes or adds.
func requirements(change Change) (out []string) {
	switch c := change.(type) {
	case Pin:
		if c.Implied {
			return nil
		}
		return []string{c.Requirement}
	case AsRequired:
		return c.Pins
	case Releases:
		return c
	case All:
		for _, one := range c {
			out = append(out, requirements(one)...)
		}
	}
	return out
}

// ShowsCommand reports whether the title contains the command, so that it is not repeated.
func (f Fix) ShowsCommand() bool { return strings.Contains(f.Title.text, string(f.Command)) }

// SystemPackages are packages of the system with the command that installs them.
type SystemPackages struct {
	With  shellword.Line // "apt-get install"
	Names []string
}

// Commands that install packages.
const (
	Apt      shellword.Line = "apt-get install"
	Homebrew shellword.Line = "brew install"
	Conda    shellword.Line = "conda install -c conda-forge"
)

// Command returns the command that installs the packages.
func (p SystemPackages) Command() shellword.Line { return p.With + " " + shellword.Quoted(p.Names) }

// NeedsRoot reports whether the command needs administrator rights.
func (p SystemPackages) NeedsRoot() bool { return p.With != Homebrew && p.With != Conda }

// Install returns a fix that installs packages of the system.
func Install(title Title, packages SystemPackages) Fix {
	return Fix{
		Kind: KindEnvironment, Title: title, System: &packages,
		Command: packages.Command(),
	}
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
