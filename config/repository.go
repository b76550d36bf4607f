package config

import (
	"fmt"
	"slices"
)

// Path is the path of the configuration file in a repository.
const Path = ".github/compat.yml"

// Repository is the configuration of one repository. The zero value is the configuration of a
// repository without a file.
type Repository struct {
	// globs of artifact names; empty = every artifact that may contain binaries
	Artifacts []string
	// globs of names or paths of workflows whose artifacts are checked; empty = all
	Workflows []string
	Platforms []string          // to check against; empty = those that the artifacts claim
	Python    Python            // packages installed with the artifacts
	GPU       GPU               // accelerators that the artifacts are built for
	FailOn    string            // error, warning or never; "" = error
	Rules     map[string]string // rule ID -> error, warning, note or off
	Accept    []Accept          // findings that do not fail the check
	Comment   Comment           // when the summary comment is written
	Release   Release           // whether releases are checked
	ABI       ABI               // how shared libraries are compared with earlier builds
	// Environments are the environment files (requirements, lock files) to review.
	Environments Environments
	Impact       Impact
	// Documentation are globs of paths that do not affect any artifact, in addition to those that
	// compat recognizes by name.
	Documentation []string
}

// Impact configures what is reported about other repositories of the installation, which use the
// packages that this one builds.
type Impact struct {
	FailOn string // error: a repository that breaks fails the check; never; "" = never
	// Repositories are patterns of OWNER/NAME or NAME: those with which a repository that is not
	// public shares results although not all readers of one may see the other. Both have to name each
	// other.
	Repositories []string
}

// Environments selects the environment files to review. The zero value selects the files that
// compat recognizes by name.
type Environments struct {
	Off  bool          // review none
	List []Environment // review these; empty = those recognized by name
}

// Environment is an environment file with the Python version and platforms that it is for.
type Environment struct {
	File      string   // path in the repository
	Python    string   // "3.12"; "" = detected from the repository
	Platforms []string // empty = Repository.Platforms
}

// ABI configures the comparison of shared libraries with earlier builds.
type ABI struct {
	// Against contains AgainstBase, AgainstRelease, or paths of baseline files in the repository;
	// empty = AgainstBase.
	Against  []string
	Policy   string   // none, warn, break-on-patch or break-always; "" = depends on Against
	Headers  []string // globs of public headers; types declared elsewhere are private
	Private  []string // patterns of symbols, symbol versions and types that are not public
	Suppress []string // paths of .abignore files; empty = SuppressPath, if it exists
}

// Values of ABI.Against.
const (
	AgainstBase    = "base"         // the base branch; for a release, the previous release
	AgainstRelease = "last-release" // the newest release
)

// SuppressPath is the default file with ABI changes to ignore.
const SuppressPath = ".abignore"

// Base reports whether libraries are compared with the base branch.
func (a ABI) Base() bool { return len(a.Against) == 0 || slices.Contains(a.Against, AgainstBase) }

// Baselines returns the paths of baseline files in Against.
func (a ABI) Baselines() []string {
	return slices.DeleteFunc(slices.Clone(a.Against), func(s string) bool {
		return s == AgainstBase || s == AgainstRelease
	})
}

// Suppressions returns the paths of the .abignore files, and whether they must exist.
func (a ABI) Suppressions() (paths []string, required bool) {
	if len(a.Suppress) == 0 {
		return []string{SuppressPath}, false
	}
	return a.Suppress, true
}

// Python configures the packages that are installed with the artifacts.
type Python struct {
	// requirements such as "torch==2.7.0"; they replace those that the artifacts declare
	With []string
	At   []int    // line numbers of With, from 1
	Lock []string // paths of lock files in the repository
}

// GPU configures the accelerators that the artifacts are built for.
type GPU struct {
	Stack string   // cuda or rocm; "" = unknown
	Archs []string // sm_80, gfx90a, …
}

// Accept marks matching findings as accepted. An empty Rule, Symbol, Library or Object matches any;
// at least one is set.
type Accept struct {
	Rule    string
	Package string
	Symbol  string
	Library string // SONAME
	Object  string
	Because string // the reason; never empty
	Until   string // YYYY-MM-DD, the last day on which it applies; "" = no end
	Line    int    // in the configuration file
}

// Comment configures when the summary comment is written.
type Comment struct {
	Mode string // one of the constants below; "" = CommentOnChange
}

// Modes of the summary comment. All but CommentNever update an existing comment.
const (
	CommentNever     = "never"      // no summary comment and no review, only the check run
	CommentOnFailure = "on-failure" // created when the check fails
	CommentOnChange  = "on-change"  // created when the head has a new finding
	CommentAlways    = "always"     // created with the first verdict
)

// Release configures the check of releases.
type Release struct {
	Off bool // releases are not checked
}

// Problem is an error in a configuration file.
type Problem struct {
	Line    int    // from 1; at most the number of lines of the file
	Key     string // the path of the key, such as "python.wiht"; "" if the file could not be parsed
	Message string // what is wrong and what to do; one line
}

func (p Problem) String() string { return p.In(Path) }

// In is like String, for a file with another name.
func (p Problem) In(file string) string {
	if p.Key == "" {
		return fmt.Sprintf("%s:%d: %s", file, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", file, p.Line, p.Key, p.Message)
}
