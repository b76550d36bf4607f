// Package elfobj reads an ELF file into plain data: what it needs, and what it imports and exports
// with which versions.
//
//	o, err := elfobj.Read(r, size)
//
// Read sees what the dynamic linker sees: program headers, PT_DYNAMIC and the tables that it names.
// Section headers are used for hints only (.comment, GPU code), so an object without them gives the
// same result. The package never runs anything and knows nothing about platforms. Package elftest
// writes ELF files for tests, from a text form.
//
// The input is untrusted. A 64 KB file with overlapping Verneed records makes debug/elf allocate
// 917 MB, and for a file without section headers its ImportedLibraries returns no libraries and no
// error. Here every count, offset and length is checked against the file before it is used, records
// and text are charged against budgets (limits.go), and a contradiction is an error that names the
// table. An object that cannot be read is never reported as an object that needs nothing.
package elfobj
