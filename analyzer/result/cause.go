package result

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// Actor is who has to act on a cause.
type Actor string

const (
	Builder Actor = "builder" // who builds or publishes the artifact
	// Whoever installs the artifact: another version of a package, a system package.
	Installer Actor = "installer"
	System    Actor = "platform" // whoever maintains the platform
	Upstream  Actor = "upstream" // the author of another package
)

// Cause is something that one person has to change, with the findings that it leads to. Every
// error and warning of a report belongs to exactly one cause, notes to none.
type Cause struct {
	ID       string   `json:"id"`     // a slug, the same in every run
	Title    string   `json:"title"`  // at most 120 characters, with demangled names
	Reason   string   `json:"reason"` // what is wrong in about five words, for tables
	Severity Severity `json:"severity"`
	Why      string   `json:"why,omitempty"` // a clause, why it has this severity; "" = not said
	New      bool     `json:"new"`           // the base does not have one of its findings
	Actor    Actor    `json:"actor"`
	// Action says who has to do what, and in a second sentence who is affected, if that is known.
	Action string `json:"action"`
	// Do is what has to be done, and Affected who is affected, as Action says them: "link it with
	// -lz", "macOS before 12.0". Do is "" if several have to act or the versions of an environment
	// are chosen, and Affected if nothing is said.
	Do       string `json:"do,omitempty"`
	Affected string `json:"affected,omitempty"`
	Ship     string `json:"ship"` // a sentence: may the artifact be shipped; "" = unknown
	// Only is what an error forbids to ship the artifact for: "Alpine 3.20", "use with torch 2.6.0";
	// "" = anything, or Ship does not forbid it.
	Only string `json:"only,omitempty"`
	// Unclaimed is set if Only names platforms that no tag of the wheel claims, so that pip does not
	// install it there.
	Unclaimed bool `json:"unclaimed,omitempty"`
	// Excluded is set if Only is the use with versions of other packages that the artifact does not
	// allow, so that pip does not install them together.
	Excluded bool `json:"excluded,omitempty"`
	// Undecided is set if it says that this is not known.
	Undecided bool     `json:"undecided,omitempty"`
	Rules     []string `json:"rules"` // rules of its findings, sorted
	// Covers is set if the findings of other rules than that of the title follow from what it says.
	Covers   bool   `json:"covers,omitempty"`
	Findings []int  `json:"findings"` // indexes into Report.Findings, ascending
	Artifact string `json:"artifact"` // path of its first artifact
	// File and Line are where the version of the package is pinned that has to change; "" and 0 for
	// artifacts that are not packages of a lock or requirements file.
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Objects int      `json:"objects"` // number of objects in its findings
	Symbols int      `json:"symbols"`
	Targets []string `json:"targets"` // Target of its findings, sorted
	// On are all targets on which its findings occur, sorted; nil if they are Targets.
	On []string `json:"on,omitempty"`
	// Fails are the platforms on which its findings occur, and Works those on which the artifact
	// works, with their usual names ("Debian 11"). Both are empty if the findings do not depend on
	// the platform; Works also if the artifact fails there for another cause.
	Fails    []string   `json:"fails,omitempty"`
	Works    []string   `json:"works,omitempty"`
	Evidence []Evidence `json:"evidence"`
	Fixes    []CauseFix `json:"fixes"` // those that remove all findings first
	// Reproduce is how to see it fail; nil if no message of a loader or of pip shows it.
	Reproduce *Reproduction `json:"reproduce,omitempty"`
	// Message is what a program prints that loads a library which pip does not install, without the
	// folders of the machine; "" if Reproduce has what is printed, or it is not known.
	Message string `json:"message,omitempty"`
	// Together is set if no fix removes all findings, so several are needed. Otherwise the fixes
	// are alternatives.
	Together bool `json:"together,omitempty"`
}

// Evidence is a row of a cause's table: the symbols of a version or library that some objects
// require.
type Evidence struct {
	Version     string   `json:"version,omitempty"`
	Library     string   `json:"library,omitempty"`
	Symbols     []string `json:"symbols"` // the first few, demangled and without parameters
	MoreSymbols int      `json:"more_symbols,omitempty"`
	Objects     []string `json:"objects"` // the first few
	MoreObjects int      `json:"more_objects,omitempty"`
}

// Reproduction is how to see a cause fail.
type Reproduction struct {
	System string `json:"system"` // with which it was described: "Debian 11"
	// Container runs it in a container, in the folder of the artifact; "" if no image is known.
	Container shellword.Line `json:"container,omitempty"`
	// Venv runs it in a virtual environment, on the system.
	Venv shellword.Line `json:"venv"`
	// Message is what the loader or pip prints, without the folders of the machine.
	Message string `json:"message"`
}

// CauseFix is a fix of a cause.
type CauseFix struct {
	fix.Fix
	Clears int `json:"clears"` // number of findings of the cause that it removes
	// NextBuild is a sentence: what the build of the wheel needs so that the next one is right without
	// the fix; "" if the title or the cost says it.
	NextBuild string `json:"next_build,omitempty"`
	// NextCommand is the command that NextBuild contains, for the wheels that the build writes to
	// dist; "" if it contains none.
	NextCommand shellword.Line `json:"next_command,omitempty"`
}

// NewBuild reports whether a wheel has to be built again, in another way, because of the cause:
// what is changed in the present file is lost then. The command of such a fix does not name a
// wheel.
func (c *Cause) NewBuild() bool {
	if c.Severity != Error || !c.OfBuilder() || c.Unclaimed || len(c.Fixes) == 0 {
		return false
	}
	x := c.Fixes[0]
	return !x.Verified && !strings.Contains(string(x.Command), ".whl") && slices.Contains([]fix.Kind{
		fix.KindRebuild, fix.KindImage, fix.KindLinkFlag, fix.KindSource, fix.KindSymver,
	}, x.Kind)
}

// AnotherWheel reports whether the builder has to publish one more wheel, for a platform that the
// present one does not claim.
func (c *Cause) AnotherWheel() bool {
	return c.Actor == Builder && c.Unclaimed &&
		(len(c.Fixes) == 0 || c.Fixes[0].Kind != fix.KindPlatformTag)
}

// EditsFile reports whether the first fix of the cause changes the present file of a wheel, and not
// also its sources.
func (c *Cause) EditsFile() bool {
	return c.OfBuilder() && len(c.Fixes) > 0 &&
		(c.Fixes[0].Kind == fix.KindPlatformTag || c.Fixes[0].Kind == fix.KindPatchelf)
}

// ArtifactsOf returns the artifacts with findings of a cause, first the one that it names.
func (r *Report) ArtifactsOf(c *Cause) []string {
	paths := []string{c.Artifact}
	seen := map[string]bool{c.Artifact: true}
	for _, i := range c.Findings {
		if i >= len(r.Findings) { // a page has only the first
			break
		}
		if p := r.Findings[i].Artifact; !seen[p] {
			seen[p] = true
			paths = append(paths, p)
		}
	}
	return paths
}

// Replaces reports whether the wheels of a cause have to be built again, so that what the first fix
// of another cause changes in the present files is lost. That is so if all artifacts of the other
// one are built again. A build for problems that the base has too is no reason to wait with the fix
// of a new one.
func (r *Report) Replaces(build, edit *Cause) bool {
	if !edit.EditsFile() || !build.NewBuild() || edit.New && !build.New {
		return false
	}
	built := r.ArtifactsOf(build)
	return !slices.ContainsFunc(r.ArtifactsOf(edit), func(a string) bool {
		return !slices.Contains(built, a)
	})
}

// ForUsers reports whether a fix of the cause is what users can do until the builder of a wheel has
// fixed it. It is no alternative to what the builder does.
func (c *Cause) ForUsers(x CauseFix) bool {
	return c.OfBuilder() && !c.Together && x.Kind == fix.KindEnvironment
}

// OfBuilder reports whether the builder of a wheel has to act.
func (c *Cause) OfBuilder() bool {
	return c.Actor == Builder && strings.HasSuffix(c.Artifact, ".whl")
}

// Corrects reports whether a cause is removed in the pull request that a report is about, so that
// its author corrects the build.
func (r *Report) Corrects(c *Cause) bool {
	return r.PullRequest && c.Actor == Builder && !c.AnotherWheel()
}

// OfPullRequest says that the artifacts were built for a pull request. A change of how the build
// links then comes before an edit of what was built, which has to be repeated after each build.
func (r *Report) OfPullRequest() {
	r.PullRequest = true
	for i := range r.Causes {
		c := &r.Causes[i]
		if !r.Corrects(c) || c.Together || len(c.Fixes) == 0 || c.Fixes[0].Kind != fix.KindPatchelf {
			continue
		}
		at := slices.IndexFunc(c.Fixes, func(x CauseFix) bool {
			return x.Kind == fix.KindLinkFlag && x.Clears == c.Fixes[0].Clears
		})
		if at > 0 {
			link := c.Fixes[at]
			c.Fixes = slices.Insert(slices.Delete(slices.Clone(c.Fixes), at, at+1), 0, link)
		}
	}
}

// Plan is the smallest known set of fixes that together remove all errors.
type Plan struct {
	Fixes []PlannedFix `json:"fixes"`
	// They were applied together, and only Leaves remained.
	Verified bool     `json:"verified"`
	Leaves   []string `json:"leaves"` // IDs of causes without a known fix
	// Command applies the fixes to the files and checks the result, also those of warnings; "" if no
	// fix can be applied to a file, or if the command of a fix does that.
	Command shellword.Line `json:"command,omitempty"`
	Tried   []string       `json:"tried,omitempty"` // IDs of the causes that Command removes
	// Save downloads the artifacts that commands name and that are no files yet; "" if all are files.
	Save shellword.Line `json:"save,omitempty"`
}

// PlannedFix is a fix in a plan, and its cause.
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
