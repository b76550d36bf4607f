package result

import (
	"cmp"
	"slices"
	"strings"
)

// Accounting is what became of the imports of objects: Found + Missing + Undecided = Imports.
type Accounting struct {
	Imports int `json:"imports"`
	// Found are imports that a loaded library, or the program that loads the object, is known to
	// define, and weak ones that nothing defines, which the loader accepts.
	Found     int `json:"found"`
	Missing   int `json:"missing"` // imports that nothing defines, and that are findings
	Undecided int `json:"undecided"`
	// Why are the reasons of the undecided imports, the most frequent first. It is not nil.
	Why []Undecided `json:"why"`
}

// Undecided is a reason why it is not known whether imports are defined.
type Undecided struct {
	Reason  Reason `json:"reason"`
	Library string `json:"library"` // SONAME, DLL or program; "" = none in particular
	Count   int    `json:"count"`
}

// Reason is why it is not known whether something defines an import.
type Reason string

const (
	// The exports of a library that is loaded are not known: its package or system was not read.
	NotRead Reason = "not-read"
	// A library is missing, and may define it.
	NotFound Reason = "not-found"
	// No search path leads to the library that defines it, and it is not known whether something
	// loads it before.
	NotReached Reason = "not-reached"
	// The program that loads the object provides it, and its exports are not known.
	OfHost Reason = "host"
	// Whatever opens the object has to provide it.
	OfOpener Reason = "opener"
	// The object is loaded by none that was checked.
	NotLoaded Reason = "not-loaded"
)

// String returns the reason as a clause: "libcublas.so.13 was not read".
func (u Undecided) String() string {
	library := cmp.Or(u.Library, "a library")
	switch u.Reason {
	case NotRead:
		return library + " was not read"
	case NotFound:
		return library + " was not found"
	case NotReached:
		return library + " might not be loaded"
	case OfHost:
		return "the program that loads it (" + u.Library + ") provides them"
	case OfOpener:
		return "what opens the object has to provide them"
	}
	return "nothing that was checked loads the object"
}

// Undecide counts imports as undecided.
func (a *Accounting) Undecide(reason Reason, library string, count int) {
	if count == 0 {
		return
	}
	a.Undecided += count
	i := slices.IndexFunc(a.Why, func(w Undecided) bool {
		return w.Reason == reason && w.Library == library
	})
	if i < 0 {
		i = len(a.Why)
		a.Why = append(a.Why, Undecided{Reason: reason, Library: library})
	}
	a.Why[i].Count += count
}

// Add adds the imports of other objects.
func (a *Accounting) Add(other Accounting) {
	a.Imports += other.Imports
	a.Found += other.Found
	a.Missing += other.Missing
	for _, w := range other.Why {
		a.Undecide(w.Reason, w.Library, w.Count)
	}
	a.sort()
}

// sort puts the most frequent reasons first.
func (a *Accounting) sort() {
	slices.SortFunc(a.Why, func(x, y Undecided) int {
		return cmp.Or(y.Count-x.Count, strings.Compare(x.Library, y.Library),
			strings.Compare(string(x.Reason), string(y.Reason)))
	})
}

// Worse reports whether less is certain to work than in another accounting of the same imports.
func (a *Accounting) Worse(than *Accounting) bool {
	return cmp.Or(a.Missing-than.Missing, a.Undecided-than.Undecided) > 0
}
