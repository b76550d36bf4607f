// Package machoobj reads Mach-O files, the binaries of macOS, as plain data: what each slice needs,
// imports and exports, for which macOS it was built, and whether its code signature is valid.
//
//	f, err := machoobj.Read(r, size)   // an untrusted thin or fat file
//	for _, s := range f.Slices { use(s.Object, s.Err) }
//	os, err := machoobj.Parse(text)    // the text form below, for tests
//	b, err := machoobj.Write(os...)    // a file from objects
//
// It reads what dyld reads: load commands, bind opcodes or chained fixups, and the export trie. The
// symbol table is read only if a file has none of these. Nothing is executed. Package
// platform/macos describes the contents of macOS releases.
//
// The input is untrusted. A 1 MB export trie can contain 100 GB of names if its nodes form a long
// chain, and 44 fat headers can refer to the same gigabyte. Therefore every count, offset and
// length is checked against the slice before it is used, slices may not overlap, each node of a
// trie is visited once, and the length of names is limited (limits.go). Contradictory data is an
// error that names the table. A slice that could not be read has an error, and is not returned as a
// slice without dependencies.
//
// # Text form
//
// A line is a keyword and its arguments, separated by spaces; empty lines and lines that start with
// # are ignored. Each slice begins with
//
//	macho ARCH [bundle|dylib|execute|object|dsym]
//
// where ARCH is a value of Object.Arch; the default type is dylib with an install-name, otherwise
// bundle. The other lines are optional:
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
//	export NAME = OTHER FROM            re-exports a symbol of another library
//	fixups chained|opcodes|symtab       encoding of imports; default chained
//	signature none|adhoc|stale          default adhoc for arm64, otherwise none
//	flat-namespace                      without MH_TWOLEVEL
//	thread-locals
package machoobj
