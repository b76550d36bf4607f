package config

import (
	"fmt"
	"slices"
)

// Path is where a repository keeps its configuration.
const Path = ".github/compat.yml"

// Repository is a repository's own configuration. The zero value is that of a repository without a
// file.
type Repository struct {
	// globs of artifact names; empty = every artifact that may hold binaries
	Artifacts []string
	// globs of workflow names or paths whose artifacts count; empty = all
	Workflows []string
	Platforms []string          // targets; empty = what the artifacts claim
	Python    Python            // the packages beside the artifacts
	GPU       GPU               //
	FailOn    string            // error, warning or never; "" = error
	Rules     map[string]string // rule id -> error, warning, note or off
	Accept    []Accept          // findings that count for nothing
	Comment   Comment           //
	Release   Release           //
	ABI       ABI               // how shared libraries are compared with earlier builds
	// Environments are the files of pins that are reviewed.
	Environments Environments
	// Documentation are globs of paths that are no part of any artifact, beside those that are known
	// by their name.
	Documentation []string
}

// Environments says which files of pins are reviewed. The zero value: those that are known by name.
type Environments struct {
	Off  bool          // none
	List []Environment // these; empty: those that are known by name
}

// Environment is a file of pins, and where they are installed.
type Environment struct {
	File      string   // path in the repository
	Python    string   // "3.12"; "": found out from the repository
	Platforms []string // empty: those of the repository
}

// ABI says how shared libraries are compared with earlier builds.
type ABI struct {
	// Against is AgainstBase, AgainstRelease, or paths of files of the repository that describe a
	// library; empty = AgainstBase.
	Against  []string
	Policy   string   // none, warn, break-on-patch or break-always; "" = by what Against is
	Headers  []string // globs of public headers; types from elsewhere are private
	Private  []string // patterns of symbols, symbol versions and types that are not for programs
	Suppress []string // paths of .abignore files; empty = SuppressPath, if it exists
}

// Builds that libraries are compared with.
const (
	AgainstBase    = "base"         // the base branch; for a release the one before it
	AgainstRelease = "last-release" // the newest release
)

// SuppressPath is the usual file with changes of the ABI that are not reported.
const SuppressPath = ".abignore"

// Base reports whether libraries are compared with the base.
func (a ABI) Base() bool { return len(a.Against) == 0 || slices.Contains(a.Against, AgainstBase) }

// Baselines lists the files that describe an earlier build.
func (a ABI) Baselines() []string {
	return slices.DeleteFunc(slices.Clone(a.Against), func(s string) bool {
		return s == AgainstBase || s == AgainstRelease
	})
}

// Suppressions lists the .abignore files, and whether they have to exist.
func (a ABI) Suppressions() (paths []string, required bool) {
	if len(a.Suppress) == 0 {
		return []string{SuppressPath}, false
	}
	return a.Suppress, true
}

// Python says what is installed beside the artifacts.
type Python struct {
	With []string // requirements, as "torch==2.7.0"; they replace what the artifacts declare
	At   []int    // the lines of With, from 1
	Lock []string // paths of lock files in the repository
}

// GPU says which accelerators the artifacts are for.
type GPU struct {
	Stack string   // cuda or rocm; "" = not said
	Archs []string // sm_80, gfx90a, …
}

// Accept is a finding that somebody decided to live with. Empty Rule, Symbol or Object match any;
// at least one is set.
type Accept struct {
	Rule    string
	Symbol  string
	Object  string
	Because string // never empty
	Until   string // YYYY-MM-DD, the last day it counts; "" = for ever
}

// Comment says when the summary comment is written.
type Comment struct {
	Mode string // one of the constants below; "" = CommentOnChange
}

// Modes of the summary comment. One that is there is kept up to date in all of them but the first.
const (
	CommentNever     = "never"      // no summary comment, no review: the check run alone
	CommentOnFailure = "on-failure" // begun when the check fails
	CommentOnChange  = "on-change"  // begun when the head has a finding that the base doesn't have
	CommentAlways    = "always"     // begun with the first verdict
)

// Release says what is done about releases.
type Release struct {
	Off bool // releases are not checked
}

// Problem is one thing wrong with a configuration file.
type Problem struct {
	Line    int    // from 1; never behind the file's last line
	Key     string // the path of keys, as "python.wiht"; "" where the file could not be parsed
	Message string // what is wrong and what to do; one line
}

func (p Problem) String() string { return p.In(Path) }

// In is String with another name of the file.
func (p Problem) In(file string) string {
	if p.Key == "" {
		return fmt.Sprintf("%s:%d: %s", file, p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", file, p.Line, p.Key, p.Message)
}
