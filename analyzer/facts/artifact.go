package facts

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/platform/debian"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Values of Artifact.Kind.
const (
	KindWheel   = unpack.KindWheel
	KindArchive = unpack.KindArchive // another archive
	KindObject  = unpack.KindObject  // a single file
)

// Artifact is what was read from a wheel, an archive or a single file.
type Artifact struct {
	Path   string // as given; a member of an archive is "outer.zip/inner.whl"
	SHA256 string // of its bytes, in hex
	Kind   string // KindWheel, KindArchive or KindObject
	Format string // unpack.FormatDeb …; "" for an object
	// Depends is what a deb, rpm, apk, conda or npm package declares as dependencies: names of
	// packages, and for an rpm or apk also capabilities.
	Depends []string
	// Arch is the architecture that a deb, rpm, apk or conda package declares, as Object.BuiltFor
	// names it, or for another system as conda does: "osx-arm64". It is "" if it is for all, or not
	// known, and for other artifacts.
	Arch string
	// Glibc is the oldest version that a conda package allows with a dependency on __glibc: "2.17";
	// "" if it has none.
	Glibc string
	Wheel *pkgmeta.WheelName // nil if its name is not that of a wheel
	// VariantLabel is that of the name of a variant wheel (PEP 825); "" for other wheels.
	VariantLabel string
	Metadata     *pkgmeta.Metadata // nil if there is none or it could not be read
	Objects      []*Object         // ELF files, sorted by path
	MachO        []*MachObject     // Mach-O files, sorted by path
	PE           []*PEObject       // PE files, sorted by path
	Android      []*Object         // ELF files of a wheel for Android, sorted by path
	Wasm         []*WasmObject     // modules of a wheel for WebAssembly, sorted by path
	UnreadPE     []string          // paths of PE files that could not be read
	// UnreadMachO are paths of Mach-O files without a readable slice.
	UnreadMachO []string
	// Startup is how Python sources change the search for libraries; nil if none was read.
	Startup *startup.Sources
	// Loads is which libraries the Python sources of a wheel or conda package for Linux load, or of
	// a wheel for any system; nil for other artifacts, and for a conda package without a source.
	Loads *startup.Loads
	// Program is the Python sources of a wheel for Linux, or for any system.
	Program startup.Program
	// SetsUp is set if a conda package or deb has files that may lead the loader to its libraries:
	// scripts that are run on activation of the environment or after the installation, those that
	// start its programs, and the configuration of the loader.
	SetsUp bool
	// Policy is the result of auditwheel's checks; nil if it is not a wheel or not named like one.
	Policy *wheelpolicy.Policy
	// The result of abi3audit's checks; nil for a wheel without an abi3 tag.
	ABI3   *abi3.Result
	Inside *Inside // what a wheel declares about its members; nil for other artifacts
	// Headers is set if it contains headers of C or C++, so that programs may be compiled with it.
	Headers bool
	// Sources is set if a wheel has Python sources, read or not.
	Sources bool

	audit *audit `compact:"-"` // set while it is read
	// forOthers are files for a system that the tags do not name.
	forOthers []Unread
	conda     bool // it contains the index of a conda package
	// debs returns what the packages contain that a deb depends on; nil for other artifacts.
	debs func() *debian.Closure `compact:"-"`
	// packages in a deb's Recommends, and further alternatives in its Depends
	recommends, alternatives []string `compact:"-"`

	index func() *startup.Index `compact:"-"` // of Program
	// see Opened; nil without a source that names RTLD_GLOBAL
	opened func() []string `compact:"-"`
	// Top-level packages of a wheel or conda package: folders with an __init__.py.
	roots       []string
	links       map[string][]string           `compact:"-"` // by target, while it is read
	linkCount   int                           `compact:"-"`
	system      map[string][]byte             `compact:"-"` // texts of a root, see isSystemFile
	libraryPath []string                      `compact:"-"` // of a container image, see unpack.Package
	platforms   map[string]*platform.Platform `compact:"-"` // see RootPlatform
}

// Binaries is the number of files that are checked, of all formats.
func (a *Artifact) Binaries() int {
	return len(a.Objects) + len(a.MachO) + len(a.PE) + len(a.Android) + len(a.Wasm)
}

// unsearched reports whether Opens of an object is not known.
func (a *Artifact) unsearched() bool {
	return slices.ContainsFunc(a.Objects, func(o *Object) bool { return o.Unsearched })
}

// Tagged reports whether a wheel's tags name an architecture.
func (a *Artifact) Tagged(arch string) bool {
	return a.Wheel != nil && slices.ContainsFunc(a.Wheel.Tags, func(t pkgmeta.Tag) bool {
		return platform.ParseTag(t.Platform).Arch == arch
	})
}

// MayPreload reports whether Python code may load a library of the artifact before it imports a
// module: a source of the artifact, or, where the package of the module is not in it, a source of
// another artifact. names are SONAME and path of the library. It is true if the sources were not
// read.
func (a *Artifact) MayPreload(module string, names ...string) bool {
	return a.Loads == nil || a.packagedElsewhere(module) ||
		slices.ContainsFunc(names, a.Loads.May) &&
			a.before(module, func(e startup.Event) bool { return e.Load && a.mayBe(e.At, names) })
}

// mayBe reports whether a file that a source loads may be a library with these names. It is not if
// no file is there.
func (a *Artifact) mayBe(at string, names []string) bool {
	if at == "" {
		return true
	}
	top, _, _ := strings.Cut(at, "/")
	known := false
	for _, o := range a.Objects {
		member := Installed(o.Path)
		if member == at {
			return slices.ContainsFunc(names, func(n string) bool {
				return n == o.SONAME || path.Base(n) == path.Base(at)
			})
		}
		known = known || strings.HasPrefix(member, top+"/")
	}
	return !known
}

// MayLoadGlobally reports whether Python code may have loaded a library of the artifact with
// RTLD_GLOBAL before it imports a module, like MayPreload.
func (a *Artifact) MayLoadGlobally(module string) bool {
	return a.Loads == nil || a.packagedElsewhere(module) || a.Loads.MayGlobal() &&
		a.before(module, func(e startup.Event) bool { return e.Global || e.Load && e.Name == "" })
}

// before reports whether something may happen before a module is imported, in one of the ways to
// import it. It may if the sources do not show that.
func (a *Artifact) before(module string, happens func(startup.Event) bool) bool {
	if len(a.Program) == 0 || a.Loads.Opaque() {
		return true
	}
	for _, r := range a.index().Starts(ModuleName(module)) {
		if !r.Reached || slices.ContainsFunc(r.Events, func(e startup.Event) bool {
			return e.Name == "" || happens(e)
		}) {
			return true
		}
	}
	return false
}

// Keeps reports whether importing the packages of a wheel works if a file of it cannot be loaded as
// a library: see startup.Index.Keeps. It is false for a module with an init function, which Python
// may import. names are others of the file.
func (a *Artifact) Keeps(file string, names ...string) bool {
	if len(a.Program) == 0 || a.Loads == nil || a.Loads.Opaque() {
		return false
	}
	return !slices.ContainsFunc(a.Objects, func(o *Object) bool {
		return o.Path == file && o.Exports.Any(isHook)
	}) && a.index().Keeps(Installed(file), names...)
}

// Opens reports whether the import of a package of the artifact loads a file of it by its path, in
// any case, and fails if that fails: see startup.Index.Opens.
func (a *Artifact) Opens(file string) bool {
	if len(a.Program) == 0 {
		return false
	}
	_, ok := a.index().Opens(Installed(file))
	return ok
}

// Opened returns what the import of a package of the artifact opens with RTLD_GLOBAL, perhaps only
// under a condition: file names of libraries and, with a slash, paths of modules (ModuleName).
func (a *Artifact) Opened() []string {
	if a.opened == nil {
		return nil
	}
	return a.opened()
}

// prepare sets what is computed of the sources when it is needed.
func (a *Artifact) prepare() {
	a.index = sync.OnceValue(func() *startup.Index { return a.Program.Index() })
	if a.Loads != nil && a.Loads.MayGlobal() {
		a.opened = sync.OnceValue(a.findOpened)
	}
}

// findOpened is Opened, which is needed rarely.
func (a *Artifact) findOpened() (out []string) {
	for name := range a.Program {
		if strings.Contains(name, "/") {
			continue
		}
		opened, _ := a.Program.Opened(name)
		out = append(out, opened...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Imports reports whether importing the package of a wheel imports a module of it in any case. The
// package has the name of the wheel, or is the only one.
func (a *Artifact) Imports(module string) bool {
	name := ModuleName(module)
	pkg, _, _ := strings.Cut(name, "/")
	return (len(a.roots) == 1 || a.Wheel != nil &&
		pkgmeta.Normalize(pkg) == pkgmeta.Normalize(a.Wheel.Name)) &&
		a.Program.Needs(pkg, name)
}

// Names reports whether a source of the wheel imports a module of it, under any condition.
func (a *Artifact) Names(module string) bool {
	return len(a.Program.Uses([]string{ModuleName(module)})) > 0
}

// ImportsOther reports whether importing a package of a wheel imports a module of another
// distribution in any case. Packages are as in Imports.
func (a *Artifact) ImportsOther(module string) bool {
	return slices.ContainsFunc(a.roots, func(pkg string) bool {
		return (len(a.roots) == 1 || a.Wheel != nil &&
			pkgmeta.Normalize(pkg) == pkgmeta.Normalize(a.Wheel.Name)) &&
			a.Program.Needs(pkg, module)
	})
}

// ModuleName returns the name under which Python imports a member of a wheel: "pkg/_module" for
// pkg/_module.abi3.so.
func ModuleName(member string) string {
	at := Installed(member)
	name, _, _ := strings.Cut(path.Base(at), ".")
	return path.Join(path.Dir(at), name)
}

// packagedElsewhere reports whether another artifact may have the __init__.py of a module's
// package: this one has none, and the package is not called like the artifact, or a package that
// it depends on is called similarly.
func (a *Artifact) packagedElsewhere(module string) bool {
	first, _, folder := strings.Cut(Installed(module), "/")
	if !folder || slices.Contains(a.roots, first) {
		return false
	}
	return a.Metadata == nil ||
		pkgmeta.Normalize(first) != pkgmeta.Normalize(a.Metadata.Name) ||
		slices.ContainsFunc(a.Metadata.Requires, func(r pkgmeta.Requirement) bool {
			return strings.Contains(pkgmeta.Normalize(r.Name), pkgmeta.Normalize(first))
		})
}

// PlatformTags returns the platform tags of a wheel ("manylinux_2_17_x86_64"), or nil for other
// artifacts.
func (a *Artifact) PlatformTags() (out []string) {
	if a.Wheel == nil {
		return nil
	}
	for _, t := range a.Wheel.Tags {
		out = append(out, t.Platform)
	}
	return out
}

// ForOtherLibc reports whether an object was built for another libc than the given one, while
// the artifact also has objects for this one: the installer or the program selects one of them.
func (a *Artifact) ForOtherLibc(o *Object, libc string) bool {
	other := func(x *Object) bool { return x.Musl() != (libc == "musl") && x.namesLibc() }
	return other(o) &&
		slices.ContainsFunc(a.Objects, func(x *Object) bool { return x.namesLibc() && !other(x) })
}

// Libcs returns the libc families that the objects of an architecture were linked with:
// "glibc", "musl" or both. It is glibc if no object names a libc.
func (a *Artifact) Libcs(arch string) []string {
	var glibc, musl bool
	for _, o := range a.Objects {
		if o.Arch() == arch {
			musl = musl || o.Musl()
			glibc = glibc || o.namesLibc() && !o.Musl()
		}
	}
	switch {
	case musl && glibc:
		return []string{"glibc", "musl"}
	case musl:
		return []string{"musl"}
	}
	return []string{"glibc"}
}
