package staticlink

import (
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Library is a shared library as a linker reads it. A copy shares the index of exports; its
// dependencies and paths can be changed.
type Library struct {
	// In the artifact or relative to site-packages; the SONAME of a platform's library.
	Path    string
	SONAME  string // "" if there is none
	Needed  []string
	RPath   string
	RunPath string
	// If false, the exports are not known, and the absence of a symbol means nothing.
	Known bool
	// Undefined symbols. Nil for a library of a platform or package, which is assumed to be
	// correct.
	Imports *elfobj.Imports
	System  bool // in a folder that every linker and loader searches

	symbols symbols
	plain   bool // has no version table
}

// symbols is the set of symbols that a library defines.
type symbols interface {
	links(name, version string) bool       // a linker binds a reference to it
	binds(name, version string) bool       // the loader does
	kind(name, version string) elfobj.Kind // of what a linker binds
	versions(name string) []string         // versions with which it is defined; "" is no version

	// each yields the exports whose names are in names. Exports with the same name are consecutive.
	each(names *symindex.Names, yield func(name, export int32))
	linksAt(export int32, name, version string) bool // like links, for one export
	// bindsAmong is like binds, for the rows that each returned for the name.
	bindsAmong(rows []symindex.Row, name, version string) bool
}

// FromObject returns the library for an object of an artifact.
func FromObject(p string, o *elfobj.Object) *Library {
	return &Library{
		Path:    p,
		SONAME:  o.SONAME,
		Needed:  o.Needed,
		RPath:   o.RPath,
		RunPath: o.RunPath,
		Known:   true,
		Imports: o.Imports,
		symbols: &index{exports: o.Exports, oldest: o.OldestVersion()},
		plain:   !o.HasVersym,
	}
}

// FromPackage returns the library for a library of another package.
func FromPackage(l *packages.Library) *Library {
	return &Library{
		Path:    l.Path,
		SONAME:  l.SONAME,
		Needed:  l.Needed,
		RunPath: l.RunPath,
		Known:   l.Known,
		symbols: &index{exports: l.Exports, oldest: l.OldestVersion()},
	}
}

// FromPlatform returns the library for a library of a platform.
func FromPlatform(l *platform.Library) *Library {
	return &Library{
		Path:    l.SONAME,
		SONAME:  l.SONAME,
		Needed:  l.Needed,
		Known:   l.Known,
		System:  true,
		symbols: provided{l},
	}
}

// names returns the names with which DT_NEEDED and -l: find the library.
func (l *Library) names() []string {
	base := path.Base(l.Path)
	if l.SONAME == "" || l.SONAME == base {
		return []string{base}
	}
	return []string{l.SONAME, base}
}

// Name returns the DT_NEEDED entry of an object linked with the library.
func (l *Library) Name() string { return l.names()[0] }

// HasName reports whether a DT_NEEDED entry refers to this library.
func (l *Library) HasName(name string) bool {
	return l.SONAME == name || path.Base(l.Path) == path.Base(name)
}

// Links reports whether a linker binds name@version to this library. version is "" for a
// reference without a version.
func (l *Library) Links(name, version string) bool { return l.symbols.links(name, version) }

// Binds reports whether the loader binds name@version to this library. It does not consider
// that the loader may exit with an error if the reference names this library: see Run.
func (l *Library) Binds(name, version string) bool { return l.symbols.binds(name, version) }

// Versions returns the versions with which a name is defined, including those that only the
// loader uses; "" stands for no version.
func (l *Library) Versions(name string) []string { return l.symbols.versions(name) }

// index finds exports by name.
type index struct {
	exports *elfobj.Exports
	oldest  string // the first version, to which the loader binds references without a version
}

func (x *index) links(name, version string) bool {
	return slices.ContainsFunc(
		x.exports.Named(name),
		func(i int32) bool { return x.linksAt(i, name, version) },
	)
}

func (x *index) kind(name, version string) elfobj.Kind {
	for _, i := range x.exports.Named(name) {
		if x.linksAt(i, name, version) {
			return x.exports.At(int(i)).Kind
		}
	}
	return ""
}

func (x *index) versions(name string) []string {
	var out []string
	for _, i := range x.exports.Named(name) {
		out = append(out, x.exports.Version(int(i)))
	}
	return out
}

func (x *index) binds(name, version string) bool {
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for _, i := range x.exports.Named(name) {
			if !yield(x.exports.Offer(int(i), version, x.oldest)) {
				return
			}
		}
	})
}

func (x *index) each(names *symindex.Names, yield func(name, export int32)) {
	for _, h := range names.In(x.exports) {
		yield(h.Name, h.Export)
	}
}

// linksAt follows bfd/elflink.c: name@@V defines name and name@V, name@V only itself, and a
// definition without a version defines name.
func (x *index) linksAt(export int32, _, version string) bool {
	e := x.exports.At(int(export))
	return version == "" && !e.Hidden || version != "" && e.Version == version
}

func (x *index) bindsAmong(rows []symindex.Row, _, version string) bool {
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for _, r := range rows {
			if !yield(x.exports.Offer(int(r.Export), version, x.oldest)) {
				return
			}
		}
	})
}

// provided uses the symbol table of a platform.
type provided struct{ l *platform.Library }

func (p provided) links(name, version string) bool {
	if version != "" {
		return p.l.Has(name, version)
	}
	_, ok := p.l.Default(name)
	return ok
}

func (p provided) binds(name, version string) bool { return p.l.Binds(name, version) }

func (p provided) kind(name, version string) elfobj.Kind {
	if version == "" {
		version, _ = p.l.Default(name)
	}
	for _, s := range p.l.Symbol(name) {
		if s.Version == version {
			return s.Kind
		}
	}
	return ""
}

func (p provided) versions(name string) []string { return p.l.SymbolVersions(name) }

func (p provided) each(names *symindex.Names, yield func(name, export int32)) {
	for _, name := range symindex.Defined(names, p.l) {
		yield(name, 0)
	}
}

func (p provided) linksAt(_ int32, name, version string) bool { return p.links(name, version) }

func (p provided) bindsAmong(_ []symindex.Row, name, version string) bool {
	return p.binds(name, version)
}
