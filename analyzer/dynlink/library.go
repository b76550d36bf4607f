package dynlink

import (
	"iter"
	"path"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Kind is where a library comes from.
type Kind string

const (
	FromArtifact Kind = "artifact"
	FromPackage  Kind = "package"
	FromPlatform Kind = "platform"
	FromFolder   Kind = "folder" // in a folder of the system, but not guaranteed by the platform
)

// Library is a shared object that can be loaded.
type Library struct {
	// Path in the artifact or relative to site-packages; the SONAME of a platform's library; the
	// absolute path of a library in a folder.
	Path    string
	SONAME  string   // "" if there is none
	Links   []string // other paths in the artifact: symbolic links to it
	Needed  []string
	RPath   string
	RunPath string
	Kind    Kind
	// Platform or release, for example "manylinux_2_17_x86_64" or "nvidia-nvjitlink-cu12==12.8.93";
	// the folder of a library in a folder; "" for the artifact itself.
	Origin string
	// The release that contains it; zero if Kind is not FromPackage.
	Package packages.ID
	// Abridged is set if the release may have the library under other file names too.
	Abridged bool
	// The wheel that contains it, if Kind is FromArtifact; zero for other artifacts.
	Wheel packages.ID
	// Path of site-packages below "/" for an installed library; "" if Path is below "/".
	Site string
	// If false, the exports are not known, and the absence of a symbol means nothing.
	Known bool
	// Imports of a library of a package; nil if they are not known, and for other libraries.
	Imports *elfobj.Imports

	symbols symbols
	alike   bool // Known is false and symbols are those of the nearest releases
}

// symbols is the set of symbols that a library defines, with the rules of the loader's
// do_lookup_x (glibc elf/dl-lookup.c).
type symbols interface {
	defines(name, version string) bool // version "": an unversioned reference
	// hasVersion is the check of elf/dl-version.c. It is true if the library has no version table.
	hasVersion(version string) bool
	versionsOf(name string) []string

	// each yields the exports whose names are in names. Exports with the same name are consecutive.
	each(names *symindex.Names, yield func(name, export int32))
	// satisfies is defines for the rows that each returned for the symbol.
	satisfies(symbol, version string, of []symindex.Row) bool
	// satisfiesMusl implements musl's find_sym, which ignores versions and hidden definitions.
	satisfiesMusl(symbol string, of []symindex.Row) bool
}

// Defines reports whether a reference name@version binds to a definition in l. version is ""
// for a reference without a version.
func (l *Library) Defines(name, version string) bool { return l.symbols.defines(name, version) }

// HasVersion reports whether the loader's version check passes: l defines the version, or has
// no version definitions at all.
func (l *Library) HasVersion(version string) bool { return l.symbols.hasVersion(version) }

// VersionsOf returns the versions of a symbol that l defines, oldest first if the order is
// known.
func (l *Library) VersionsOf(name string) []string { return l.symbols.versionsOf(name) }

// binds reports whether a reference to what l defines is bound to it: not if the symbols are only
// those of other releases.
func (l *Library) binds() bool { return l.Known || !l.alike }

// Releases is that of platform.Library; nil for a library that is not of a platform.
func (l *Library) Releases(symbol string) (with, without []string) {
	if p, ok := l.symbols.(provided); ok {
		return p.l.Releases(symbol)
	}
	return nil, nil
}

// Similar returns the length of the longest prefix that name shares with a symbol that l
// defines, or 0 for a library of a platform. Symbols of a project start alike.
func (l *Library) Similar(name string) int {
	t, ok := l.symbols.(*table)
	if !ok {
		return 0
	}
	best := 0
	for i := range t.exports.Len() {
		have := t.exports.Name(i)
		n := 0
		for n < len(have) && n < len(name) && have[n] == name[n] {
			n++
		}
		best = max(best, n)
	}
	return best
}

// Exports iterates over the names with a prefix that l defines, except for a library of a platform.
func (l *Library) Exports(prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		t, ok := l.symbols.(*table)
		if !ok {
			return
		}
		for i := range t.exports.Len() {
			if name := t.exports.Name(i); strings.HasPrefix(name, prefix) && !yield(name) {
				return
			}
		}
	}
}

// Names returns the names by which DT_NEEDED finds the library: its SONAME and its file name.
func (l *Library) Names() []string {
	base := path.Base(l.Path)
	if l.SONAME == "" || l.SONAME == base {
		return []string{base}
	}
	return []string{l.SONAME, base}
}

// name returns the SONAME, or else the file name.
func (l *Library) name() string {
	if l.SONAME != "" {
		return l.SONAME
	}
	return path.Base(l.Path)
}

// FromObject returns the library for an object of the artifact.
func FromObject(p string, o *elfobj.Object) *Library {
	return &Library{
		Path:    p,
		SONAME:  o.SONAME,
		Needed:  o.Needed,
		RPath:   o.RPath,
		RunPath: o.RunPath,
		Kind:    FromArtifact,
		Known:   true,
		symbols: index(o.Exports, nodes(o), o.OldestVersion()),
	}
}

// InFolder returns the library for a file of the system with the given absolute path.
func InFolder(p string, o *elfobj.Object) *Library {
	l := FromObject(p, o)
	l.Kind, l.Origin = FromFolder, path.Dir(p)
	return l
}

// OfPlatform returns the library for a library of a platform.
func OfPlatform(p *platform.Platform, l *platform.Library) *Library {
	return &Library{
		Path:    l.SONAME,
		SONAME:  l.SONAME,
		Needed:  l.Needed,
		Kind:    FromPlatform,
		Origin:  p.Name,
		Known:   l.Known,
		symbols: provided{l},
	}
}

// OfPackage returns the library for a library of a release.
func OfPackage(r *packages.Release, l *packages.Library) *Library {
	out := &Library{
		Path:    l.Path,
		SONAME:  l.SONAME,
		Needed:  l.Needed,
		RunPath: l.RunPath,
		Kind:    FromPackage,
		Origin:  r.ID().String(),
		Package: r.ID(), Abridged: r.Abridged,
		Known:   l.Known,
		Imports: l.Imports,
		symbols: index(l.Exports, l.Versions, l.OldestVersion()),
	}
	if !l.Known && l.NearestExports.Len() > 0 {
		out.symbols, out.alike = index(l.NearestExports, nil, ""), true
	}
	return out
}

func nodes(o *elfobj.Object) []string {
	vs := make([]string, 0, len(o.VersionDefs))
	for _, d := range o.VersionDefs {
		vs = append(vs, d.Name)
	}
	return vs
}

// table contains the exports of an object.
type table struct {
	exports  *elfobj.Exports
	versions map[string]bool
	// The first version after the base definition: a reference without a version binds to it even
	// if it is hidden.
	oldest     string
	namespaces func() map[string]bool // see findNamespaces
}

func index(exports *elfobj.Exports, versions []string, oldest string) *table {
	t := &table{exports: exports, oldest: oldest, versions: make(map[string]bool, len(versions))}
	for _, v := range versions {
		t.versions[v] = true
	}
	for _, v := range exports.Versions() {
		t.versions[v] = true
	}
	t.namespaces = sync.OnceValue(t.findNamespaces)
	return t
}

func (t *table) defines(name, version string) bool {
	return elfobj.Binds(func(yield func(elfobj.Offer) bool) {
		for _, i := range t.exports.Named(name) {
			if !yield(t.exports.Offer(int(i), version, t.oldest)) {
				return
			}
		}
	})
}

func (t *table) hasVersion(version string) bool {
	return len(t.versions) == 0 || t.versions[version]
}

func (t *table) versionsOf(name string) []string {
	var vs []string
	for _, i := range t.exports.Named(name) {
		vs = append(vs, t.exports.Version(int(i)))
	}
	return vs
}

// provided uses the symbol table of a platform.
type provided struct{ l *platform.Library }

func (p provided) defines(name, version string) bool { return p.l.Binds(name, version) }

func (p provided) hasVersion(version string) bool {
	return len(p.l.Versions) == 0 || p.l.HasVersion(version)
}

func (p provided) versionsOf(name string) []string { return p.l.SymbolVersions(name) }

// Files are libraries in folders of the system. Each is read when a load first reaches it.
// Environments of one artifact share them.
type Files struct {
	open  func(path string) *Library
	known map[string]*Library
	order map[*Library]int32
	from  int // number of the first file; 0 until an environment uses one
}

// NewFiles returns an empty set. open returns the library at an absolute path, or nil if there
// is no loadable one.
func NewFiles(open func(path string) *Library) *Files {
	return &Files{open: open, known: map[string]*Library{}, order: map[*Library]int32{}}
}

// At returns the library at an absolute path, or nil if there is none.
func (f *Files) At(path string) *Library {
	l, ok := f.known[path]
	if !ok && path != "" {
		if l = f.open(path); l != nil {
			f.order[l] = int32(len(f.order))
		}
		f.known[path] = l
	}
	return l
}

// spare is how many more libraries than the first environment another one may have before its
// numbers would overlap those of the files.
const spare = 1 << 10

// placeOf returns the number of a library: its index in the environment, or for files a number
// larger than the index of any library.
func (e *Environment) placeOf(l *Library) int32 {
	if n, ok := e.place[l]; ok || e.Files == nil {
		return n
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return int32(e.Files.from) + e.Files.order[l]
}

// most returns the upper limit of the numbers.
func (e *Environment) most() int {
	if e.Files == nil || len(e.Files.order) == 0 {
		return len(e.place)
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return e.Files.from + len(e.Files.order)
}

// folders returns folders in the form that searches use: with a "/" at the end.
func folders(list []string) []string {
	var out []string
	for _, f := range list {
		out = append(out, cleaned(f)+"/")
	}
	return out
}
