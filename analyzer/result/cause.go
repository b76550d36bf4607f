package result

import "github.com/compat-app/compat/analyzer/fix"

// Actor is who has to act on a cause.
type Actor string

const (
	Builder   Actor = "builder"   // who builds or publishes the artifact
	Installer Actor = "installer" // who installs it: another version of a package, a system package
	System    Actor = "platform"  // who maintains the platform
	Upstream  Actor = "upstream"  // the author of another package
)

// Cause is what one person did or has to change, with the findings that come from it. Every error
// and warning of a report belongs to exactly one cause; notes belong to none.
type Cause struct {
	ID       string   `json:"id"`    // a slug, equal in every run
	Title    string   `json:"title"` // at most 120 characters, names demangled
	Severity Severity `json:"severity"`
	New      bool     `json:"new"` // a finding of it is not in the base
	Actor    Actor    `json:"actor"`
	Action   string   `json:"action"`   // who has to do what; one sentence
	Rules    []string `json:"rules"`    // of its findings, sorted
	Findings []int    `json:"findings"` // indexes into Report.Findings, ascending
	Artifact string   `json:"artifact"` // path of the first artifact it concerns
	Objects  int      `json:"objects"`  // how many its findings name
	Symbols  int      `json:"symbols"`
	Targets  []string `json:"targets"` // Target of its findings, sorted
	// Fails and Works are the platforms on which its findings occur and do not, by the names people
	// use ("Debian 11"); empty where they do not depend on the platform.
	Fails    []string   `json:"fails,omitempty"`
	Works    []string   `json:"works,omitempty"`
	Evidence []Evidence `json:"evidence"`
	Fixes    []CauseFix `json:"fixes"` // what clears all of it first
	// Together: no fix clears all of it, so several have to be applied. Otherwise the fixes are
	// alternatives.
	Together bool `json:"together,omitempty"`
}

// Evidence is a row of a cause's table: the symbols of one version or library that some objects
// need.
type Evidence struct {
	Version     string   `json:"version,omitempty"`
	Library     string   `json:"library,omitempty"`
	Symbols     []string `json:"symbols"` // the first few, demangled and without parameters
	MoreSymbols int      `json:"more_symbols,omitempty"`
	Objects     []string `json:"objects"` // the first few
	MoreObjects int      `json:"more_objects,omitempty"`
}

// CauseFix is a fix of a cause.
type CauseFix struct {
	fix.Fix
	Clears int `json:"clears"` // how many findings of the cause it removes
}

// Plan is the smallest known set of fixes that together leave no error.
type Plan struct {
	Fixes    []PlannedFix `json:"fixes"`
	Verified bool         `json:"verified"` // they were applied together, and only Leaves was left
	Leaves   []string     `json:"leaves"`   // causes, by ID, that no fix is known for
}

// PlannedFix is a fix of a plan, with the cause that it is for.
type PlannedFix struct {
	Cause string `json:"cause"`
	fix.Fix
}

// Outcome is what the exit code and the check run report, after --base, --fail-on and accepted
// findings.
type Outcome string

const (
	Pass   Outcome = "pass"
	Fail   Outcome = "fail"
	Failed Outcome = "error" // something could not be checked
)
