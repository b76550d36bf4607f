// Package staticlink is the static linker as a function: what GNU ld, gold, lld and mold say when a
// program is linked against a shared library, on a platform, with some flags.
//
//	system := staticlink.NewSystem(platform, files, nil)
//	result := system.Link(staticlink.GNU, staticlink.FromObject(path, object), staticlink.Line{})
//	result.Failed()   // result.Problems: undefined references, hidden symbols, TLS mismatches
//
// The program is a neutral one: it calls the library and nothing else, and gcc links it as Debian's
// and Ubuntu's does, with --as-needed and -pie, libgcc and libc behind everything. What differs
// between linkers, measured with ld and gold 2.35 and 2.40, lld 11 and 14 and mold 1.10:
//
//   - GNU ld judges every strong undefined symbol of every library that it reads: of those on the
//     line, and of those that their DT_NEEDED lead to. It looks for these along
//     -rpath-link, -rpath, the library's own RUNPATH or RPATH and the system's directories, and
//     never along -L.
//   - gold and lld read only what is on the line, and judge a library only when all that it needs
//     is there. mold before 2.38 judges none.
//   - For all of them a reference without a version needs a default definition (name@@VERSION or
//     none), where the loader also takes name@VERSION; and a reference with a
//     version needs that very version, where the loader takes a library without versions too.
//   - GNU ld alone fetches members of static libraries for a shared library's sake, and refuses
//     when they are hidden (atexit of libc_nonshared.a, __udivti3 of libgcc.a).
//   - A library that --as-needed guards is kept by GNU ld when a library before it on the line
//     needs it, and by the others only when the program itself does.
//
// It opens nothing and runs nothing. What a program needs beyond the library, relocations against
// protected data and linker scripts of a user are out of its sight.
package staticlink

// Linker is one of the four that are known.
type Linker string

const (
	GNU  Linker = "GNU ld"
	Gold Linker = "gold"
	LLD  Linker = "lld"
	Mold Linker = "mold" // before 2.38; newer ones judge as lld does
)

// Linkers lists all of them.
func Linkers() []Linker { return []Linker{GNU, Gold, LLD, Mold} }
