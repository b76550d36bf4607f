// Package abi decides whether a program that was built against one build of a shared library runs
// with another build.
//
//	old, err := abi.Read(abi.File{Name: "libx.so.1", Content: r, Size: n, Open: open})
//	new, err := abi.Read(...)
//	result := abi.Compare(old, new, abi.Options{})
//
// Library is the ABI of a library as plain data: the dynamic symbols, the virtual tables and
// typeinfo of C++ classes and, with debug information, the types that exported functions and
// variables use. Compare follows the types from the interfaces and reports the smallest difference
// once: a structure that grew is one Change, however many functions use it. Object files, static
// libraries and kernel modules are read as libraries of another Form.
//
// Differences that programs do not notice, such as those between compilers, optimization levels or
// DWARF versions, are not changes. Header files are not read, so changed macros, inline functions
// and default arguments are not found. A type that is defined in a source file instead of a header
// is private: programs can only have pointers to it.
//
// The input is untrusted. elfobj and dwarf limit what they read; this package limits the number of
// types and the depth of a type.
package abi
