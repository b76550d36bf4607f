// Package machoobj reads Mach-O files, the binaries of macOS, as plain data: what each slice
// needs, imports and exports, for which macOS it was built and whether its code signature is
// intact.
//
//	f, err := machoobj.Read(r, size)   // a thin or fat file, from anybody
//	for _, s := range f.Slices { use(s.Object, s.Err) }
//	os, err := machoobj.Parse(text)    // the text form below, from a test
//	b, err := machoobj.Write(os...)    // a real file again
//
// It reads what dyld reads: load commands, bind opcodes or chained fixups, the export trie, and
// the symbol table only where a file has none of these. It never runs anything and does not know
// what a macOS release contains.
//
// The bytes come from untrusted pull requests. A 1 MB export trie can spell 100 GB of names when
// its nodes form a long chain, and 44 fat headers can name the same gigabyte. Every count,
// offset and length is checked against the slice before it is used, slices may not overlap, each
// node of a trie is visited once, and names are charged against budgets (limits.go). What
// contradicts itself is an error that names the table: a slice that was not read is never a
// slice without needs.
//
// # Text form
//
// A line is a keyword and its arguments, separated by spaces; empty lines and lines that start
// with # are ignored. Each slice begins with
//
//	macho ARCH [bundle|dylib|execute|object|dsym]
//
// with ARCH as of Object.Arch; the default type is bundle, or dylib where there is an
// install-name. The other lines are optional:
//
//	install-name @rpath/libfoo.dylib
//	version 1.2 1.0                     current and compatibility version of the library
//	needed [weak|reexport|upward|lazy] PATH [current=1.2] [compat=1.0]
//	rpath @loader_path/.dylibs
//	minos 11.0                          default 11.0
//	sdk 14.0                            default 14.0
//	platform macos                      default macos
//	import [weak] NAME FROM             FROM: a needed path, flat, self, main or any
//	export [weak] [tlv] NAME
//	export NAME = OTHER FROM            a symbol of another library, re-exported
//	fixups chained|opcodes|symtab       how imports are written; default chained
//	signature none|adhoc|stale          default adhoc for arm64, none for others
//	flat-namespace                      without MH_TWOLEVEL
//	thread-locals
package machoobj
