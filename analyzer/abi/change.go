package abi

import (
	"cmp"
	"slices"
)

// Severity is whether a change breaks programs.
type Severity string

// Severities.
const (
	// a program that was built against the old library can fail or get wrong values
	Error Severity = "error"
	// it depends on unknown facts, or affects only private interfaces
	Warning Severity = "warning"
	Note    Severity = "note" // programs keep working
)

// Rules of changes.
const (
	RuleRemoved        = "exported-symbol-removed"
	RuleVersionRemoved = "symbol-version-removed"
	RuleVersionMoved   = "symbol-version-moved"
	RuleAdded          = "symbol-added"
	RuleAddedReleased  = "symbol-added-to-released-version"
	RuleLibraryRemoved = "library-removed"
	RuleLibraryAdded   = "library-added"
	RuleSoname         = "soname-changed"
	RuleSignature      = "signature-changed"
	RuleLayout         = "type-layout-changed"
	RuleVtable         = "vtable-changed"
	RuleEnumerator     = "enumerator-changed"
	RuleData           = "data-object-changed"
	RuleConvention     = "calling-convention-changed"
	RuleMode           = "abi-mode-changed"
	RuleNeeded         = "needed-removed"
	RuleUndefined      = "symbol-undefined"
	RuleDebian         = "debian-symbols"
	RuleMoved          = "symbol-moved-to-dependency"
	RuleChecksum       = "symbol-checksum-changed"
	RuleNamespace      = "symbol-namespace-changed"
	RuleLicense        = "symbol-license-changed"
)

// Change is a difference, reported at its cause: a change of a type that many functions use is one
// Change.
type Change struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	Symbol   string   `json:"symbol"` // in the dynamic symbol table, with @V or @@V; "" for a type
	Type     string   `json:"type"`   // without struct, class, union, enum; "" for a symbol
	Detail   string   `json:"detail"` // what changed, in one or more sentences
	Aside    string   `json:"-"`      // the end of Detail that follows the first sentence; may be ""

	// what happens to a program that was built against the old library
	Effect string `json:"effect,omitempty"`
	Fix    string `json:"fix,omitempty"` // the smallest fix
	// SONAME of the library, if several were compared
	Library string   `json:"library,omitempty"`
	Path    []string `json:"path,omitempty"`
	// exports of the old library that use what changed, at most maxAffected
	Affected []string `json:"affected,omitempty"`
	Affects  int      `json:"affects"`       // number of exports of the old library that use it
	Old      string   `json:"old,omitempty"` // FILE:LINE of the old declaration
	New      string   `json:"new,omitempty"` // FILE:LINE of the new one

	enumerators []string // existing enumerators that changed
	files       []string // paths of the libraries, if several were compared
	about       *about   // nil without a type
	subject     Kind     // of Type; "" = a structure or an enumeration, as Rule says
	variable    bool     // Symbol is a variable
}

const maxAffected = 20

// OfTypes reports whether a type or a calling convention changed: what no loader compares.
func (c *Change) OfTypes() bool {
	switch c.Rule {
	case RuleSignature, RuleLayout, RuleVtable, RuleEnumerator, RuleConvention:
		return true
	}
	return false
}

// Verdict is the result of a comparison.
type Verdict string

// Verdicts.
const (
	None       Verdict = "none"       // no change that a program can notice
	Compatible Verdict = "compatible" // old programs keep working
	Breaking   Verdict = "breaking"   // a program built against the old library can fail
)

// Result is the difference between two builds of a library.
type Result struct {
	Verdict  Verdict  `json:"verdict"`
	Changes  []Change `json:"changes"`
	Evidence struct {
		Old Evidence `json:"old"`
		New Evidence `json:"new"`
	} `json:"evidence"`
	Library    string   `json:"library"`            // SONAME of the old library, or its name
	Interfaces int      `json:"interfaces"`         // exports of the old library
	Broken     int      `json:"broken"`             // number of them that an error affects
	Problems   []string `json:"problems,omitempty"` // errors of reading debug information
	// Blind are sentences about what programs can see and what was not compared. It is empty, not
	// nil, if all was.
	Blind []string `json:"blind"`
	// PrivateTypes is the number of types that were reached and not compared, because programs cannot
	// see them: their names are in Blind, except where headers decided it.
	PrivateTypes int `json:"private_types"`
	// Unread is the sentence of Blind about imports that a library which was not read may have; ""
	// if there are none.
	Unread     string   `json:"-"`
	NewSONAME  string   `json:"new_soname,omitempty"` // "" if it is the same
	files      []string // paths of the libraries
	Suppressed int      `json:"suppressed,omitempty"` // number of hidden changes
	// Unapplied are sections of suppression files that are wrong, and hide nothing: FILE: line N: why.
	Unapplied []string `json:"unapplied,omitempty"`
}

// Types reports whether types were compared.
func (r *Result) Types() bool {
	return r.Evidence.Old != EvidenceSymbols && r.Evidence.New != EvidenceSymbols
}

// Warnings returns the number of changes that may break programs.
func (r *Result) Warnings() (n int) {
	for i := range r.Changes {
		if r.Changes[i].Severity == Warning {
			n++
		}
	}
	return n
}

// rank orders severities, the worst first.
func rank(s Severity) int {
	switch s {
	case Error:
		return 0
	case Warning:
		return 1
	case Note:
		return 2
	}
	return 0
}

// finish sorts the changes, errors first, and sets the verdict.
func (r *Result) finish() {
	slices.SortStableFunc(r.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(rank(a.Severity), rank(b.Severity)),
			cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Symbol, b.Symbol),
		)
	})
	r.Verdict = None
	if len(r.Changes) > 0 {
		r.Verdict = Compatible
		if r.Changes[0].Severity == Error {
			r.Verdict = Breaking
		}
	}
}
