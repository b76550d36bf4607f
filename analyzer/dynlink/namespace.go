package dynlink

import (
	"slices"
	"strconv"
	"strings"
)

// namespace returns the outermost namespace of a mangled name, as its length and name: "5torch" of
// _ZN5torch7LibraryC1Ev. "" for names in no namespace, in std, and for those that are not C++.
// Itanium C++ ABI, 5.1: Name mangling.
func namespace(symbol string) string {
	s, ok := strings.CutPrefix(symbol, "_Z")
	if !ok {
		return ""
	}
	// what it is about: a virtual table, type information, a guard variable
	for _, special := range []string{"TV", "TI", "TS", "TT", "GV"} {
		if rest, ok := strings.CutPrefix(s, special); ok {
			s = rest
			break
		}
	}
	s, ok = strings.CutPrefix(s, "N")
	if !ok {
		return ""
	}
	s = strings.TrimLeft(s, "rVKRO") // qualifiers of a member function
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(s[:digits])
	if err != nil || digits+n > len(s) {
		return ""
	}
	return s[:digits+n]
}

// owns reports whether l is of a package and exports a name of a namespace. Weak ones do not count:
// any library may have a template or an inline function.
func (l *Library) owns(space string) bool {
	t, ok := l.symbols.(*table)
	return ok && l.Kind == FromPackage && l.Known && t.namespaces()[space]
}

// findNamespaces returns the namespaces of the exports that are not weak.
func (t *table) findNamespaces() map[string]bool {
	out := map[string]bool{}
	for i := range t.exports.Len() {
		if space := namespace(t.exports.Name(i)); space != "" && !out[space] &&
			!t.exports.At(i).Weak {
			out[space] = true
		}
	}
	return out
}

// owner is a scope in which the packages are known whose libraries own a namespace.
type owner struct {
	scope []*Library
	known map[string][]string // by namespace
}

// packages returns the packages that have libraries with names of a namespace.
func (o *owner) packages(space string) []string {
	names, ok := o.known[space]
	if ok || space == "" {
		return names
	}
	for _, l := range o.scope {
		if l.owns(space) && !slices.Contains(names, l.Package.Name) {
			names = append(names, l.Package.Name)
		}
	}
	if o.known == nil {
		o.known = map[string][]string{}
	}
	o.known[space] = names
	return names
}

// mayDefine reports whether a library whose exports are not known may define a symbol. It does not
// if that is a name of C++ in the namespace of another package: a library of CUDA has no functions
// of torch.
func (o *owner) mayDefine(l *Library, symbol string) bool {
	if !l.MayDefine(symbol) {
		return false
	}
	owners := o.packages(namespace(symbol))
	return l.Kind != FromPackage || len(owners) == 0 || slices.Contains(owners, l.Package.Name)
}

// OwnedByPackage reports whether a symbol is a name of C++ in a namespace of another package, whose
// library the load has.
func (l *Loading) OwnedByPackage(symbol string) bool {
	space := namespace(symbol)
	return space != "" &&
		slices.ContainsFunc(l.Found, func(f Found) bool { return f.Library.owns(space) })
}
