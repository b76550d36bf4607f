package dynlink

import (
	"path"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/symindex"
)

// Kind says where a library comes from.
type Kind string

const (
	FromArtifact Kind = "artifact"
	FromPackage  Kind = "package"
	FromPlatform Kind = "platform"
	FromFolder   Kind = "folder" // of the system, and no part of what the platform promises
)

// Library is a shared object that can be loaded.
type Library struct {
	// in the artifact, or below site-packages; of a platform's library its SONAME, of a folder's
	// its absolute path
	Path    string
	SONAME  string // "" where it has none
	Needed  []string
	RPath   string
	RunPath string
	Kind    Kind
	// "manylinux_2_17_x86_64", "nvidia-nvjitlink-cu12==12.8.93", of a folder's library the folder;
	// "" for the artifact itself
	Origin string
	// the release that it belongs to; zero where Kind is not FromPackage
	Package packages.ID
	// where site-packages is below "/", for what is installed there; "" where that does not matter
	Site string
	// false: what it exports is not known, and nothing may be concluded from an absence
	Known bool

	symbols symbols
	alike   bool // not Known, and symbols are those of the nearest releases
}

// symbols answers what a library defines, in the terms of the loader's do_lookup_x (glibc
// elf/dl-lookup.c).
type symbols interface {
	defines(name, version string) bool // version "": an unversioned reference
	hasVersion(
		version string,
	) bool // the check of elf/dl-version.c; true where the library has no version table at all
	versionsOf(name string) []string

	each(
		names *symindex.Names,
		yield func(name, export int32),
	) // the exports that are asked for, a name's side by side or once
	serves(
		symbol, version string,
		of []symindex.Row,
	) bool // defines, of the rows that each gave for the symbol
	seen(
		symbol string,
		of []symindex.Row,
	) bool // the same by musl's find_sym, which knows no versions and passes over hidden definitions
}

// Defines tells whether a reference name@version binds here. An unversioned reference has version
// "".
func (l *Library) Defines(name, version string) bool { return l.symbols.defines(name, version) }

// HasVersion tells whether the loader's version check passes: the node is defined here, or no nodes
// at all are.
func (l *Library) HasVersion(version string) bool { return l.symbols.hasVersion(version) }

// VersionsOf lists the versions under which a symbol is defined here, oldest first where an order
// is known.
func (l *Library) VersionsOf(name string) []string { return l.symbols.versionsOf(name) }

// Similar is the length of the longest beginning that a name shares with one that a package's or an
// artifact's library defines: symbols of one project begin alike.
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

// Names are the names by which DT_NEEDED finds the library: its SONAME and its file name.
func (l *Library) Names() []string {
	base := path.Base(l.Path)
	if l.SONAME == "" || l.SONAME == base {
		return []string{base}
	}
	return []string{l.SONAME, base}
}

// name is the first of them.
func (l *Library) name() string {
	if l.SONAME != "" {
		return l.SONAME
	}
	return path.Base(l.Path)
}

// FromObject makes a library of an object of the artifact.
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

// InFolder makes a library of a file of the system, by the absolute path to it.
func InFolder(p string, o *elfobj.Object) *Library {
	l := FromObject(p, o)
	l.Kind, l.Origin = FromFolder, path.Dir(p)
	return l
}

// OfPlatform makes a library of one that a platform provides.
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

// OfPackage makes a library of one that a release brings.
func OfPackage(r *packages.Release, l *packages.Library) *Library {
	out := &Library{
		Path:    l.Path,
		SONAME:  l.SONAME,
		Needed:  l.Needed,
		RunPath: l.RunPath,
		Kind:    FromPackage,
		Origin:  r.ID().String(),
		Package: r.ID(),
		Known:   l.Known,
		symbols: index(l.Exports, l.Versions, l.OldestVersion()),
	}
	if !l.Known && l.Like.Len() > 0 {
		out.symbols, out.alike = index(l.Like, nil, ""), true
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

// table is what an object exports.
type table struct {
	exports  *elfobj.Exports
	versions map[string]bool
	// the first node after the base: an unversioned reference binds to it though it is hidden
	oldest string
}

func index(exports *elfobj.Exports, versions []string, oldest string) *table {
	t := &table{exports: exports, oldest: oldest, versions: make(map[string]bool, len(versions))}
	for _, v := range versions {
		t.versions[v] = true
	}
	for _, v := range exports.Versions() {
		t.versions[v] = true
	}
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

func (t *table) hasVersion(
	version string,
) bool {
	return len(t.versions) == 0 || t.versions[version]
}

func (t *table) versionsOf(name string) []string {
	var vs []string
	for _, i := range t.exports.Named(name) {
		vs = append(vs, t.exports.Version(int(i)))
	}
	return vs
}

// provided reads a platform's own table.
type provided struct{ l *platform.Library }

func (p provided) defines(name, version string) bool { return p.l.Binds(name, version) }

func (p provided) hasVersion(version string) bool {
	return len(p.l.Versions) == 0 || p.l.HasVersion(version)
}

func (p provided) versionsOf(name string) []string { return p.l.SymbolVersions(name) }

// Files are libraries of folders of a system, read when a path leads to them. Environments of one
// artifact share them.
type Files struct {
	open  func(path string) *Library
	known map[string]*Library
	order map[*Library]int32
	from  int // the place of the first; 0 as long as no environment has any
}

// NewFiles makes libraries of files: open gives the one at an absolute path, nil where there is
// none that can be loaded.
func NewFiles(open func(path string) *Library) *Files {
	return &Files{open: open, known: map[string]*Library{}, order: map[*Library]int32{}}
}

// At is the library at an absolute path, nil where there is none.
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

// spare is how many libraries an environment may know beyond those of the first one before the
// places of files would be theirs too.
const spare = 1 << 10

// placeOf numbers a library: those given by their order, files behind all that an environment may
// be given.
func (e *Environment) placeOf(l *Library) int32 {
	if n, ok := e.place[l]; ok || e.Files == nil {
		return n
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return int32(e.Files.from) + e.Files.order[l]
}

// most is how many places there are.
func (e *Environment) most() int {
	if e.Files == nil || len(e.Files.order) == 0 {
		return len(e.place)
	}
	if e.Files.from == 0 {
		e.Files.from = 2*len(e.place) + spare
	}
	return e.Files.from + len(e.Files.order)
}

// folders writes folders as a search has them: with "/" at their end.
func folders(list []string) []string {
	var out []string
	for _, f := range list {
		out = append(out, cleaned(f)+"/")
	}
	return out
}
