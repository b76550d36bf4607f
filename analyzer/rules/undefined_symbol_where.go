package rules

import (
	"iter"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
)

// inPlaceOf returns the library of another package that is loaded with the SONAME of the artifact's
// own library, or nil.
func inPlaceOf(v *analyzer.View, own *dynlink.Library) *dynlink.Library {
	for _, f := range v.Loading.Found {
		if l := f.Library; l != own && l.Kind == dynlink.FromPackage && own.SONAME != "" &&
			l.SONAME == own.SONAME {
			return l
		}
	}
	return nil
}

// hidden returns a library that is loaded before the object and defines a symbol, but is not in the
// global scope, or nil.
func hidden(v *analyzer.View, symbol string) *dynlink.Library {
	i := slices.IndexFunc(
		v.Loading.Hidden,
		func(l *dynlink.Library) bool { return l.Known && l.Defines(symbol, "") },
	)
	if i < 0 {
		return nil
	}
	return v.Loading.Hidden[i]
}

// private reports whether an import is a private symbol of a system library: the library has the
// version node, and no known release exports the symbol (zcalloc of libz.so.1).
func private(p *analyzer.Pass, b dynlink.Binding) bool {
	i := b.Import
	if b.Provider == nil || b.Provider.Kind != dynlink.FromPlatform || i.Version == "" {
		return false
	}
	if l := p.Platform.Library(i.Library); l == nil || !l.Known || !l.HasVersion(i.Version) {
		return false
	}
	return !slices.ContainsFunc(platform.All(p.Platform.Arch), func(q *platform.Platform) bool {
		l := q.Library(i.Library)
		return l != nil && l.Known && l.Has(i.Name, i.Version)
	})
}

// minSimilar is the length of the common prefix with which a mangled name is taken for a symbol of
// a library: _ZN8Shiboken and a little more.
const minSimilar = 16

// ofProgram reports whether a program of the artifact exports a symbol to its plug-ins.
func ofProgram(p *analyzer.Pass, symbol string) bool {
	for _, u := range p.Views {
		if u.Interp != "" && u.SONAME == "" && u.Library.Defines(symbol, "") {
			return true
		}
	}
	return false
}

// ofOpened reports whether a symbol that a plug-in needs is in a library of the artifact that
// another of its objects opens before the plug-in. A plug-in is no module, and no object links it.
// Either the library's name is a constant of that object, or the plug-in's is and no object links
// the library: it is of use only if it is opened too. A compiler may split a constant.
func ofOpened(p *analyzer.Pass, v *analyzer.View, symbol string) bool {
	opened := func(l *analyzer.View) bool {
		return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
			return u != v && u != l && u.NamesAny(l.Library.Names()...)
		})
	}
	return slices.ContainsFunc(p.Views, func(l *analyzer.View) bool {
		return l != v && !l.Extension() && l.Library.Defines(symbol, "") &&
			(opened(l) || opened(v) && !l.Linked())
	})
}

// elsewhere returns another object of the artifact that defines a symbol, or nil.
func elsewhere(p *analyzer.Pass, v *analyzer.View, symbol string) *dynlink.Library {
	for _, u := range p.Views {
		if u != v && u.Library.Defines(symbol, "") {
			return u.Library
		}
	}
	return nil
}

// definers returns the other objects of the artifact that define one of the symbols.
func definers(p *analyzer.Pass, v *analyzer.View, lost []dynlink.Binding) (out []*analyzer.View) {
	for _, u := range p.Views {
		if u != v && slices.ContainsFunc(lost, func(b dynlink.Binding) bool {
			return u.Library.Defines(b.Import.Name, "")
		}) {
			out = append(out, u)
		}
	}
	return out
}

// ownLinked returns the libraries of the artifact that an object links.
func ownLinked(p *analyzer.Pass, v *analyzer.View) iter.Seq[*analyzer.View] {
	return func(yield func(*analyzer.View) bool) {
		for _, f := range v.Loading.Found {
			i := slices.IndexFunc(p.Views, func(u *analyzer.View) bool { return u.Library == f.Library })
			if f.NeededBy == v.Library && i >= 0 && !yield(p.Views[i]) {
				return
			}
		}
	}
}

// keeps returns a library of the artifact that an object links, and that defines a symbol without
// exporting it, or nil.
func keeps(p *analyzer.Pass, v *analyzer.View, symbol string) *dynlink.Library {
	for u := range ownLinked(p, v) {
		if u.Locals.Has(symbol) {
			return u.Library
		}
	}
	return nil
}

// otherPackage returns the library of another package that an object links, and that exports names
// like a symbol which it lacks, with the package; nil if there is none.
func otherPackage(v *analyzer.View, symbol string) (*dynlink.Library, packages.ID) {
	of := func(l *dynlink.Library) packages.ID {
		if l.Kind == dynlink.FromPackage {
			return l.Package
		}
		return l.Wheel
	}
	l := mostSimilar(func(yield func(*dynlink.Library) bool) {
		for _, f := range v.Loading.Found {
			id := of(f.Library)
			if f.NeededBy == v.Library && id.Name != "" && id != v.Library.Wheel && f.Library.Known &&
				!yield(f.Library) {
				return
			}
		}
	}, symbol)
	if l == nil {
		return nil, packages.ID{}
	}
	return l, of(l)
}

// maxGuesses limits the work of otherPackage and mayKeep for an object.
const maxGuesses = 50

// mayKeep returns a stripped library of the artifact that an object links, and that exports names
// like a symbol, or nil.
func mayKeep(p *analyzer.Pass, v *analyzer.View, symbol string) *dynlink.Library {
	return mostSimilar(func(yield func(*dynlink.Library) bool) {
		for u := range ownLinked(p, v) {
			if u.Locals == nil && !yield(u.Library) {
				return
			}
		}
	}, symbol)
}

// mostSimilar returns the library whose exports have the longest prefix in common with a symbol;
// nil if all are short.
func mostSimilar(all iter.Seq[*dynlink.Library], symbol string) *dynlink.Library {
	least := 4 // of a prefix such as "png_"
	if strings.HasPrefix(symbol, "_Z") {
		least = minSimilar
	}
	var best *dynlink.Library
	for l := range all {
		if n := l.Similar(symbol); n >= least {
			best, least = l, n+1
		}
	}
	return best
}

// mayBeGlobal reports whether a library of the artifact that has a symbol may have been loaded with
// RTLD_GLOBAL before a module that loads v is imported: by a Python source, by a program of the
// artifact, or by another module. Without such a module it is not known who loads v.
func mayBeGlobal(p *analyzer.Pass, v *analyzer.View, symbol string) bool {
	if p.Facts.Kind != analyzer.KindWheel || v.Alternative ||
		!slices.ContainsFunc(importers(p, v), func(m *analyzer.View) bool {
			return !m.Alternative && !p.Facts.MayLoadGlobally(m.Path)
		}) {
		return true
	}
	var openers []*dynlink.Library
	for _, u := range p.Views {
		if u.Imports.Any(func(name string) bool { return name == "dlopen" || name == "dlmopen" }) {
			openers = append(openers, u.Library)
		}
	}
	return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
		program := u.Interp != "" && u.SONAME == ""
		return u != v && !u.Loading.Has(v.Library) && (u.Loads ||
			program && slices.ContainsFunc(u.Loading.Found, func(f dynlink.Found) bool {
				return f.Library.Defines(symbol, "")
			}) ||
			(program || u.Extension()) && slices.ContainsFunc(openers, u.Loading.Has))
	})
}
