package rules

import (
	"cmp"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/shellword"
)

var undefinedSymbol = &analyzer.Rule{
	ID:       "undefined-symbol",
	Title:    "No loaded library defines an imported symbol",
	Severity: analyzer.Error,
	Doc: `An object imports a symbol, but neither the libraries that it loads through DT_NEEDED nor
the process that loads it define it. With RTLD_NOW, which Python uses, the load fails: "undefined
symbol: dlopen". Weak imports are not reported.

If a library of the same wheel is loaded under the name that the import has in DT_VERNEED, and lacks
the version, the load fails with "version ` + "`FOO_1'" + ` not found": another build of the library is
bundled than the one that the object was linked with.

Usually a library is missing on the link line, or comes before the objects, where the linker drops
it (--as-needed). A symbol may also have moved: dlopen is in libc.so.6 since glibc 2.34, and in
libdl.so.2 before. A library of C++ may have the function with the other ABI of std::string.

The library may also be linked, and define the symbol, but not export it: it is compiled with
-fvisibility=hidden or CXX_VISIBILITY_PRESET of CMake, or its version script makes the symbol local.
This is seen in .symtab, which strip removes; of a stripped library with similar names the
possibility is reported. Fix: declare the symbol with ` + "`__attribute__((visibility(\"default\")))`" + `
(` + "`generate_export_header`" + ` of CMake), or list it under ` + "`global:`" + ` in the version script.

Fix: name the library where the module is built, for example libz.so.1:

- setuptools: ` + "`Extension(..., libraries=[\"z\"])`" + `
- CMake: ` + "`target_link_libraries(MODULE PRIVATE z)`" + `; Meson: ` + "`dependencies: dependency('zlib')`" + `
- Cargo, maturin: ` + "`println!(\"cargo:rustc-link-lib=z\");`" + ` in build.rs

Severity: a warning where a Node.js addon uses the C++ API of V8, which changes with each release
line; where a library outside the load has the symbol, and something may have loaded that library
with RTLD_GLOBAL before; for a plug-in whose host is not known; where a private symbol of CPython
(_Py…) is missing that a patch release may have; in a deb or rpm where no library has the symbol;
and in a conda package that depends on packages which were not read (--conda-prefix). For a package
that is imported first (--first), only the libraries that it opens with RTLD_GLOBAL are visible to
all others, as far as that is known (torch).

A library or module of the same wheel that has the symbol does not help by being imported first:
Python and ctypes load with RTLD_LOCAL. It is an error if nothing can have loaded it with
RTLD_GLOBAL before a module that needs the symbol. The Python sources of the wheel are read for
RTLD_GLOBAL, sys.setdlopenflags, a mode that is passed to ctypes.CDLL, and LD_PRELOAD. It is a
warning if they contain one of these, if another module of the wheel may load libraries, if a
program of the wheel loads the library, if the wheel has code without its source or no __init__.py
of the package, and if no module of the wheel loads the object.

The exports of CPython are known by release (2.7, 3.6 to 3.14). The file name of the module or the
wheel's tag decides which release loads it.

On macOS an import names the library that has to export the symbol, and it does not help that
another library has it: "Symbol not found: _f … Expected in: libY.dylib". An import without a
library (flat namespace, -undefined dynamic_lookup) may be exported by anything that is loaded, and
the linker does not notice that a library was forgotten. It is a warning where another file of the
wheel or a declared package may have the symbol, and not reported where a system library is loaded
whose exports are not known.

On Windows each import names a DLL, and that DLL, or the one that it forwards the export to, does
not have the name or ordinal. The import fails: "The specified procedure could not be found"
(error 127). Of Windows the exports of kernel32.dll, ntdll.dll, advapi32.dll, user32.dll,
gdi32.dll, ws2_32.dll and the C runtime are known, without ordinals.

Not detected: symbols of libraries whose exports are not known, of a program in the same artifact,
of a library that another library of the artifact opens by name before it opens a plug-in, of the
host process (Py… of a module that several releases, PyPy, a debug or a free-threaded build load;
napi_…, uv_… and OpenSSL in a Node.js addon; JVM_… in a library with native methods), and symbols of
an object that misses a whole library.`,
	References: []string{"glibc: elf/dl-lookup.c", "gABI, symbol table"},
	Check:      checkUndefinedSymbol,
	Windows:    checkUndefinedImports,
	MacOS:      checkUndefinedSymbolMacOS,
}

func checkUndefinedSymbol(p *analyzer.Pass) {
	later := newLaterSymbols(p.Platform)
	retag := sync.OnceValue(func() []fix.Candidate { return retagging(p) })
	for _, v := range p.Views {
		ofSystem := func(b dynlink.Binding) bool { return later.node(b.Import) != node{} }
		var lost []dynlink.Binding
		for b := range undefined(p, v) {
			if len(v.Loading.Missing) > 0 && mayBeMissing(p, v, b) &&
				!strings.HasPrefix(later.node(b.Import).Version, "GLIBC_") {
				// It may be in the missing library, which is reported. Some libraries export the C++
				// runtime of their compiler, none exports functions of glibc.
				continue
			}
			if lost = append(lost, b); len(lost) > analyzer.MaxFindings {
				break // no more are listed
			}
		}
		var elsewhereInPackage []fix.Candidate // one search for all missing symbols of the object
		if ofPackages := slices.DeleteFunc(slices.Clone(lost), ofSystem); len(ofPackages) > 0 &&
			!v.Alternative {
			elsewhereInPackage = definedBy(p, v, ofPackages)
		}
		for n, b := range lost {
			if !p.Room(v.Path) {
				break
			}
			i := b.Import
			if v.Host == analyzer.HostUnknown && ofProgram(p, i.Name) || ofOpened(p, v, i.Name) {
				continue
			}
			f := analyzer.Finding{
				Object:  v.Path,
				Symbol:  i.Name,
				Version: i.Version,
				Library: i.Library,
				Chain:   analyzer.Chain(v.Loading.Chain(v.Library)...),
			}
			f.Message = fmt.Sprintf(
				"%s imports %s, which no library that it loads on %s defines",
				v.Path,
				analyzer.Versioned(i.Name, i.Version),
				p.Platform.Name,
			)
			if n := later.node(i); n != (node{}) {
				f.Library, f.Version = n.Library, n.Version
				f.Message += fmt.Sprintf(". %s of newer systems has it%s", n.Library,
					since(n.Version, platform.First(p.Platform.Arch, n.Library, n.Version)...))
				p.Report(f, slices.Concat(retag(), fromHeaders(i), lowering(p, v, i))...)
				continue
			}
			if lacksVersion(b) {
				f.ProvidedBy = &b.Provider.Path
				f.Message = fmt.Sprintf(
					"%s imports %s, but %s, which it loads as %s, does not have that version",
					v.Path, analyzer.Versioned(i.Name, i.Version), b.Provider.Path, i.Library)
				if have := b.Provider.VersionsOf(i.Name); len(have) > 0 {
					f.Message += ", only " + analyzer.Versioned(i.Name, have[len(have)-1])
				}
				f.Message += fmt.Sprintf(". The load fails with: version `%s' not found", i.Version)
				if v.Alternative || slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
					return slices.Contains(u.Library.Names(), i.Library) &&
						u.Library.Defines(i.Name, i.Version)
				}) {
					f.Severity = analyzer.Warning
					f.Message += ", unless another copy of the library is already loaded"
				}
				p.Report(f, fix.Candidate{Fix: fix.Fix{
					Kind: fix.KindRebuild,
					Title: "Bundle the " + i.Library + " that " + path.Base(v.Path) +
						" was linked with, or link with the one that is bundled",
				}})
				continue
			}
			fixes := slices.Clone(elsewhereInPackage)
			owners := platform.Providers(p.Platform, i.Name)
			var linked *dynlink.Library
			var of packages.ID
			twin, other, flag := otherStringABI(p, v, i.Name)
			if n < maxGuesses && other == nil {
				linked, of = otherPackage(v, i.Name)
			}
			switch other := elsewhere(p, v, i.Name); {
			case private(p, b):
				f.Message = fmt.Sprintf(
					"%s imports %s, which is a private symbol of %s. No release of the library exports it",
					v.Path,
					analyzer.Versioned(i.Name, i.Version),
					i.Library,
				)
				fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
					Kind: fix.KindRebuild,
					Title: "Link against the " + i.Library + " of the build image, which does not " +
						"export private symbols",
				}})
			case v.Host == analyzer.HostPython && v.Host.Exports(i.Name):
				fixes = append(fixes, notInRelease(&f, pythonOf(p, v))...)
			case v.Host.Unstable(i.Name):
				f.Severity = analyzer.Warning
				f.Message += ofNode + moduleVersion(v)
				fixes = append(fixes, rebuildForNode)
			case len(owners) > 0 && (v.Host != analyzer.HostUnknown || !p.Facts.Packaged()):
				owner := owners[0].SONAME
				f.Library = owner
				f.Message += fmt.Sprintf(". It is in %s, which is missing from DT_NEEDED", owner)
				fixes = append(fixes, linkWith(p, v, owner)...)
			case other != nil && inPlaceOf(v, other) != nil:
				f.ProvidedBy = &other.Path
				taken := inPlaceOf(v, other)
				f.Message += fmt.Sprintf(
					". %s has it, but %s of %s is already loaded as %s",
					other.Path,
					taken.Path,
					taken.Origin,
					taken.Names()[0],
				)
			case other != nil:
				f.ProvidedBy = &other.Path
				f.Message += fmt.Sprintf(
					". %s has it, but is visible only if it was loaded with RTLD_GLOBAL before",
					other.Path,
				)
				if mayBeGlobal(p, v, i.Name) {
					f.Severity = analyzer.Warning
				} else {
					f.Message += ", and nothing in the wheel does that"
				}
				fixes = append(fixes, needed(p, v, other)...)
			case hidden(v, i.Name) != nil:
				l := hidden(v, i.Name)
				f.ProvidedBy = &l.Path
				f.Message += fmt.Sprintf(
					". %s of %s has it, but is visible only to libraries that link it",
					l.Path,
					l.Origin,
				)
				fixes = append(fixes, linkWith(p, v, l.Names()[0])...)
			case keeps(p, v, i.Name) != nil:
				f.NotExported = keeps(p, v, i.Name).Names()[0]
				f.Library = f.NotExported
				f.Message += fmt.Sprintf(
					". %s, which it links, defines it as a local symbol, and does not export it", f.Library)
				if v.Host == analyzer.HostUnknown || p.Facts.Packaged() || v.Alternative {
					f.Severity = analyzer.Warning
				}
				fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
					Kind: fix.KindSource, Title: "Export the symbol from " + f.Library + export,
				}})
			case v.Alternative:
				f.Severity = analyzer.Warning
				f.Message += ". This file is one of several variants, and only one is loaded"
			case p.Platform.Libc == "musl":
				fixes = append(fixes, forMusl(p, i.Name)...)
			case v.Host != analyzer.HostUnknown && p.Facts.Conda():
				if others := p.Facts.OtherPackages(); len(others) > 0 && !p.Installed {
					f.Severity = analyzer.Warning
					f.Message += ". It may be in a package that it depends on and that was not read: " +
						analyzer.List(others, 3, len(others), "package")
				}
			case v.Host == analyzer.HostUnknown, p.Facts.Packaged():
				f.Severity = analyzer.Warning
				f.Message += ". The program that loads the file must define the symbol"
				fixes = append(fixes, rebuildForHost)
			case linked != nil:
				f.Package = of.Name
				f.Message += fmt.Sprintf(". It links %s, and that of %s %s does not have it",
					linked.Names()[0], of.Name, of.Version)
				if len(fixes) == 0 {
					fixes = otherRelease(p, v, linked, of)
				}
			case len(fixes) == 0 && n < maxGuesses:
				if l := mayKeep(p, v, i.Name); l != nil {
					f.NotExported = l.Names()[0]
					f.Message += fmt.Sprintf(". %s, which it links, has similar ones: it may be another version "+
						"than the one it was built with, or define the symbol without exporting it",
						f.NotExported)
					fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
						Kind: fix.KindSource,
						Title: "Use the " + f.NotExported + " that it was built with; if its source has the " +
							"symbol, export it" + export,
					}})
				}
			}
			if other != nil {
				f.Message += fmt.Sprintf(
					". %s has %s, the same function with the other ABI of std::string",
					other.Names()[0],
					twin,
				)
				f.Library = cmp.Or(f.Library, other.Names()[0])
				fixes = append(fixes, withStringABI(v, other, flag)...)
			}
			p.Report(f, fixes...)
		}
	}
}

const ofNode = ". It belongs to the C++ API of Node.js, whose symbols change with each " +
	"NODE_MODULE_VERSION"

// Fixes of a plug-in that imports a symbol of the program that loads it.
var (
	rebuildForNode = fix.Candidate{Fix: fix.Fix{
		Kind:    fix.KindRebuild,
		Title:   "Build for each release line of Node.js, or use Node-API, which is stable",
		Command: "npm rebuild",
	}}
	rebuildForHost = fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindRebuild,
		Title: "Build against the headers and libraries of the program that loads it",
	}}
)

// moduleVersion returns the NODE_MODULE_VERSION that an addon was built for, or "" if its exports
// do not contain it (node.h, NODE_MODULE_INITIALIZER_BASE).
func moduleVersion(v *analyzer.View) string {
	for _, e := range v.Exports.All() {
		if n, ok := strings.CutPrefix(e.Name, "node_register_module_v"); ok && n != "" {
			return fmt.Sprintf(" (NODE_MODULE_VERSION %s)", n)
		}
	}
	return ""
}

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

// undefined iterates over the imports that no library of the load defines.
func undefined(p *analyzer.Pass, v *analyzer.View) iter.Seq[dynlink.Binding] {
	ofHost := ofHost(p, v)
	return func(yield func(dynlink.Binding) bool) {
		for b := range v.Bindings().Failed() {
			own := b.Provider != nil && b.Provider.Kind == dynlink.FromArtifact
			lost := b.Outcome == dynlink.NoSymbol && (b.Provider == nil || own) ||
				b.Outcome == dynlink.NoVersion && own || private(p, b)
			if lost && !ofHost(b.Import.Name) && !yield(b) {
				return
			}
		}
	}
}

// lacksVersion reports whether a library of the artifact is loaded under the name in DT_VERNEED and
// lacks the version, so that the load fails whatever else is loaded.
func lacksVersion(b dynlink.Binding) bool {
	return b.Outcome == dynlink.NoVersion && b.Provider.Kind == dynlink.FromArtifact
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

// mayBeMissing reports whether a library that was not found may define an import. Known system
// libraries have C functions: they do not define a C++ name with the prefix of a loaded library.
func mayBeMissing(p *analyzer.Pass, v *analyzer.View, b dynlink.Binding) bool {
	for _, m := range v.Loading.Missing {
		if _, known := platform.Known(m.Name); !known && !ofInterpreter(p, m.Name) {
			return true
		}
	}
	return !strings.HasPrefix(b.Import.Name, "_Z") ||
		!slices.ContainsFunc(v.Loading.Found, func(f dynlink.Found) bool {
			return f.Library.Kind == dynlink.FromPackage && f.Library.Known &&
				f.Library.Similar(b.Import.Name) >= minSimilar
		})
}

// laterSymbols finds the symbols that a later release of glibc or GCC added. An object that was
// linked without these libraries imports them without a version.
type laterSymbols struct {
	platform *platform.Platform
	newest   *platform.Platform // nil: the platform has no symbol versions
	nodes    map[string]node    // by symbol; the zero value for others
}

func newLaterSymbols(p *platform.Platform) *laterSymbols {
	s := &laterSymbols{platform: p, nodes: map[string]node{}}
	for _, q := range platform.All(p.Arch) {
		if q.Kind == platform.Policy && q.Libc == "glibc" && p.Libc == "glibc" {
			s.newest = q
		}
	}
	return s
}

// node returns the version that a later release has for an unversioned import; the zero value for a
// symbol that the platform has too, or that no release has.
func (s *laterSymbols) node(i elfobj.Import) node {
	if i.Version != "" || s.newest == nil {
		return node{}
	}
	n, ok := s.nodes[i.Name]
	if ok {
		return n
	}
	for _, l := range platform.Providers(s.newest, i.Name) {
		versions := l.SymbolVersions(i.Name)
		if len(versions) > 0 && platform.Describe(versions[0]) != "" &&
			!s.platform.HasVersion(versions[0]) && len(platform.Providers(s.platform, i.Name)) == 0 {
			n = node{l.SONAME, versions[0]}
			break
		}
	}
	s.nodes[i.Name] = n
	return n
}

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
	linked := func(l *analyzer.View) bool {
		return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
			return u != l && u.Loading.Has(l.Library)
		})
	}
	opened := func(l *analyzer.View) bool {
		return slices.ContainsFunc(p.Views, func(u *analyzer.View) bool {
			return u != v && u != l && slices.ContainsFunc(l.Library.Names(), func(name string) bool {
				return slices.Contains(u.Opens, name)
			})
		})
	}
	return !v.Extension() && !linked(v) && slices.ContainsFunc(p.Views, func(l *analyzer.View) bool {
		return l != v && !l.Extension() && l.Library.Defines(symbol, "") &&
			(opened(l) || opened(v) && !linked(l))
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

// export says how a library exports a symbol.
const export = `: with __attribute__((visibility("default"))) where it is compiled with ` +
	"-fvisibility=hidden (CXX_VISIBILITY_PRESET of CMake), or with global: in the version script"

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

// otherRelease returns the fixes for a library of another package that lacks symbols: the version
// that the wheel requires, if it is not the given one, or else one that has them.
func otherRelease(
	p *analyzer.Pass,
	v *analyzer.View,
	l *dynlink.Library,
	of packages.ID,
) []fix.Candidate {
	if p.Facts.Metadata != nil {
		for _, q := range p.Facts.Metadata.Requires {
			given, err := pkgmeta.ParseVersion(of.Version)
			if q.Name == of.Name && err == nil && !q.Admits(given) {
				return []fix.Candidate{{Fix: fix.Fix{
					Kind:    fix.KindEnvironment,
					Title:   "Use the version that it requires: " + q.Name + q.Spec,
					Command: "pip install " + shellword.Quote(q.Name+q.Spec),
				}}}
			}
		}
	}
	lost := &missingSymbols{view: v, library: l}
	for b := range v.Bindings().Failed() {
		if b.Outcome == dynlink.NoSymbol && b.Provider == nil {
			lost.names = append(lost.names, b)
		}
	}
	build := fix.Candidate{Fix: fix.Fix{
		Kind:  fix.KindRebuild,
		Title: fmt.Sprintf("Build against %s %s", of.Name, of.Version),
	}}
	first, _, ok := p.Releases.First(of.Name, of.Version, func(r *packages.Release) bool {
		return hasAll(r, lost)
	})
	if !ok {
		return []fix.Candidate{build}
	}
	return []fix.Candidate{{Fix: fix.Fix{
		Kind: fix.KindPin, Title: "Pin " + of.Name + ">=" + first,
		Requirement: of.Name + ">=" + first,
	}}, build}
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

// linkWith returns the fixes that add a library to DT_NEEDED, by the linker and by patchelf.
func linkWith(p *analyzer.Pass, v *analyzer.View, soname string) []fix.Candidate {
	change := fix.AddNeeded{Object: v.Path, Libraries: []string{soname}}
	return []fix.Candidate{
		{
			Fix: fix.Fix{
				Kind:    fix.KindLinkFlag,
				Title:   "Link " + v.Path + " with the library that has it",
				Command: linkFlags([]string{soname}),
			},
			Change: change,
		},
		{
			Fix: fix.Fix{
				Kind:    fix.KindPatchelf,
				Title:   "Add the DT_NEEDED entry to the finished file",
				Command: edit(p, v.Path, addNeeded([]string{soname})),
			},
			Change: change,
		},
	}
}

// needed returns the fixes that add a library of the artifact to DT_NEEDED, with a path to it if
// the object has none, by the linker and by patchelf.
func needed(p *analyzer.Pass, v *analyzer.View, l *dynlink.Library) []fix.Candidate {
	soname := l.Names()[0]
	link := "Link " + v.Path + " with " + soname + " (CMake: target_link_libraries"
	c := fix.Candidate{
		Fix: fix.Fix{
			Kind:    fix.KindPatchelf,
			Title:   "In " + v.Path + ", add a DT_NEEDED entry for " + soname,
			Command: edit(p, v.Path, addNeeded([]string{soname})),
		},
		Change: fix.AddNeeded{Object: v.Path, Libraries: []string{soname}},
	}
	if to := runPath(p, v, path.Dir(l.Path)); p.Facts.Kind == analyzer.KindWheel && to != "" &&
		!leadsTo(
			v.Library,
			ownPaths(v.Library),
			path.Dir(l.Path),
		) { // patchelf 0.12 loses one of two edits
		c.Fix.Title += " and a RUNPATH to its folder"
		link += ", and INSTALL_RPATH for the path " + to
		c.Fix.Command = edit(p, v.Path, addNeeded([]string{soname}), setRunPath(p, to))
		c.Change = fix.All{c.Change, fix.SetRunPath{Object: v.Path, RunPath: to}}
	}
	return []fix.Candidate{{
		Fix: fix.Fix{Kind: fix.KindLinkFlag, Title: link + ")"}, Change: c.Change,
	}, c}
}

// ownPaths returns the search path of a library: DT_RUNPATH, or DT_RPATH without it.
func ownPaths(l *dynlink.Library) string {
	if l.RunPath != "" {
		return l.RunPath
	}
	return l.RPath
}

// leadsTo reports whether one of the paths of a library is a folder of the artifact.
func leadsTo(l *dynlink.Library, paths, dir string) bool {
	for _, p := range strings.Split(paths, ":") {
		if at, ok := elfobj.Origin(p, path.Dir(l.Path)); ok && at == path.Clean(dir) {
			return true
		}
	}
	return false
}
