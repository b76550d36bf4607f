// Package elftest writes ELF files for tests, from objects or from a text form.
//
//	o, err := elftest.Parse(text)   // an object from the text form below
//	b, err := elftest.Write(o)      // a file that elfobj.Read, readelf and the loader accept
//	s := elftest.Text(o)            // the text form of an object
//	b := elftest.File(t, text)      // in a test: the file of a text form
//
// # Text form
//
// A line is a keyword and its arguments, separated by spaces; empty lines and lines that start with
// # are ignored. The first line is
//
//	elf ARCH [dyn|exec|rel|core] [static]
//
// ARCH is a result of elfobj.Object.Arch. The default type is dyn; static means no PT_DYNAMIC
// (rel and core never have one). All other lines are optional and may have any order:
//
//	soname libfoo.so.1
//	needed libc.so.6                        once for each DT_NEEDED
//	runpath $ORIGIN/../lib                  rpath likewise
//	interp /lib64/ld-linux-x86-64.so.2
//	import [weak] [KIND] NAME[@VERSION LIBRARY] [by=KIND,…]
//	export [weak|unique] [KIND] NAME[@@VERSION|@VERSION] [size=N] [by=KIND,…]
//	verneed LIBRARY VERSION [weak] [VERSION [weak]]...
//	verdef NAME [base] [weak] [PARENT]...
//	exact                                   do not add version records
//	versym yes|no
//	flags symbolic textrel now origin static-tls 0x…
//	flags_1 now nodelete pie 0x…
//	execstack yes|no|unsaid                 default no; unsaid for rel and core
//	relr
//	relocs relative,tls-ie                kinds of the relocations without a symbol
//	osabi 3
//	build-id 0123abcd
//	abi-tag Linux 3.2.0
//	android 24                              the note of Android, with the API level
//	max-page 0x1000                         the alignment of segments, default 0x10000
//	isa 0x2                                 GNU_PROPERTY_X86_ISA_1_NEEDED: x86-64-v2
//	isa-used 0x2                            GNU_PROPERTY_X86_ISA_1_USED
//	guards ibt shstk                        or bti pac gcs, zicfilp zicfiss
//	system OpenBSD                    a note of that system
//	go-build-id
//	e-flags 0x5000400
//	no-sections                             without section headers
//	comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
//	local NAME                              a function in .symtab that is not exported
//	section .nv_fatbin 50ed55ba…            name and bytes in hex, spaces allowed between them
//	section .text c5f877c3                  the machine code of all functions
//	section .init c5f877c3                  a function that the loader calls
//
// Examples of symbols:
//
//	import pow@GLIBC_2.29 libm.so.6         version and the library in which the linker found it
//	import object environ@GLIBC_2.2.5 libc.so.6
//	import weak notype __gmon_start__       unversioned
//	import foo@V1 -                         undefined, with a version that the object itself defines
//	export init                             unversioned
//	export foo@@V2                          the default version
//	export foo@V1                           an old version, not visible to the linker
//	export hidden foo                       unversioned with the hidden bit
//
//	import puts by=jump-slot                called through the PLT
//	import unused by=none                   no relocation: the loader does not look it up
//	export object stdout by=copy            a program's copy of a library's variable
//
// The KIND of a relocation is jump-slot, glob-dat, word, copy, tls-gd, tls-ie, tls-desc,
// relative, irelative, other or none (elfobj.Relocs). The default of an import is glob-dat, or
// word on machines without it, and none if it is thread-local.
//
// The KIND of a symbol is notype, object, func (the default), tls, ifunc, common, section, file
// or 0x….
//
// Parse adds a verneed for the version of each import, a verdef for the version of each export
// and for each PARENT, a base verdef with the SONAME if there are both, and versym yes if there
// is any version. A value that contains quotes, control or non-ASCII characters, or starts or
// ends with a space, is written as a Go string ("a\nb"), and so is a symbol name that contains
// @ or a space, or equals a keyword ("weak").
package elftest
