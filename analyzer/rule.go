package analyzer

import (
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Rule is one kind of finding, as data with documentation. ID is its file name, testdata folder,
// doc page and JSON value.
type Rule struct {
	ID       string
	Title    string   // what is wrong, one sentence of at most 80 characters without a period
	Severity Severity // the usual one; a finding may carry a lower one
	// Markdown: what it means, why it fails, what to do, and what the rule misses
	Doc        string
	References []string // specifications and documentation, as "title: address or file"
	Check      func(*Pass)
	// it looks at no symbol, so that while a fix is tried it is asked before those that do
	Quick bool
}

// Pass is one rule's look at one artifact on one platform beside one set of packages.
type Pass struct {
	Facts    *facts.Artifact
	Platform *platform.Platform
	Packages *packages.Set
	Views    []*View
	Scenario fix.Scenario
	Asked    bool // the user named the platform
	// a fix is applied, to see what is left: a fix without Search need not be reported
	Trial bool
	GPU   GPU  // what the artifact is for, as the user says
	Link  bool // every library is judged as one to link against
	World *World
	Base  []*facts.Artifact // what the base branch has; nil where there is none

	given   []pkgmeta.Requirement
	linking *linking
	rule    *Rule
	emit    func(*Finding, []fix.Candidate)
}

// View is an object as the loader of the pass's platform sees it.
type View struct {
	*Object
	Library     *dynlink.Library
	Loading     *dynlink.Loading
	Missing     []string // its own DT_NEEDED entries that nothing answers
	Host        Host     // the program that loads it
	Alternative bool     // one of several objects of which one is picked at run time

	bound *bound
}

// bound is what an object's imports are bound to, found out when a rule first asks: a fix that
// fails is often known by its libraries alone.
type bound struct {
	bind     func() dynlink.Bindings // nil: done
	bindings dynlink.Bindings
}

// Bindings are the object's imports with what the loader makes of them.
func (v *View) Bindings() dynlink.Bindings {
	if b := v.bound; b.bind != nil {
		b.bindings, b.bind = b.bind(), nil
	}
	return v.bound.bindings
}

// Report adds a finding. It fills in rule, artifact, target, severity (unless set), package and the
// demangled name, and writes that name into the message.
func (p *Pass) Report(f Finding, fixes ...fix.Candidate) {
	f.Rule = p.rule.ID
	if f.Severity == "" {
		f.Severity = p.rule.Severity
	}
	f.Target, f.Artifact, f.New = p.Platform.Name, p.Facts.Path, true
	if f.Demangled = Demangle(f.Symbol); f.Demangled != "" {
		f.Message = strings.ReplaceAll(f.Message, f.Symbol, f.Demangled)
	}
	if f.Package == "" && p.Facts.Metadata != nil {
		f.Package = pkgmeta.Normalize(p.Facts.Metadata.Name)
	}
	p.emit(&f, fixes)
}

// Chain turns libraries into the paths that a finding shows.
func Chain(libraries ...*dynlink.Library) []string {
	var out []string
	for _, l := range libraries {
		if l != nil {
			out = append(out, l.Path)
		}
	}
	return out
}
