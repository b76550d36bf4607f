// Package staticlink models the static linker: what GNU ld, gold, lld and mold report when a
// program is linked with a shared library, on a platform, with some flags.
//
//	system := staticlink.NewSystem(platform, files, nil)
//	result := system.Link(staticlink.GNU, staticlink.FromObject(path, object), staticlink.Line{})
//	result.Failed()   // result.Problems: undefined references, hidden symbols, TLS mismatches
//
// The program only calls the library. It is linked by gcc with the defaults of Debian and
// Ubuntu: --as-needed, -pie, and libgcc and libc at the end of the line. The linkers differ as
// follows (measured with ld and gold 2.35 and 2.40, lld 11 and 14 and mold 1.10):
//
//   - GNU ld checks every strong undefined symbol of every library that it reads: those on the line
//     and their dependencies. It searches dependencies in -rpath-link, -rpath, the library's own
//     RUNPATH or RPATH and the system's folders, but never in -L.
//   - gold and lld read only the libraries on the line, and check a library only if all its
//     dependencies are on the line. mold before 2.38 checks none.
//   - For all of them, a reference without a version needs a default definition (name@@VERSION or
//     no
//     version), while the loader also accepts name@VERSION. A reference with a version needs
//     exactly that version, while the loader also accepts a library without versions.
//   - Only GNU ld extracts members of static libraries for references of a shared library. It fails
//     if they are hidden (atexit in libc_nonshared.a, __udivti3 in libgcc.a).
//   - GNU ld keeps a library after --as-needed if an earlier library on the line needs it; the
//     others keep it only if the program itself needs it.
//
// The package opens and executes nothing. It does not model the program's other dependencies,
// relocations against protected data, and linker scripts of users.
package staticlink

// Linker is a linker program.
type Linker string

const (
	GNU  Linker = "GNU ld"
	Gold Linker = "gold"
	LLD  Linker = "lld"
	Mold Linker = "mold" // before 2.38; newer versions check like lld
)

// Linkers returns all supported linkers.
func Linkers() []Linker { return []Linker{GNU, Gold, LLD, Mold} }
