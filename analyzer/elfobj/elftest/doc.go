// Package elftest writes ELF files for tests, from objects or from a text form.
//
//	o, err := elftest.Parse(text)   // an object from the text form below
//	b, err := elftest.Write(o)      // a file that elfobj.Read, readelf and the loader accept
//	s := elftest.Text(o)            // the text form of an object
//
// # Text form
//
// A line is a keyword and its arguments, separated by spaces; empty lines and lines that start with
// # are ignored. The first line is
//
//	elf ARCH [dyn|exec|rel|core] [static]
//
// with ARCH as of elfobj.Object.Arch. The default is dyn; static means no PT_DYNAMIC (rel and core
// never have one). The other lines, in any order, all optional:
//
//	soname libfoo.so.1
//	needed libc.so.6                        once for each DT_NEEDED
//	runpath $ORIGIN/../lib                  rpath likewise
//	interp /lib64/ld-linux-x86-64.so.2
//	import [weak] [KIND] NAME[@VERSION LIBRARY] [by=WAY,…]
//	export [weak|unique] [KIND] NAME[@@VERSION|@VERSION] [size=N] [by=WAY,…]
//	verneed LIBRARY VERSION [weak] [VERSION [weak]]...
//	verdef NAME [base] [weak] [PARENT]...
//	exact                                   no version records are implied
//	versym yes|no
//	flags symbolic textrel now origin static-tls 0x…
//	flags_1 now nodelete pie 0x…
//	execstack yes|no|unsaid                 default no; unsaid for rel and core
//	relr
//	relocs relative,tls-ie                relocations that name no symbol
//	osabi 3
//	build-id 0123abcd
//	abi-tag Linux 3.2.0
//	isa 0x2                                 GNU_PROPERTY_X86_ISA_1_NEEDED: x86-64-v2; isa-used likewise
//	guards ibt shstk                        or bti pac gcs, zicfilp zicfiss
//	go-build-id
//	e-flags 0x5000400
//	no-sections                             without section headers
//	comment GCC: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
//	section .nv_fatbin 50ed55ba…            name and bytes in hex, spaces allowed between them
//
// Examples of symbols:
//
//	import pow@GLIBC_2.29 libm.so.6         version and the library that the linker found it in
//	import object environ@GLIBC_2.2.5 libc.so.6
//	import weak notype __gmon_start__       unversioned
//	import foo@V1 -                         undefined, under a version that the object itself defines
//	export init                             unversioned
//	export foo@@V2                          the default version
//	export foo@V1                           an old version, hidden from the linker
//	export hidden foo                       unversioned with the hidden bit
//
//	import puts by=jump-slot                called through the PLT
//	import unused by=none                   no relocation: the loader never looks it up
//	export object stdout by=copy            a program's copy of a library's variable
//
// WAY is jump-slot, glob-dat, word, copy, tls-gd, tls-ie, tls-desc, relative, irelative, other or
// none (elfobj.Relocs). The default of an import is glob-dat, or word on machines without it, and
// none for a thread-local one.
//
// KIND is notype, object, func (the default), tls, ifunc, common, section, file or 0x….
//
// Implied are a verneed for each version that an import names, a verdef for each version that an
// export has and for each PARENT, a base verdef with the SONAME where there are both, and versym
// yes where there is any version. A value with spaces at its ends, quotes, control or non-ASCII
// characters is written as a Go string ("a\nb"), and so is a symbol that contains @ or a space, or
// reads like a keyword ("weak").
package elftest
