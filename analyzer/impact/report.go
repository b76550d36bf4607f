package impact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Schema is the name of the JSON format of a Report.
const Schema = "compat/impact/v1"

// Report is what a release breaks.
type Report struct {
	Schema     string  `json:"schema"`
	New        ID      `json:"new"`
	Old        *ID     `json:"old"` // null: there is none before New
	Removed    Removed `json:"removed"`
	Dependents []Entry `json:"dependents"` // in the order in which they were given; not nil
	Summary    Summary `json:"summary"`
	// Locks are the files that the dependents are from; nil if they were named.
	Locks []LockFile `json:"locks,omitempty"`
	// Notes are sentences about what was not compared. It is not nil.
	Notes []string `json:"notes"`
}

// ID is a release.
type ID struct {
	Name    string `json:"name"`
	Version string `json:"version"` // "" if it is not known, as of a library
}

// Summary counts the dependents by verdict.
type Summary struct {
	Works     int `json:"works"`
	Breaks    int `json:"breaks"`
	Excluded  int `json:"excluded"`
	Undecided int `json:"undecided"`
}

// LockFile is a lock or requirements file in which dependents were looked for. Each of its pins is
// one of Dependents, Unrelated, Pure, Unknown, or the package itself.
type LockFile struct {
	Path string `json:"path"`
	Pins int    `json:"pins"`
	// Dependents are the pins that require the package, directly or through others, and have native
	// code. It is not nil.
	Dependents []LockPin `json:"dependents"`
	Unrelated  int       `json:"unrelated"` // pins that do not require it
	Pure       int       `json:"pure"`      // pins that require it and have no native code
	Unpinned   int       `json:"unpinned"`  // requirements without a version, which are no pins
	// Unknown are pins that were not looked at: their requirements could not be looked up, or there
	// are too many dependents.
	Unknown []string `json:"unknown,omitempty"`
	Unread  string   `json:"unread,omitempty"` // why the file could not be read; "" if it could
}

// Partly reports whether some pins of the file are not known, so that there may be other
// dependents.
func (f LockFile) Partly() bool { return f.Unread != "" || len(f.Unknown) > 0 }

// LockPin is a line of a lock or requirements file.
type LockPin struct {
	Requirement string `json:"requirement"` // NAME==VERSION, as an index writes it
	Line        int    `json:"line"`        // 1-based; 0 for formats without line numbers
}

// Pinned returns the pin of a dependent; nil if the file has none.
func (f *LockFile) Pinned(name, version string) *LockPin {
	for i, p := range f.Dependents {
		if n, v, _ := strings.Cut(p.Requirement, "=="); v == version && n == pkgmeta.Normalize(name) {
			return &f.Dependents[i]
		}
	}
	return nil
}

// NewReport returns the report about a release without dependents. Old may be nil.
func NewReport(old, new *Release) *Report {
	r := &Report{
		Schema: Schema, New: ID{new.Name, new.Version}, Dependents: []Entry{}, Notes: []string{},
	}
	if old != nil {
		r.Old = &ID{old.Name, old.Version}
	}
	var unread []string
	r.Removed, unread = Compare(old, new)
	for _, u := range unread {
		r.Notes = append(r.Notes, u+" was not read, so it is not known what it exports")
	}
	for _, side := range []*Release{old, new} {
		if old != nil && !side.typed() {
			r.Notes = append(r.Notes, fmt.Sprintf("types were not compared, because no debug information "+
				"of %s was read", side))
			break
		}
	}
	return r
}

// typed reports whether the types of a library of the release are known.
func (r *Release) typed() bool {
	return slices.ContainsFunc(r.ABI, func(l *abi.Library) bool {
		return l.Evidence != abi.EvidenceSymbols
	})
}

// Add adds what becomes of a dependent.
func (r *Report) Add(e Entry) {
	r.Dependents = append(r.Dependents, e)
	switch e.Verdict {
	case Works:
		r.Summary.Works++
	case Breaks:
		r.Summary.Breaks++
	case Excluded:
		r.Summary.Excluded++
	case Undecided:
		r.Summary.Undecided++
	}
}
