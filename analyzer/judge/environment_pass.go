package judge

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
	"github.com/compat-app/compat/internal/shellword"
)

// EnvironmentPass is the input of the rules about an environment: packages that are installed
// together. Of an artifact that is checked alone it has only the pins that no installer accepts.
type EnvironmentPass struct {
	On        packages.Target    // the interpreter and the libc
	Libc      *platform.Platform // the oldest of its systems with glibc; nil if none is
	With      []string           // all packages, as NAME==VERSION
	Pins      map[string]cause.Pin
	Artifacts []*facts.Artifact // those that were read
	Listed    []result.Artifact // those that were not, because they have no native code
	Unread    []result.Unread   // packages that could not be looked up
	Installed bool              // the packages are in a folder, not on an index
	Complete  bool              // With has all packages that the interpreter finds
	// Changed reports whether an object of a wheel is not the file that was installed; nil if this is
	// not known.
	Changed func(wheel, object string) bool
	Unmet   []Unmet
	NoWheel []NoWheel
	Broken  []Broken
	Conda   []CondaPackage // all of the environment
	// Targets adds the platforms of the environment to the report and returns their names.
	Targets func() []string

	ctx    context.Context
	source packages.Source // nil without one
	report *result.Report
	rule   *Rule
	limit
}

// NoWheel is a pinned version without a wheel for the environment.
type NoWheel struct {
	Package, Version string
	// Reason is a sentence without a period: "numpy==1.26.4 has no wheel for Python 3.13". Detail
	// says more: "there are wheels for Python 3.12"; it may be "".
	Reason, Detail string
	At             Origin // place of the pin
	// Source is set if an installer would build it from the source archive.
	Source bool
	// Others are the versions with a wheel for the environment, the closest first.
	Others []string
	// Python is an interpreter for which the version has a wheel; "" if another one does not help.
	Python string
	// Hash means that there is a wheel, but not with a hash that the file has. Then Renew is the
	// command that writes the hashes again; "" if the lines have to be edited.
	Hash  bool
	Renew shellword.Line
	// For is what there is no wheel for, if that is one property of the environment: "musl",
	// "Python 3.13".
	For string
	// Artifact is the path of the artifact that is checked with the pin, and On the platforms; "" and
	// nil in an environment.
	Artifact string   `json:"-"`
	On       []string `json:"-"`
}

// ID returns NAME==VERSION, or NAME.
func (w NoWheel) ID() string {
	if w.Version == "" {
		return w.Package
	}
	return w.Package + "==" + w.Version
}

// Broken is an installed package whose files are not those that the interpreter needs.
type Broken struct {
	Package, Version string
	File             string // name of its wheel in the report
	Object           string // a file of it, or its name
	Reason           string // a sentence without a period
	// For is what all of its files are installed for, such as "aarch64" or "Python 3.12"; "" if it
	// has others.
	For string
	// But is the end of Reason, if that says what all of its files are installed for: "this Python is
	// for x86_64".
	But      string
	Optional bool   // it may work
	Remove   string // the folder to remove; "" = it has to be installed again
	Conda    bool   // conda may have installed it
	At       Origin
}

// CondaPackage is an installed conda package.
type CondaPackage struct {
	Name, Version string
	Build         string // "" if pip has replaced the package by another version
	// Depends are dependencies of the index, and its constraints on packages that need not be
	// installed.
	Depends []string
	ID      string // NAME-VERSION-BUILD
	File    string // its file in conda-meta, relative to the root of the system
}

// Run runs the rules about environments, and adds their findings to a report. source may be nil.
func (p *EnvironmentPass) Run(
	ctx context.Context,
	rules []*Rule,
	source packages.Source,
	report *result.Report,
) {
	p.ctx, p.source, p.report = ctx, source, report
	for _, rule := range rules {
		if rule.Environment == nil {
			continue
		}
		p.rule, p.limit = rule, limit{}
		rule.Environment(p)
		if p.dropped {
			report.AddNote(moreFindings("the environment", rule.ID))
		}
	}
}

// Report adds a finding, unless there is no Room for it. It fills in the rule, the severity (unless
// set) and, unless On is set, the first target of the report. In JSON, object and version are what
// identifies the finding: that of a package which requires another one, or cannot be installed, has
// the package and the requirement.
func (p *EnvironmentPass) Report(f result.Finding, fixes ...fix.Fix) {
	f.Object = cmp.Or(f.Object, f.RequiredBy, f.Package)
	f.Version = cmp.Or(f.Version, f.Requirement, f.InstalledFor)
	if !p.Room(f.Object) {
		return
	}
	p.add(f.Object)
	f.Rule, f.New, f.Fixes = p.rule.ID, true, append([]fix.Fix{}, fixes...)
	f.Severity = cmp.Or(f.Severity, p.rule.Severity)
	if targets := p.report.Targets; f.On == nil && len(targets) > 0 {
		f.On = []string{targets[0].Name}
	}
	if len(f.On) > 0 {
		f.Target = f.On[0]
	}
	p.report.Findings = append(p.report.Findings, f)
}

// Reported returns the findings of the report so far.
func (p *EnvironmentPass) Reported() []result.Finding { return p.report.Findings }

// AllArtifacts returns the artifacts of the report, which may have several environments.
func (p *EnvironmentPass) AllArtifacts() []result.Artifact { return p.report.Artifacts }

// Artifact returns the path of the first wheel of a package in the report; "" without one.
func (p *EnvironmentPass) Artifact(name string) string {
	name = pkgmeta.Normalize(name)
	i := slices.IndexFunc(p.report.Artifacts, func(a result.Artifact) bool {
		return a.Wheel != nil && pkgmeta.Normalize(a.Wheel.Name) == name
	})
	if i < 0 {
		return ""
	}
	return p.report.Artifacts[i].Path
}

// ID returns the ID of the rule.
func (p *EnvironmentPass) ID() string { return p.rule.ID }

// Context ends when the check does.
func (p *EnvironmentPass) Context() context.Context { return p.ctx }

// CouldNotRead adds a file that could not be read.
func (p *EnvironmentPass) CouldNotRead(path, reason string) {
	p.report.AddUnread(result.Unread{Path: path, Reason: reason})
}

// Versions returns the versions of a package for a target. known is false if it is not known.
func (p *EnvironmentPass) Versions(name string, on packages.Target) (list []string, known bool) {
	if p.source == nil {
		return nil, false
	}
	list, err := p.source.Versions(p.ctx, name, on)
	return list, err == nil
}

// Release returns a release for a target, or nil if it is not known.
func (p *EnvironmentPass) Release(name, version string, on packages.Target) *packages.Release {
	if p.source == nil {
		return nil
	}
	r, err := p.source.Release(p.ctx, name, version, on)
	if err != nil {
		return nil
	}
	return r
}

// moreFindings is the note about findings that are not listed.
func moreFindings(of, rule string) string {
	return fmt.Sprintf(
		"%s: %s has more findings than are listed (at most %d for an object, %d in all)",
		of, rule, MaxFindings, maxOfRule)
}
