// Package peobj holds one PE file (a Windows DLL, extension module or program) as plain data: its
// machine, what it imports from which DLL, what it exports and which exports are forwarded.
//
//	o, err := peobj.Read(r, size)   // a real file, from anybody
//	o, err := peobj.Parse(text)     // the text form of text.go, from a test
//	b, err := peobj.Write(o)        // a real file again
//
// Read follows the Windows loader and Microsoft's "PE Format" page: section headers map the image,
// data directories name the tables. Bound imports are a hint that the loader may ignore, and so are
// they here. Read never looks at machine code and never asks which DLLs a system has. For an ARM64X
// file it reads the view of native ARM64 programs, without the relocations that x64 programs apply
// to it.
//
// The bytes come from a stranger's pull request. Import descriptors may share thunks and names may
// overlap, so that a file of 64 KB can spell gigabytes of symbols. Every offset is checked against
// the sections and every section against the file; symbols and the text of their names are charged
// against budgets that grow with the file (limits.go). A contradiction is an error that names the
// table: a file that was not read is never a file without imports.
package peobj
