// Package wasmobj reads WebAssembly modules that Emscripten links dynamically, as plain data: the
// libraries that they need, their imports and exports with types, and where they are weak.
//
//	o, err := wasmobj.Read(r, size)   // an untrusted file
//	o, err := wasmobj.Parse(text)     // the text form of text.go, for tests
//	b, err := wasmobj.Write(o)        // a file from an object
//
// Read follows the core specification, chapter "Binary Format", and DynamicLinking.md of the tool
// conventions (the section dylink.0). Code, data, elements, names and debug information are not
// read. A module without dylink.0 is a program or is linked otherwise.
//
// The input is untrusted. Each section is read as a whole, so its size is limited, and every count
// is compared with the bytes that are left before anything is allocated: an entry has at least one
// byte. A module with damage in a section that is read is an error.
package wasmobj

import "errors"

// Errors of Read.
var (
	ErrNotWasm  = errors.New("not a WebAssembly module")
	ErrDamaged  = errors.New("damaged WebAssembly module")
	ErrTooLarge = errors.New("too large")
)
