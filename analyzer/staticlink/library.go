package staticlink

import (
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Library is a shared library as a linker reads it. Copies share the index of what it exports, so
// that a copy may be given other needs or paths.
type Library struct {
	Path    string // in the artifact or below site-packages; of a platform's library its SONAME
	SONAME  string // "" where it has none
	Needed  []string
	RPath   string
	RunPath string
	// false: what it exports is not known, and nothing may be concluded from an absence
	Known bool
	// undefined symbols; nil for a library that is taken as sound: a platform's, a package's
	Imports *elfobj.Imports
	System  bool // it lies in a directory that every linker and loader searches

	symbols symbols
	plain   bool // it has no version table at all
}

// symbols answers what a library defines.
type symbols interface {
	links(name, version string) bool       // a linker binds a reference to it
	binds(name, version string) bool       // the loader does
	kind(name, version string) elfobj.Kind // of what a linker binds
	versions(name string) []string         // under which it is defined at all; "" is none

	each(
		names *symindex.Names,
		yield func(name, export int32),
	) // the exports that are asked for, a name's side by side or once
	linksAt(export int32, name, version string) bool // links, by that export
	bindsAmong(
		rows []symindex.Row,
		name, version string,
	) bool // binds, by the rows that each gave for the name
}

// FromObject reads an object of an artifact.
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

// FromPackage reads a library that another package brings.
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

// FromPlatform reads a library that a platform provides.
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

// names are those by which DT_NEEDED and -l: find the library.
func (l *Library) names() []string {
	base := path.Base(l.Path)
	if l.SONAME == "" || l.SONAME == base {
		return []string{base}
	}
	return []string{l.SONAME, base}
}

// Name is what DT_NEEDED of a user says.
func (l *Library) Name() string { return l.names()[0] }

// AnswersTo tells whether a DT_NEEDED entry means this library.
func (l *Library) AnswersTo(name string) bool {
	return l.SONAME == name || path.Base(l.Path) == path.Base(name)
}

// Links tells whether a linker binds name@version here; version "" is a reference without one.
func (l *Library) Links(name, version string) bool { return l.symbols.links(name, version) }

// Binds tells whether the loader binds name@version here. It does not tell that the reference names
// this library and the loader dies of it: see Run.
func (l *Library) Binds(name, version string) bool { return l.symbols.binds(name, version) }

// Versions are those under which a name is defined here, for the loader only or for linkers too; ""
// stands for none.
func (l *Library) Versions(name string) []string { return l.symbols.versions(name) }

// index looks exports up by name.
type index struct {
	exports *elfobj.Exports
	oldest  string // the first version node, to which the loader binds a reference without version
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

// linksAt follows bfd/elflink.c: name@@V enters the table as name and as name@V, name@V as itself
// only, and a definition without version as name.
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

// provided reads a platform's own table.
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
	names.Each(p.l.Symbols(), func(name int32) { yield(name, 0) })
}

func (p provided) linksAt(_ int32, name, version string) bool { return p.links(name, version) }

func (p provided) bindsAmong(_ []symindex.Row, name, version string) bool {
	return p.binds(name, version)
}
