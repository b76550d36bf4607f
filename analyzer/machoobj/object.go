package machoobj

import (
	"cmp"
	"slices"
	"strings"
)

// File is a Mach-O file: one slice per architecture.
type File struct {
	Fat    bool    `json:"fat"` // it has a fat header, even if it has one slice only
	Slices []Slice `json:"slices"`
}

// Slice is one architecture of a file. Exactly one of Object and Err is set.
type Slice struct {
	Arch   string  `json:"arch"`
	Object *Object `json:"object,omitempty"`
	Err    error   `json:"-"` // why the slice could not be read
}

// Object is one slice as dyld sees it. The zero value needs, imports and exports nothing.
type Object struct {
	Arch string `json:"arch"` // "x86_64", "x86_64h", "arm64", "arm64e", "i386", …
	Type Type   `json:"type"`

	InstallName   string   `json:"install_name,omitempty"` // LC_ID_DYLIB, "" where it has none
	Current       Version  `json:"current_version,omitzero"`
	Compatibility Version  `json:"compatibility_version,omitzero"`
	UUID          string   `json:"uuid,omitempty"` // LC_UUID in hex
	Needed        []Needed `json:"needed"`         // in file order, which ordinals count
	RunPaths      []string `json:"run_paths"`      // LC_RPATH in file order

	Platform Platform `json:"platform"`         // the first of LC_BUILD_VERSION, but macOS first
	MinOS    Version  `json:"min_os,omitzero"`  // the oldest system that it was built for
	SDK      Version  `json:"sdk,omitzero"`     // the SDK that it was linked with
	TwoLevel bool     `json:"two_level"`        // MH_TWOLEVEL: an import names its library
	Fixups   Fixups   `json:"fixups,omitempty"` // how imports are written

	ThreadLocals bool `json:"thread_locals,omitempty"` // MH_HAS_TLV_DESCRIPTORS

	Imports []Import `json:"imports"` // in file order, each combination once
	Exports []Export `json:"exports"` // sorted by name

	Signature *Signature `json:"signature"` // nil: not signed
}

// Type is the kind of a file (filetype of its header).
type Type string

// File types. dyld loads the first three; the others are never loaded.
const (
	Executable Type = "execute"
	Dylib      Type = "dylib"
	Bundle     Type = "bundle"
	Relocs     Type = "object"
	Symbols    Type = "dsym"
)

// Loadable reports whether dyld ever loads a file of this type.
func (t Type) Loadable() bool { return t == Executable || t == Dylib || t == Bundle }

// Platform is the system of LC_BUILD_VERSION: "macos", "ios", …; "" where no command names one.
type Platform string

// MacOS is the platform that compat checks.
const MacOS Platform = "macos"

// Fixups is the encoding of imports.
type Fixups string

// Encodings: chained fixups (macOS 11 and later), opcodes (10.6), a symbol table alone.
const (
	Chained Fixups = "chained"
	Opcodes Fixups = "opcodes"
	Table   Fixups = "symtab"
)

// Needed is a library that a load command names.
type Needed struct {
	Path          string  `json:"path"`               // as written: "@rpath/libfoo.dylib"
	Weak          bool    `json:"weak,omitempty"`     // may be absent
	Reexport      bool    `json:"reexport,omitempty"` // its exports count as exports of this file
	Upward        bool    `json:"upward,omitempty"`
	Lazy          bool    `json:"lazy,omitempty"` // loaded at first use
	Current       Version `json:"current_version,omitzero"`
	Compatibility Version `json:"compatibility_version,omitzero"` // the lowest that old dyld accepted
}

// Ordinals below 1 have special meanings (mach-o/loader.h, BIND_SPECIAL_DYLIB_…).
const (
	Self   = 0  // the file itself
	Main   = -1 // the main executable
	Flat   = -2 // every image that is loaded, in load order
	AnyDef = -3 // C++ coalescing: any image that defines it, the file's own copy included
)

// Import is a symbol that dyld looks up.
type Import struct {
	Name    string `json:"name"`
	Ordinal int    `json:"ordinal"`        // n >= 1: Needed[n-1]; else Self, Main, Flat or AnyDef
	Weak    bool   `json:"weak,omitempty"` // null where it is absent
	Lazy    bool   `json:"lazy,omitempty"` // bound at first call, except under RTLD_NOW
	// Coalesced marks an entry of the weak bind opcodes: the file has a copy of its own that is
	// used where nobody else has one.
	Coalesced bool `json:"coalesced,omitempty"`
}

// Export is a symbol that others can import.
type Export struct {
	Name        string `json:"name"`
	Weak        bool   `json:"weak,omitempty"` // a weak definition
	ThreadLocal bool   `json:"thread_local,omitempty"`
	// Of a re-exported symbol Ordinal is the library that has it, else 0, and As its name there.
	Ordinal int    `json:"ordinal,omitempty"`
	As      string `json:"as,omitempty"`
}

// Export finds an export by name.
func (o *Object) Export(name string) (Export, bool) {
	n, ok := slices.BinarySearchFunc(o.Exports, name, func(e Export, name string) int {
		return cmp.Compare(e.Name, name)
	})
	if !ok {
		return Export{}, false
	}
	return o.Exports[n], true
}

// Extension reports whether the file defines an initialization function of a Python module.
func (o *Object) Extension() bool {
	n, _ := slices.BinarySearchFunc(o.Exports, "_PyInit_", func(e Export, name string) int {
		return cmp.Compare(e.Name, name)
	})
	return n < len(o.Exports) && strings.HasPrefix(o.Exports[n].Name, "_PyInit_")
}

// Signature is the code signature of a slice. On arm64 the kernel refuses code without a valid
// one.
type Signature struct {
	AdHoc bool `json:"ad_hoc"` // no certificate: made by the linker or by codesign -s -
	// Stale says why the signature does not match the bytes of the file, "" where it does. The
	// kernel stops a process that touches such a page ("Code Signature Invalid").
	Stale string `json:"stale,omitempty"`
}
