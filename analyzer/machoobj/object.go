package machoobj

import (
	"cmp"
	"slices"
	"strings"
)

// File is a Mach-O file: one slice per architecture.
type File struct {
	Fat    bool    `json:"fat"` // the file has a fat header, maybe with one slice only
	Slices []Slice `json:"slices"`
}

// Slice is one architecture of a file. Exactly one of Object and Err is set.
type Slice struct {
	Arch   string  `json:"arch"`
	Object *Object `json:"object,omitempty"`
	Err    error   `json:"-"` // why the slice could not be read
}

// Object is a slice as dyld sees it. The zero value needs, imports and exports nothing.
type Object struct {
	Arch string `json:"arch"` // "x86_64", "x86_64h", "arm64", "arm64e", "i386", …
	Type Type   `json:"type"`

	InstallName   string   `json:"install_name,omitempty"` // LC_ID_DYLIB; "" without one
	Current       Version  `json:"current_version,omitzero"`
	Compatibility Version  `json:"compatibility_version,omitzero"`
	UUID          string   `json:"uuid,omitempty"` // LC_UUID in hex
	Needed        []Needed `json:"needed"`         // in file order; ordinals are indexes into it
	RunPaths      []string `json:"run_paths"`      // LC_RPATH in file order

	Platform Platform `json:"platform"`         // of LC_BUILD_VERSION; macOS comes first
	MinOS    Version  `json:"min_os,omitzero"`  // the oldest supported system
	SDK      Version  `json:"sdk,omitzero"`     // the SDK that it was linked with
	TwoLevel bool     `json:"two_level"`        // MH_TWOLEVEL: imports name their library
	Fixups   Fixups   `json:"fixups,omitempty"` // encoding of imports

	ThreadLocals bool `json:"thread_locals,omitempty"` // MH_HAS_TLV_DESCRIPTORS

	Imports []Import `json:"imports"` // in file order, without duplicates
	Exports []Export `json:"exports"` // sorted by name

	Signature *Signature `json:"signature"` // nil if not signed
}

// Type is the filetype of the header.
type Type string

// File types. dyld loads only the first three.
const (
	Executable Type = "execute"
	Dylib      Type = "dylib"
	Bundle     Type = "bundle"
	Relocs     Type = "object"
	Symbols    Type = "dsym"
)

// Loadable reports whether dyld can load a file of this type.
func (t Type) Loadable() bool { return t == Executable || t == Dylib || t == Bundle }

// Platform is the platform of LC_BUILD_VERSION: "macos", "ios", …; "" without such a command.
type Platform string

// Platforms that compat checks.
const (
	MacOS        Platform = "macos"
	IOS          Platform = "ios"
	IOSSimulator Platform = "iossimulator"
)

// Fixups is the encoding of imports.
type Fixups string

// Encodings: chained fixups (dyld of macOS 10.15 and later), bind opcodes (10.6 and later), only a
// symbol table.
const (
	Chained Fixups = "chained"
	Opcodes Fixups = "opcodes"
	Table   Fixups = "symtab"
)

// Needed is a library in a load command.
type Needed struct {
	Path          string  `json:"path"`               // as written: "@rpath/libfoo.dylib"
	Weak          bool    `json:"weak,omitempty"`     // may be absent
	Reexport      bool    `json:"reexport,omitempty"` // its exports are exports of this file too
	Upward        bool    `json:"upward,omitempty"`
	Lazy          bool    `json:"lazy,omitempty"` // loaded at first use
	Current       Version `json:"current_version,omitzero"`
	Compatibility Version `json:"compatibility_version,omitzero"` // minimum, for old dyld
}

// Ordinals below 1 have special meanings (mach-o/loader.h, BIND_SPECIAL_DYLIB_…).
const (
	Self   = 0  // the file itself
	Main   = -1 // the main executable
	Flat   = -2 // all loaded images, in load order
	AnyDef = -3 // C++ coalescing: any image with a definition, including the file itself
)

// Import is a symbol that dyld looks up.
type Import struct {
	Name    string `json:"name"`
	Ordinal int    `json:"ordinal"`        // n >= 1: Needed[n-1]; else Self, Main, Flat or AnyDef
	Weak    bool   `json:"weak,omitempty"` // null if it is not found
	Lazy    bool   `json:"lazy,omitempty"` // bound at the first call, unless RTLD_NOW is set
	// Coalesced marks an entry of the weak bind opcodes: the file has its own copy, which is used
	// if no other image has one.
	Coalesced bool `json:"coalesced,omitempty"`
}

// Export is a symbol that other files can import.
type Export struct {
	Name        string `json:"name"`
	Weak        bool   `json:"weak,omitempty"` // a weak definition
	ThreadLocal bool   `json:"thread_local,omitempty"`
	// For a re-exported symbol, Ordinal is its library and As its name there; otherwise Ordinal is
	// 0.
	Ordinal int    `json:"ordinal,omitempty"`
	As      string `json:"as,omitempty"`
}

// Export returns the export with a name; ok is false without one.
func (o *Object) Export(name string) (Export, bool) {
	n, ok := slices.BinarySearchFunc(o.Exports, name, func(e Export, name string) int {
		return cmp.Compare(e.Name, name)
	})
	if !ok {
		return Export{}, false
	}
	return o.Exports[n], true
}

// Extension reports whether the file exports the init function of a Python module.
func (o *Object) Extension() bool {
	n, _ := slices.BinarySearchFunc(o.Exports, "_PyInit_", func(e Export, name string) int {
		return cmp.Compare(e.Name, name)
	})
	return n < len(o.Exports) && strings.HasPrefix(o.Exports[n].Name, "_PyInit_")
}

// Signature is the code signature of a slice. On arm64 the kernel rejects code without a valid one.
type Signature struct {
	AdHoc bool `json:"ad_hoc"` // without a certificate: made by the linker or by codesign -s -
	// Stale is why the signature does not match the file; "" if it matches. The kernel kills a
	// process that accesses a page with a wrong hash ("Code Signature Invalid"). It is ""
	// for other architectures than arm64: their code needs no signature, and it is not checked.
	Stale string `json:"stale,omitempty"`
}
