package judge

import (
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Pass is what one rule sees of one artifact on one platform with one set of packages.
type Pass struct {
	Facts     *facts.Artifact
	Platform  *platform.Platform
	Packages  *packages.Set
	Views     []*View
	Windows   *WindowsLoad // of a platform with Windows, else nil
	MacOS     *MacOSLoad   // of a macOS platform, which has no Views; else nil
	Scenario  fix.Scenario
	Requested bool // the user named the platform
	// Trial: a fix is applied, to see what is left. Fixes without Search need not be reported.
	Trial    bool
	GPU      GPU  // what the artifact is for, as the user gave it
	Link     bool // every library is checked as one to link against
	Releases *Releases
	Compared []*Compared // the artifact's libraries, compared with earlier builds
	ABI      *ABI

	given   []pkgmeta.Requirement
	linking *linking
	rule    *Rule
	count   int            // findings of the rule
	counts  map[string]int // the same by object
	dropped bool           // there were more
	emit    func(*result.Finding, []fix.Candidate)
}

// View is an object as the loader of the platform sees it.
type View struct {
	*facts.Object
	Library     *dynlink.Library
	Loading     *dynlink.Loading
	Missing     []string   // its own DT_NEEDED entries that were not found
	Host        facts.Host // the program that loads it
	Alternative bool       // one of several variants of which the program loads one

	bound *bound
}

// bound holds the bindings of an object, computed when a rule first needs them: a fix that fails
// often fails on libraries alone.
type bound struct {
	bind     func() dynlink.Bindings // nil: done
	bindings dynlink.Bindings
}

// Bindings lists the object's imports with what the loader binds them to.
func (v *View) Bindings() dynlink.Bindings {
	if b := v.bound; b.bind != nil {
		b.bindings, b.bind = b.bind(), nil
	}
	return v.bound.bindings
}

// MaxFindings is how many findings of one rule on one object are listed, and maxOfRule those on all
// objects of an artifact. An artifact with more is so broken that a longer list helps nobody, and
// its cost would grow without bound.
const (
	MaxFindings = 5_000
	maxOfRule   = 20_000
)

// Room reports whether another finding of the rule on an object would be listed. Where it would
// not, the rule can skip the rest of the object.
func (p *Pass) Room(object string) bool {
	if p.counts[object] < MaxFindings && p.count < maxOfRule {
		return true
	}
	p.dropped = true
	return false
}

// Report adds a finding, unless there is no Room for it. It fills in rule, artifact, target,
// severity (unless set), package and the demangled name, and writes that name into the message.
func (p *Pass) Report(f result.Finding, fixes ...fix.Candidate) {
	if !p.Room(f.Object) {
		return
	}
	p.count++
	p.counts[f.Object]++
	f.Rule = p.rule.ID
	if f.Severity == "" {
		f.Severity = p.rule.Severity
	}
	f.Target, f.Artifact, f.New = p.Platform.Name, p.Facts.Path, true
	mangled := f.Symbol
	if p.Platform.OS == platform.MacOS { // there every name of a symbol begins with _
		mangled = strings.TrimPrefix(mangled, "_")
	}
	if f.Demangled = result.Demangle(mangled); f.Demangled != "" {
		f.Message = strings.ReplaceAll(f.Message, f.Symbol, f.Demangled)
	}
	if f.Package == "" && p.Facts.Metadata != nil {
		f.Package = pkgmeta.Normalize(p.Facts.Metadata.Name)
	}
	p.emit(&f, fixes)
}

// Chain lists the paths of libraries for a finding.
func Chain(libraries ...*dynlink.Library) []string {
	var out []string
	for _, l := range libraries {
		if l != nil {
			out = append(out, l.Path)
		}
	}
	return out
}

// Given reports whether the user gave a requirement on a package, so that a fix has to change that
// and not the artifact's own requirement.
func (p *Pass) Given(name string) bool { return requires(p.given, name) }
