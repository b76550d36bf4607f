// Package peobj reads PE files (Windows DLLs, extension modules and programs) as plain data: the
// machine, imports by DLL, exports, and forwarded exports.
//
//	o, err := peobj.Read(r, size)   // an untrusted file
//	o, err := peobj.Parse(text)     // the text form of text.go, for tests
//	b, err := peobj.Write(o)        // a file from an object
//
// Read follows the Windows loader and Microsoft's "PE Format" page: section headers map the image,
// data directories locate the tables. Bound imports are a hint that the loader may ignore, and are
// ignored here. Machine code is not read. An ARM64X file is read as native ARM64 programs see it,
// without the relocations that x64 programs apply.
//
// The input is untrusted. Import descriptors may share thunks and names may overlap, so a file of
// 64 KB can contain gigabytes of symbols. Every offset is checked against the sections and every
// section against the file, and the number of symbols and the length of their names are limited in
// proportion to the file (limits.go). Contradictory data is an error that names the table; such a
// file is not returned as a file without imports.
package peobj
