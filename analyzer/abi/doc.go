// Package abi answers whether a program that was built against one build of a shared library runs
// with another one.
//
//	old, err := abi.Read(abi.File{Name: "libx.so.1", Content: r, Size: n, Open: open})
//	new, err := abi.Read(...)
//	result := abi.Compare(old, new, abi.Options{})
//
// Library is the ABI of one library as plain data: the symbols that the loader sees, the virtual
// tables and typeinfo of C++ classes, and, where there is debug information, the types that the
// exported functions and variables use. Compare follows the types from the interfaces and reports
// the smallest difference once: a structure that grew is one Change, however many functions use it.
//
// What a compiler, an optimization level or a version of DWARF may change without a program
// noticing is no Change. The package compares what is there: it does not know header files, so a
// macro, an inline function or a default argument that changed is not seen. A type that is defined
// in a source file, and not in a header, is private: programs can only have pointers to it.
//
// The bytes are a stranger's; elfobj and dwarf bound what they read, and this package bounds the
// number of types and the depth of a type.
package abi
