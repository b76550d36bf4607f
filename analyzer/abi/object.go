package abi

import (
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// FromObject gives the ABI that the dynamic symbols of an object alone show, for callers that no
// longer have its bytes: no virtual tables, no types, and neither visibility nor read-only memory.
func FromObject(name string, o *elfobj.Object) *Library {
	l := fromObject(name, o)
	l.Partial = true
	places := make([]elfobj.Place, o.Exports.Len())
	for i, e := range o.Exports.All() {
		places[i].Absolute = e.Kind == elfobj.Data && e.Size == 0 &&
			slices.Contains(l.Versions, e.Name)
	}
	l.addSymbols(o, places)
	return l
}
