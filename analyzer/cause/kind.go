package cause

import (
	"strings"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/result"
)

// Kind is a kind of cause: how a cause is described, and what somebody has to do about it. The
// findings of several rules may have one kind, such as WrongPackage; these are in this package. A
// rule whose findings are causes of their own has its Kind next to it.
type Kind struct {
	// Name begins the IDs of the causes; "" = that of the rule.
	Name string
	// Title returns a sentence without the artifact's name, which precedes it. If it is nil, the
	// title is the headline of the first finding or, without one, the title of the rule.
	Title func(*Text) string
	// Short returns the title in about five words; nil = the words of the rule's ID.
	Short func(*Text) string
	// Task returns what somebody has to do; nil = the builder has to change how it is built.
	Task func(*Text) Task
	// Why returns a clause, why the cause has its severity; nil = that of its findings, if they have
	// one.
	Why func(*Text) string
	// Advice returns what the reader of a report about an environment can do. where is the package
	// whose version is the cause, with the place of its pin: "torch (uv.lock:12)". If it is nil, or
	// returns "", another version is to be chosen.
	Advice func(t *Text, where string) string
	// Platforms returns the distributions on which the findings occur, and those on which the
	// artifact works; nil if that does not depend on the platform.
	Platforms func(*group, *result.Report) (fails, works []string)
	// Systems returns on how many systems a symbol version exists: in the table of the cause, that
	// which the fewest have comes first. nil = the version with the most findings does.
	Systems func(g *group, version string) int

	// Applicable returns the fixes that are one for the cause, and counts the findings that they
	// remove because of what the cause is; nil = all are.
	Applicable func(*group, []*merged) []*merged
	// Prefers is the kind of fix that comes before those with less effort; "" = none.
	Prefers fix.Kind
	// Rejects reports whether a fix is not shown. solved is set if a better one removes all findings.
	Rejects func(g *group, m *merged, solved bool) bool
	// Whole returns one fix instead of those of the findings, or nil.
	Whole func(*group) *result.CauseFix
	// Parts returns fixes instead of those of the findings, of which each removes others, or nil.
	Parts func(*group) []result.CauseFix

	// OtherVersion is set if a package fails with the version of another one, so another pin of an
	// environment removes the findings; Addition if it fails without the other package.
	OtherVersion, Addition bool
	// States is set if the findings are requirements that the versions of packages do not satisfy.
	// The packages may work nevertheless.
	States bool
	// NamesPackages is set if the title names the packages, which otherwise precede it in a report
	// about an environment.
	NamesPackages bool
	// First is set if what its causes advise has to be done before everything else of its severity.
	First bool
	// NotShipped is set if its causes do not decide whether the artifact may be shipped.
	NotShipped bool
	// OfTags is set if its findings are about the tags of a wheel. They are part of the cause TooNew
	// if the same change of the tags removes both.
	OfTags bool
	// Apart is set if its findings are part of no other cause.
	Apart bool
	// Covers is set if the findings of other rules in its causes follow from what the title says.
	Covers bool
	// Owner is set if the libraries of its causes are also those that have the symbols.
	Owner bool
}

// Task is what somebody has to do about a cause.
type Task struct {
	Actor result.Actor
	Do    string // "link it without an executable stack", after "has to"
	// Because is the reason why the artifact may be shipped although there is a warning; "" if
	// something is wrong with it.
	Because string
	// Works is what a warning works with, so that it may be shipped; "" if that is not known.
	Works string
	// Today is what a fresh install of the artifact takes and fails with, as a clause; "" if that is
	// not known or not the reason.
	Today string
	// Only is what it must not be shipped for if it is an error: "Alpine 3.20", "systems without
	// unixODBC", "use with torch 2.6.0"; "" = anything.
	Only string
	// Unclaimed is set if Only names platforms that no tag of the wheel claims, so that pip does not
	// install it there.
	Unclaimed bool
	// Affected is who sees it fail: "macOS before 10.9", "systems without libSDL2-2.0.so.0"; "" = not
	// known, or the platforms on which it fails.
	Affected string
}

// Build returns the kind of causes that are titled by their rule, and about which the builder of
// the artifact has to do the same every time.
func Build(do string) *Kind {
	return &Kind{Task: func(*Text) Task { return Task{Actor: result.Builder, Do: do} }}
}

// AboutTags returns the kind for findings that are about the tags of a wheel.
func (k *Kind) AboutTags() *Kind {
	k.OfTags = true
	return k
}

// Choose returns the kind of causes that are titled by the Reason of their findings, and about
// which whoever installs the artifact has to do the same every time. with is the package that the
// artifact does not work with; "" for several.
func Choose(do, with string) *Kind {
	return &Kind{
		Title: func(t *Text) string { return t.headed().Reason },
		Task: func(t *Text) Task {
			return Task{
				Actor: result.Installer, Do: do,
				Because: t.combination(with), Only: t.useWith(with),
			}
		},
		Advice: func(*Text, string) string { return capital(do) + "." },
	}
}

// otherKind is the kind of the rules that have none.
var otherKind = Build("change how it is built")

// Lacks is what the objects lack that a rule reports. The kind of the cause depends on who should
// provide it.
type Lacks int

const (
	LacksNothing        Lacks = iota
	LacksLibrary              // a needed library
	LacksSymbol               // a symbol, which no library may have
	LacksSymbolOfLoaded       // a symbol that a library which is loaded should have
)

// Rule is what a rule says about the causes of its findings. The zero value is a rule whose
// findings are one cause for each artifact, with the title of the rule.
type Rule struct {
	// Title is the title of the rule, a sentence without a period.
	Title string
	// Kind is the kind of its causes; nil = one of its own with the title of the rule.
	Kind *Kind
	// Lacks is what is missing. If it is set, Kind only counts for findings for which KindOf returns
	// it.
	Lacks Lacks
	// KindOf returns the kind for a finding, or nil for that of Kind or Lacks; it may be nil.
	KindOf func(*result.Finding) *Kind
	// Subject distinguishes causes of the same kind; "" or nil = there is one for each artifact.
	// shared is set if artifacts share the cause.
	Subject func(*result.Finding) (subject string, shared bool)
	// Linker is set if the findings are errors of a linker, in programs that use the object.
	Linker bool
	// Claims is set if findings of other rules about the same library belong to its causes.
	Claims bool
	// Loader is the error that shows the findings; Silent = that of Lacks.
	Loader Loader
	// Warns is a clause: why findings of the rule are warnings, or who is affected, for those that do
	// not say it themselves (Finding.Why). It is true of all of them.
	Warns string
	// Where says in titles where a library is looked for that lacks a symbol: " on the search path".
	Where string
}

// origin identifies a cause.
type origin struct {
	kind    *Kind
	subject string
	// The wheel's name and version, so that all its builds share a cause; else the artifact. "" if
	// all artifacts share it.
	project string
}

// own returns the origin of a finding whose cause depends on nothing but its rule.
func (r *Rule) own(f *result.Finding, kind *Kind, project string) origin {
	subject, shared := "", false
	if r.Subject != nil {
		subject, shared = r.Subject(f)
	}
	if shared {
		project = ""
	}
	if kind.Name == "" { // several rules may have the same kind
		subject = strings.TrimSpace(f.Rule + " " + subject)
	}
	return origin{kind, subject, project}
}

// kindOf returns the kind of a finding, or nil if it depends on who should provide what is missing.
func (r *Rule) kindOf(f *result.Finding) *Kind {
	if r.KindOf != nil {
		if k := r.KindOf(f); k != nil {
			return k
		}
	}
	switch {
	case r.Lacks != LacksNothing:
		return nil
	case r.Kind == nil:
		return otherKind
	}
	return r.Kind
}
