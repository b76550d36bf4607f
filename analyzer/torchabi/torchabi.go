// Package torchabi knows the stable ABI of libtorch: the C functions (aoti_torch_…, torch_…) on
// which the headers of torch/csrc/stable and torch/headeronly are built. An extension that imports
// nothing else of torch works with every release that has these functions, not only with the one
// that it was built with.
//
//	use := torchabi.Audit(names)
//	use.Oldest // "2.10.0", the oldest release with all of them
//
// Which release has which function was read from the published libraries for Linux; internal/gen/
// torchabi writes the table. The functions have no versions: that one does the same in each release
// is the promise of torch, not known here.
package torchabi

import (
	_ "embed"
	"iter"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/symboltable"
)

//go:generate go run github.com/compat-app/compat/internal/gen/torchabi -out data/stable.txt

//go:embed data/stable.txt
var text string

var functions = lazy.Value[symboltable.Table]{New: func() symboltable.Table {
	return symboltable.Open(text)
}}

// Stable reports whether a symbol has a name of the stable ABI.
func Stable(symbol string) bool {
	return strings.HasPrefix(symbol, "aoti_torch_") || strings.HasPrefix(symbol, "torch_")
}

// Use is what objects use of the stable ABI. The zero value is nothing.
type Use struct {
	Functions int // the number of them that are imported
	// Oldest is the oldest release that has all of them; "" if no known release has.
	Oldest string
	// Last is the first of them by name that the release before Oldest lacks or, without Oldest, one
	// that no known release has together with the others.
	Last string
	// Newest is the newest release that has all of them; "" if the newest known one has.
	Newest string
}

// Audit returns what an object with some imports uses: nothing if it has no function that a known
// release has, because other projects have names that begin with torch_ too.
func Audit(imports iter.Seq[string]) (all Use) {
	known := false
	for name := range imports {
		if !Stable(name) {
			continue
		}
		one := Use{Functions: 1, Last: name}
		if f := functions.Get().Find(name); f != nil {
			one.Oldest, one.Newest, known = f[0], strings.Join(f[1:], ""), true
		}
		all = all.With(one)
	}
	if !known {
		return Use{}
	}
	return all
}

// With returns what two objects use together.
func (u Use) With(v Use) Use {
	switch {
	case u.Functions == 0:
		return v
	case v.Functions == 0:
		return u
	}
	if c := compare(u.Oldest, v.Oldest); c < 0 || c == 0 && v.Last < u.Last {
		u.Oldest, u.Last = v.Oldest, v.Last
	}
	if v.Newest != "" && (u.Newest == "" || compare(v.Newest, u.Newest) < 0) {
		u.Newest = v.Newest
	}
	if u.Newest != "" && compare(u.Newest, u.Oldest) < 0 {
		u.Oldest, u.Newest = "", ""
	}
	u.Functions += v.Functions
	return u
}

// compare compares releases of torch; "" is newer than all, because no known one is meant.
func compare(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	v, _ := pkgmeta.ParseVersion(a) // a test reads all of the table
	w, _ := pkgmeta.ParseVersion(b)
	return v.Compare(w)
}

// First returns the oldest release that was read: older ones may have its functions too.
func First() (first string) {
	for _, f := range functions.Get().All() {
		if first == "" || compare(f[0], first) < 0 {
			first = f[0]
		}
	}
	return first
}
