package rules

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/platform"
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

The libraries of GLib, of X11 and of expat have no symbol versions. A policy includes systems with
different releases of them, and a symbol that one of these does not have is missing there:
libglib-2.0.so.0 of Debian 12 does not have g_string_free_and_steal.

Fix: name the library where the module is built, for example libz.so.1:

- setuptools: ` + "`Extension(..., libraries=[\"z\"])`" + `
- CMake: ` + "`target_link_libraries(MODULE PRIVATE z)`" + `; Meson: ` + "`dependencies: dependency('zlib')`" + `
- Cargo, maturin: ` + "`println!(\"cargo:rustc-link-lib=z\");`" + ` in build.rs

Severity: a warning where a Node.js addon uses the C++ API of V8, which changes with each release
line; where a library outside the load has the symbol, and something may have loaded that library
with RTLD_GLOBAL before; for MPI_… in a library that no module links; for a plug-in whose host is
not known; where a private symbol of CPython (_Py…) is missing that a patch release may have;
where a library that nothing links lacks symbols of a second one of the wheel, and also some that a
library may have which was not found for the second one; in a deb or rpm where no library has the
symbol; and in a conda package that depends on packages which were not read (--conda-prefix). For a
package that is imported first (--first), only the libraries that it opens with RTLD_GLOBAL are
visible to all others, as far as that is known (torch).

A symbol is undecided if a package that is checked too, and that the import of the wheel imports in
any case, opens a library with RTLD_GLOBAL that has it, as clingo does for clingcon.

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

It is a warning where each source of the wheel that imports the module handles that this fails, and
the wheel has another module.

On Android a symbol is looked up in the module and in the libraries that it needs, also indirectly,
and not in others that are loaded: a module has to be linked with libpython. The load fails with
"cannot locate symbol". The exports of libc.so, libm.so, libdl.so, libz.so and liblog.so are known.

In Pyodide a symbol is looked up in its main program, which contains Python and the C library, and
in the modules that the load links before. For a missing address of a function or of data the load
fails: "Dynamic linking error: undefined symbol". For a missing function that is only called, a call
fails: "Dynamic linking error: cannot resolve symbol", which is an error too. It is a warning where
a module of the wheel has the address, and may be imported before. What each version of the ABI has
is known.

On iOS the functions of Python are checked. What the libraries of iOS export is not known.

It is a warning for a function of torch's stable ABI in a module that no Python source imports, of a
wheel that does not require torch: such a module is for programs that use torch too.

A module may work with a Python whose program links the library: /usr/bin/python3 of Debian links
libz and libexpat, and the Python of pyenv or of a container does not.

Not detected: symbols of libraries whose exports are not known, of a program in the same artifact,
of a library that another library of the artifact opens by name before it opens a plug-in, of the
host process (Py… of a module that several releases, PyPy, a debug or a free-threaded build load;
napi_…, uv_… and OpenSSL in a Node.js addon; JVM_… in a library with native methods), and symbols of
an object that misses a whole library.`,
	Cause: cause.Rule{
		Lacks: cause.LacksSymbol,
		Warns: "it works where the program that loads it has the symbol",
	},
	Explains:   []string{"macos-symbol-not-found", "windows-procedure-not-found"},
	References: []string{"glibc: elf/dl-lookup.c", "gABI, symbol table"},
	Check:      checkUndefinedSymbol,
	Windows:    checkUndefinedImports,
	MacOS:      checkUndefinedSymbolMacOS,
	Android:    checkUndefinedSymbolAndroid,
	IOS:        checkUndefinedSymbolIOS,
	Pyodide:    checkUndefinedSymbolPyodide,
}

func checkUndefinedSymbol(p *analyzer.Pass) {
	later := newLaterSymbols(p.Platform)
	retag := sync.OnceValue(func() []fix.Candidate { return retagging(p) })
	works := sync.OnceValue(func() []*analyzer.View { return importable(p) })
	for _, v := range p.Views {
		lost := lostSymbols(p, v, later)
		o := &lostOf{Pass: p, view: v, later: later, retag: retag}
		o.variant = sync.OnceValue(func() bool {
			return v.Alternative && (!v.Extension() ||
				slices.ContainsFunc(works(), func(u *analyzer.View) bool {
					return u != v && analyzer.Alternatives(v, u)
				}))
		})
		o.definers = sync.OnceValue(func() []*analyzer.View { return definers(p, v, lost) })
		ofPackages := slices.DeleteFunc(slices.Clone(lost), func(b dynlink.Binding) bool {
			return later.node(b.Import) != node{}
		})
		if len(ofPackages) > 0 && !v.Alternative {
			o.inPackages = definedBy(p, v, ofPackages)
		}
		plugIn := len(lost) > 0 && !v.Extension() && !v.Linked() && !v.Program()
		for n, b := range lost {
			if !p.Room(v.Path) {
				break
			}
			name := b.Import.Name
			if v.Host == analyzer.HostUnknown && ofProgram(p, name) ||
				plugIn && (p.Facts.Root() || ofOpened(p, v, name)) {
				continue // the program that opens it has the symbol
			}
			o.symbol(n, b).report()
		}
	}
}

// importable returns the objects that are no modules, or whose import may succeed. The others are
// left out, so that the variants of a module of which all fail are not compared with each other.
func importable(p *analyzer.Pass) (out []*analyzer.View) {
	for _, v := range p.Views {
		fails := len(v.Missing) > 0
		for range undefined(p, v) {
			fails = true
			break
		}
		if !fails || !v.Extension() {
			out = append(out, v)
		}
	}
	return out
}

// lostSymbols returns the imports of an object that nothing it loads defines, except for those that
// a library may have which is missing itself, and reported as such.
func lostSymbols(
	p *analyzer.Pass, v *analyzer.View, later *laterSymbols,
) (lost []dynlink.Binding) {
	missing := v.NotFound()
	for b := range undefined(p, v) {
		// Some libraries export the C++ runtime of their compiler, none exports functions of glibc.
		if mayBeMissing(p, v, missing, b) &&
			!strings.HasPrefix(later.node(b.Import).Version, "GLIBC_") {
			continue
		}
		if lost = append(lost, b); len(lost) > analyzer.MaxFindings {
			break // no more are listed
		}
	}
	return lost
}

// undefined iterates over the imports that no library of the load defines.
func undefined(p *analyzer.Pass, v *analyzer.View) iter.Seq[dynlink.Binding] {
	ofHost, ofGlobal := ofHost(p, v), ofGlobal(p)
	return func(yield func(dynlink.Binding) bool) {
		for b := range v.Bindings().Failed() {
			own := b.Provider != nil && b.Provider.Kind == dynlink.FromArtifact
			lost := b.Outcome == dynlink.NoSymbol && (b.Provider == nil || own) ||
				b.Outcome == dynlink.NoVersion && own || private(p, b)
			if lost && !ofHost(b.Import.Name) && !ofGlobal(b.Import.Name) && !yield(b) {
				return
			}
		}
	}
}

// ofGlobal returns a function that reports whether a library defines a symbol which another package
// opens with RTLD_GLOBAL, and the import of the wheel imports that package in any case, as that of
// clingcon does clingo. It is not known that it does so first, so the symbol is undecided.
func ofGlobal(p *analyzer.Pass) func(symbol string) bool {
	opened := sync.OnceValue(func() []analyzer.Global {
		given := slices.DeleteFunc(p.Globals(), func(g analyzer.Global) bool {
			return !p.Facts.ImportsOther(g.Import)
		})
		return append(given, p.GlobalsOfReleases()...)
	})
	return func(symbol string) bool {
		return slices.ContainsFunc(opened(), func(g analyzer.Global) bool {
			return g.Defines(symbol, "")
		})
	}
}

// lacksVersion reports whether a library of the artifact is loaded under the name in DT_VERNEED and
// lacks the version, so that the load fails whatever else is loaded.
func lacksVersion(b dynlink.Binding) bool {
	return b.Outcome == dynlink.NoVersion && b.Provider.Kind == dynlink.FromArtifact
}

// mayBeMissing reports whether one of the libraries that were not found may define an import. Known
// libraries of systems, also those that a wheel has to bundle, do not define a C++ name with the
// prefix of a loaded library.
func mayBeMissing(
	p *analyzer.Pass, v *analyzer.View, missing []dynlink.Missing, b dynlink.Binding,
) bool {
	if len(missing) == 0 {
		return false
	}
	for _, m := range missing {
		from, known := platform.ProviderOf(m.Name)
		if !(known && from.Available(platform.Debian)) && !ofInterpreter(p, m.Name) {
			return true
		}
	}
	return !strings.HasPrefix(b.Import.Name, "_Z") ||
		!v.Loading.OwnedByPackage(b.Import.Name) &&
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
