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

import (
	"debug/elf"
)

// Object is one ELF file as the dynamic linker sees it: everything here was read through the
// program headers (PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK) and not through section headers,
// except Comment and Sections, which are hints and may be empty. The zero value is an object
// without a dynamic section.
type Object struct {
	Class     int     `json:"class"`      // 32 or 64
	ByteOrder string  `json:"byte_order"` // "little" or "big"
	Machine   Machine `json:"machine"`    // in JSON and text: "x86_64", "aarch64", …
	OSABI     uint8   `json:"os_abi"`     // EI_OSABI; 0 is System V, 3 is Linux
	Type      string  `json:"type"`       // "ET_DYN", "ET_EXEC", "ET_REL" or "ET_CORE"
	// e_flags: of ARM the version of its EABI and whether floats go in registers
	EFlags uint32 `json:"e_flags"`

	Interp  string `json:"interp,omitempty"` // PT_INTERP, "" for a shared library
	Dynamic bool   `json:"dynamic"`          // has a PT_DYNAMIC with bytes in the file
	SONAME  string `json:"soname,omitempty"` // DT_SONAME
	// DT_RPATH as written, colon separated; ignored by the loader where RunPath is set
	RPath   string `json:"rpath,omitempty"`
	RunPath string `json:"runpath,omitempty"` // DT_RUNPATH as written, colon separated

	Needed  []string `json:"needed"`  // DT_NEEDED in file order
	Imports *Imports `json:"imports"` // undefined dynamic symbols in table order
	// defined, visible GLOBAL, WEAK and UNIQUE dynamic symbols in table order
	Exports *Exports `json:"exports"`

	VersionNeeds []VersionNeed `json:"version_needs"` // DT_VERNEED
	VersionDefs  []VersionDef  `json:"version_defs"`  // DT_VERDEF
	HasVersym    bool          `json:"has_versym"`    // has DT_VERSYM

	// DT_FLAGS, with DF_SYMBOLIC, DF_TEXTREL, DF_BIND_NOW set from the older tags too
	Flags   uint64 `json:"flags"`
	Flags1  uint64 `json:"flags_1"`  // DT_FLAGS_1
	TextRel bool   `json:"text_rel"` // DT_TEXTREL or DF_TEXTREL
	// "yes" (PF_X), "no", or "unsaid" where there is no PT_GNU_STACK
	ExecStack string `json:"exec_stack"`
	StaticTLS bool   `json:"static_tls"`                 // DF_STATIC_TLS
	RelR      bool   `json:"relr"`                       // DT_RELR
	Local     Relocs `json:"local_relocations,omitzero"` // ways of the relocations that name no symbol

	BuildID string `json:"build_id,omitempty"` // NT_GNU_BUILD_ID in hex
	ABITag  string `json:"abi_tag,omitempty"`  // NT_GNU_ABI_TAG as "Linux 3.2.0"
	// GNU_PROPERTY_X86_ISA_1_NEEDED: bit 0 baseline, 1 x86-64-v2, 2 v3, 3 v4; the loader refuses it on
	// less
	ISA uint32 `json:"isa,omitempty"`
	// GNU_PROPERTY_X86_ISA_1_USED, bits likewise: somewhere in it, perhaps after asking the processor
	ISAUsed uint32 `json:"isa_used,omitempty"`
	// GNU_PROPERTY_*_FEATURE_1_AND: protections that all of its code is made for
	Guards    Guards `json:"guards,omitzero"`
	GoBuildID bool   `json:"go_build_id,omitempty"` // has the note of the Go linker
	// distinct strings of .comment: which compilers made it
	Comment []string `json:"comment,omitempty"`

	// has no section headers, or none that can be read
	NoSections bool `json:"no_sections,omitempty"`
	// section headers that lie inside the file; a hint, empty in a stripped file
	Sections []Section `json:"-"`
}

// Import is an undefined symbol. Version and Library are "" for an unversioned one.
type Import struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// vn_file of its version: the library the linker found it in
	Library string `json:"library,omitempty"`
	Weak    bool   `json:"weak,omitempty"`
	// how the loader is told to look it up; empty: it is not
	Relocs Relocs `json:"relocations,omitzero"`
	Kind   Kind   `json:"kind"`
}

// Export is a defined dynamic symbol. Version is "" where it has none (index 0 or 1).
type Export struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// the hidden bit of its version index: name@V and not name@@V
	Hidden bool `json:"hidden,omitempty"`
	Weak   bool `json:"weak,omitempty"`
	Unique bool `json:"unique,omitempty"` // STB_GNU_UNIQUE
	// uses of its own that the loader binds by name, so that another object's definition may come
	// first
	Relocs Relocs `json:"relocations,omitzero"`
	Kind   Kind   `json:"kind"`
	Size   uint64 `json:"size,omitempty"`
}

// Kind is a symbol's type: "notype", "object", "func", "tls", "ifunc", "common", "section", "file"
// or "0x…".
type Kind string

// VersionNeed is one Verneed record: the versions wanted of one library.
type VersionNeed struct {
	Library  string          `json:"library"` // vn_file
	Versions []NeededVersion `json:"versions"`
}

// NeededVersion is one Vernaux record.
type NeededVersion struct {
	Name string `json:"name"`
	// VER_FLG_WEAK: its absence is a warning of the loader, not an error
	Weak bool `json:"weak,omitempty"`
}

// VersionDef is one Verdef record.
type VersionDef struct {
	Name    string   `json:"name"`
	Base    bool     `json:"base,omitempty"` // VER_FLG_BASE: the object's own name
	Weak    bool     `json:"weak,omitempty"`
	Parents []string `json:"parents,omitempty"`
}

// Section is a section header whose bytes lie inside the file.
type Section struct {
	Name         string
	Type         uint32
	Offset, Size uint64
	Flags, Addr  uint64 // sh_flags, sh_addr
	// only from Parse and for Write; Read leaves it nil, and the bytes are at Offset of the file
	Data []byte
}

// Machine is e_machine. String gives the name that platform tags use.
type Machine uint16

// Facts is an object with what follows from it, as compat facts prints it.
type Facts struct {
	*Object
	Arch string `json:"arch"` // Object.Arch
	// of Flags, as the text form names them; bits without a name as one number
	FlagNames  []string `json:"flag_names"`
	Flag1Names []string `json:"flag_1_names"` // of Flags1
	// ISALevel of what it needs, "" for the baseline or where it says nothing
	ISALevel string `json:"isa_level"`
	// some calls are bound when they are first made, unless the loader is asked otherwise
	Lazy      bool      `json:"lazy"`
	Toolchain Toolchain `json:"toolchain"`
}

// Facts derives what follows from o.
func (o *Object) Facts() Facts {
	return Facts{
		Object:     o,
		Arch:       o.Arch(),
		FlagNames:  NamesOfFlags(o.Flags, FlagNames),
		Flag1Names: NamesOfFlags(o.Flags1, Flag1Names),
		ISALevel:   ISALevel(o.ISA),
		Lazy:       o.Lazy(),
		Toolchain:  o.Toolchain(),
	}
}

// Lazy tells whether the object has calls that are bound when they are first made: it does not ask
// to be bound at once, and has jump slots.
func (o *Object) Lazy() bool {
	if o.Flags&uint64(elf.DF_BIND_NOW) != 0 || o.Flags1&uint64(elf.DF_1_NOW) != 0 {
		return false
	}
	for _, i := range o.Imports.All() {
		if i.Relocs.Has(RelocJumpSlot) {
			return true
		}
	}
	for _, e := range o.Exports.All() {
		if e.Relocs.Has(RelocJumpSlot) {
			return true
		}
	}
	return false
}

// ISALevel names the highest level in a set of GNU_PROPERTY_X86_ISA_1_*: "x86-64-v2", "x86-64-v3"
// or "x86-64-v4". It is "" for the baseline, which every x86_64 machine has, and "x86-64-v5 or
// later" for a bit that has no name yet.
func ISALevel(bits uint32) string {
	switch {
	case bits>>4 != 0:
		return "x86-64-v5 or later"
	case bits&8 != 0:
		return "x86-64-v4"
	case bits&4 != 0:
		return "x86-64-v3"
	case bits&2 != 0:
		return "x86-64-v2"
	}
	return ""
}
