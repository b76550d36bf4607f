package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Object is one ELF file of an artifact.
type Object struct {
	Path string // inside the artifact
	*elfobj.Object
	GPU   gpu.Archs
	NumPy NumPyBuild
	Opens []string     // names of libraries among its constants that it may pass to dlopen, sorted
	ABI   *abi.Library // of a public library, if Options.ABI asked for it; else nil

	module bool   // see Extension
	host   Host   // see Host
	inside bool   // of a package: not where programs look for libraries
	stem   string // the path without the parts that differ between variants
}

var extensionSuffix = lazyregexp.New(`\.(cpython-[0-9a-z]+|abi3|pypy[0-9a-z_]+)[^/]*\.so$`)

var variant = lazyregexp.New(`[0-9]+|cuda|rocm|cpu|xpu|hip`)

// newObject computes once what rules need of an object again and again.
func newObject(path, format string, o *elfobj.Object) *Object {
	x := &Object{Path: path, Object: o,
		module: extensionSuffix.MatchString(path) ||
			o.Exports.Any(func(name string) bool { return strings.HasPrefix(name, "PyInit_") }),
		stem: variant.ReplaceAllString(extensionSuffix.ReplaceAllString(path, ""), ""),
		inside: (format == unpack.FormatDeb || format == unpack.FormatRPM) &&
			!libraryFolder.MatchString(path),
	}
	x.host = hostOf(x)
	return x
}

// Public reports whether programs may link against the object: a lib*.so with a SONAME that is no
// module of an interpreter, no copy of another project's library in a wheel's X.libs, and that a
// distribution's package installs where programs look for libraries.
func (o *Object) Public() bool {
	base := path.Base(o.Path)
	return o.SONAME != "" && strings.HasPrefix(base, "lib") && o.host != HostPython &&
		o.host != HostNode &&
		o.host != HostJava &&
		!o.inside &&
		!strings.Contains(o.Path, ".libs/")
}

// Extension reports whether the object is a module that Python imports.
func (o *Object) Extension() bool { return o.module }

// Host is the kind of program that loads the object, as far as the object itself shows.
func (o *Object) Host() Host { return o.host }

// Stem is the path without versions and names of GPU stacks: equal for the variants of one object.
func (o *Object) Stem() string { return o.stem }

// muslModule matches the file name of a module for a Python that was built on musl.
var muslModule = lazyregexp.New(`-linux-musl[a-z0-9]*\.so$`)

// Musl reports whether the object was linked with musl: by the libc that it needs or, where it
// names none, by its file name.
func (o *Object) Musl() bool {
	if muslModule.MatchString(o.Path) && !slices.Contains(o.Needed, "libc.so.6") {
		return true
	}
	return slices.ContainsFunc(
		o.Needed,
		func(n string) bool { return strings.HasPrefix(n, "libc.musl-") || n == "libc.so" },
	)
}

// namesLibc reports whether the object names the libc it was linked with.
func (o *Object) namesLibc() bool { return o.Musl() || slices.Contains(o.Needed, "libc.so.6") }
