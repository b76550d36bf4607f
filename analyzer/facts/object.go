package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/processor"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Object is an ELF file of an artifact.
type Object struct {
	Path string // path in the artifact
	*elfobj.Object
	GPU   gpu.Archs
	NumPy NumPyBuild
	// What it does if the import of NumPy's C API fails.
	NumPyError NumPyError
	// What the processor must have so that it can be loaded, and imported if it is a module.
	Executes processor.Need
	// The types that a module defines, and those of other packages that it was built with.
	Types []cython.Type
	Uses  []cython.Use
	// ComparesLibxml2 is set for a module that contains libxml2, uses trees of lxml, and refuses to be
	// imported with an lxml that contains another release of libxml2.
	ComparesLibxml2 bool
	// Sorted names of libraries among its constants that it may pass to dlopen. Checks ask NamesAny.
	Opens []string
	// Unsearched is set if its constants were not read, so that Opens is not known; see Options.Lean.
	Unsearched bool
	// Loads is set for a module that may load libraries or change how others are loaded: it calls
	// dlopen, or was compiled from Python code (Cython, Nuitka) that does so with ctypes.
	Loads bool
	// Release is the version that the constants of a library contain that auditwheel bundled, for a
	// few projects: "3.5.1" of OpenSSL; "" if it is not known.
	Release string
	// Locals are the symbols that a library defines for itself only; nil if it is stripped.
	Locals *elfobj.Locals
	// for a public library, if Options.ABI is set; otherwise nil
	ABI   *abi.Library `compact:"-"`
	Links []string     // paths in the artifact that are links to it

	module bool   // see Extension
	host   Host   // see Host
	inside bool   // in a package, but not in a folder that loaders search
	stem   string // the path without the parts that differ between variants
	asked  bool   `compact:"-"` // NamesAny was called and Opens is not known
}

// NamesAny reports whether one of some libraries is among Opens. Where that is not known, it is
// false, and Set.Complete reads it.
func (o *Object) NamesAny(libraries ...string) bool {
	o.asked = o.asked || o.Unsearched
	return slices.ContainsFunc(libraries, func(n string) bool { return slices.Contains(o.Opens, n) })
}

var extensionSuffix = lazyregexp.New(`\.(cpython-[0-9a-z]+|abi3|pypy[0-9a-z_]+)[^/]*\.so$`)

var variant = lazyregexp.New(`[0-9]+|cuda|rocm|cpu|xpu|hip`)

// newObject computes values that rules need repeatedly.
func newObject(path, format string, o *elfobj.Object) *Object {
	x := &Object{Path: path, Object: o,
		module: extensionSuffix.MatchString(path) ||
			o.Exports.Any(isHook),
		stem: variant.ReplaceAllString(extensionSuffix.ReplaceAllString(path, ""), ""),
		inside: (format == unpack.FormatDeb || format == unpack.FormatRPM ||
			format == unpack.FormatAPK) &&
			!libraryFolder.MatchString(path),
	}
	x.host = hostOf(x)
	return x
}

// Lxml is the module of lxml that contains libxml2.
const Lxml = "lxml.etree"

// Compared returns the modules of other packages with which a module compares what it was built
// with when it is imported, sorted if there are several. No symbol shows that.
func (o *Object) Compared() (modules []string) {
	for _, u := range o.Uses {
		modules = append(modules, u.Module)
	}
	if o.ComparesLibxml2 {
		modules = append(modules, Lxml)
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// isHook reports whether a symbol is a function that Python calls when it imports a module.
func isHook(symbol string) bool {
	_, ok := cpython.ParseHook(symbol)
	return ok
}

// SoftFloat is the architecture of objects for ARM that pass floating-point numbers in integer
// registers. Debian calls it so; its loader is another one than that of armv7l.
const SoftFloat = "armel"

// armSoftFloat is EF_ARM_ABI_FLOAT_SOFT (ELF for the ARM Architecture).
const armSoftFloat = 0x200

// BuiltFor returns Arch, and "armel" for an object for ARM with the soft-float calling convention.
func (o *Object) BuiltFor() string {
	arch := o.Arch()
	if arch == "armv7l" && (o.EFlags&armSoftFloat != 0 || o.Interp == "/lib/ld-linux.so.3") {
		return SoftFloat
	}
	return arch
}

// Public reports whether programs may link with the object: a lib*.so with a SONAME that is not
// a module of an interpreter and not a bundled library in the X.libs folder of a wheel, and in
// a package of a distribution is in a folder that loaders search.
func (o *Object) Public() bool {
	base := path.Base(o.Path)
	return o.SONAME != "" && strings.HasPrefix(base, "lib") && !o.host.Opens() && !o.inside &&
		!strings.Contains(o.Path, ".libs/")
}

// Searched reports whether the object or a link to it is in a folder that loaders search.
func (o *Object) Searched() bool {
	return libraryFolder.MatchString(o.Path) ||
		slices.ContainsFunc(o.Links, libraryFolder.MatchString)
}

// Extension reports whether the object is a module that Python imports.
func (o *Object) Extension() bool { return o.module }

// Program reports whether the object is a program. libc.so.6 has an interpreter too, and is none.
func (o *Object) Program() bool { return o.Interp != "" && o.SONAME == "" }

// Host returns the kind of program that loads the object.
func (o *Object) Host() Host { return o.host }

// Stem returns the path without versions and names of GPU stacks: it is equal for variants of
// an object.
func (o *Object) Stem() string { return o.stem }

// linuxModule matches the file name of a module for a Python of Linux: Android's is linux-android.
var linuxModule = lazyregexp.New(`-linux-(?:gnu|musl)[a-z0-9]*\.so$`)

// ForLinux reports whether the object is for Linux and cannot be for Android: it needs another
// libc, or has the name of a module for Linux.
func (o *Object) ForLinux() bool {
	return linuxModule.MatchString(o.Path) || slices.ContainsFunc(o.Needed, func(n string) bool {
		return n == "libc.so.6" || strings.HasPrefix(n, "libc.musl-")
	})
}

// muslModule matches the file name of a module for a Python built with musl.
var muslModule = lazyregexp.New(`-linux-musl[a-z0-9]*\.so$`)

// Musl reports whether the object was linked with musl, according to the libc in DT_NEEDED or,
// without one, the file name.
func (o *Object) Musl() bool {
	if muslModule.MatchString(o.Path) && !slices.Contains(o.Needed, "libc.so.6") {
		return true
	}
	return slices.ContainsFunc(
		o.Needed,
		func(n string) bool { return strings.HasPrefix(n, "libc.musl-") || n == "libc.so" },
	)
}

// namesLibc reports whether it is known with which libc the object was linked.
func (o *Object) namesLibc() bool { return o.Musl() || slices.Contains(o.Needed, "libc.so.6") }
