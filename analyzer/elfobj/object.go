// Package elfobj reads an ELF file into plain data: the libraries it needs, and the symbols
// that it imports and exports with their versions.
//
//	o, err := elfobj.Read(r, size)
//
// Read uses what the dynamic linker uses: the program headers, PT_DYNAMIC and the tables that
// its entries refer to. Section headers are used only for hints (.comment, GPU code), so an
// object without them gives the same result. The package never executes the file and knows
// nothing about platforms. Package elftest writes ELF files for tests from a text form.
//
// The input is untrusted. A 64 KB file with overlapping Verneed records makes debug/elf
// allocate 917 MB, and for a file without section headers its ImportedLibraries returns no
// libraries and no error. This package checks every count, offset and length against the file
// before using it, limits the number of records and the total length of names (see the limits
// in file.go), and returns an error that names the table if two fields contradict each other.
// An object that cannot be read is never reported as an object without dependencies.
package elfobj

import (
	"debug/elf"
)

// Object is an ELF file as the dynamic linker sees it. All fields are read through the program
// headers (PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_STACK), except Comment and Sections, which
// come from section headers: they are hints and may be empty. The zero value is an object
// without a dynamic section.
type Object struct {
	Class     int     `json:"class"`      // 32 or 64
	ByteOrder string  `json:"byte_order"` // "little" or "big"
	Machine   Machine `json:"machine"`    // in JSON and text: "x86_64", "aarch64", …
	OSABI     uint8   `json:"os_abi"`     // EI_OSABI; 0 is System V, 3 is Linux
	Type      string  `json:"type"`       // "ET_DYN", "ET_EXEC", "ET_REL" or "ET_CORE"
	// e_flags. On ARM it contains the EABI version and the floating-point calling convention.
	EFlags uint32 `json:"e_flags"`

	Interp  string `json:"interp,omitempty"` // PT_INTERP, "" for a shared library
	Dynamic bool   `json:"dynamic"`          // has a PT_DYNAMIC with contents in the file
	// A program without a PT_DYNAMIC whose code is in the file: no dynamic linker reads it.
	Static bool   `json:"static,omitempty"`
	SONAME string `json:"soname,omitempty"` // DT_SONAME
	// DT_RPATH as written, separated by colons. The loader ignores it if RunPath is set.
	RPath   string `json:"rpath,omitempty"`
	RunPath string `json:"runpath,omitempty"` // DT_RUNPATH as written, separated by colons

	Needed  []string `json:"needed"`  // DT_NEEDED in file order
	Imports *Imports `json:"imports"` // undefined dynamic symbols in table order
	// Defined GLOBAL, WEAK and UNIQUE dynamic symbols with default or protected visibility, in
	// table order.
	Exports *Exports `json:"exports"`

	VersionNeeds []VersionNeed `json:"version_needs"` // DT_VERNEED
	VersionDefs  []VersionDef  `json:"version_defs"`  // DT_VERDEF
	HasVersym    bool          `json:"has_versym"`    // has DT_VERSYM

	// DT_FLAGS, including the flags of the older tags DT_SYMBOLIC, DT_TEXTREL and DT_BIND_NOW.
	Flags   uint64 `json:"flags"`
	Flags1  uint64 `json:"flags_1"`  // DT_FLAGS_1
	TextRel bool   `json:"text_rel"` // DT_TEXTREL or DF_TEXTREL
	// "yes" if PT_GNU_STACK has PF_X, "no" if it has not, "unsaid" without a PT_GNU_STACK.
	ExecStack string `json:"exec_stack"`
	StaticTLS bool   `json:"static_tls"`                 // DF_STATIC_TLS
	RelR      bool   `json:"relr"`                       // DT_RELR
	Local     Relocs `json:"local_relocations,omitzero"` // kinds of the relocations without a symbol

	BuildID string `json:"build_id,omitempty"` // NT_GNU_BUILD_ID in hex
	ABITag  string `json:"abi_tag,omitempty"`  // NT_GNU_ABI_TAG as "Linux 3.2.0"
	// The API level of Android that it was built for (NT_VERSION of Android); 0 without one.
	AndroidAPI int `json:"android_api,omitempty"`
	// The largest pages with which a file for Android loads, in bytes: the smallest alignment of a
	// PT_LOAD, if that is less than 64 KiB. 0 = 64 KiB or more, or another file.
	MaxPage uint64 `json:"max_page,omitempty"`
	// The system of BSD that owns one of its notes, "OpenBSD"; "" for others.
	System string `json:"system,omitempty"`
	// GNU_PROPERTY_X86_ISA_1_NEEDED: bit 0 baseline, bit 1 x86-64-v2, bit 2 v3, bit 3 v4. The
	// loader refuses the object on a CPU with less.
	ISA uint32 `json:"isa,omitempty"`
	// GNU_PROPERTY_X86_ISA_1_USED, same bits: used by some of the code, possibly after checking the
	// CPU.
	ISAUsed uint32 `json:"isa_used,omitempty"`
	// GNU_PROPERTY_*_FEATURE_1_AND: control-flow protections that all of the code supports.
	Guards    Guards `json:"guards,omitzero"`
	GoBuildID bool   `json:"go_build_id,omitempty"` // has the build ID note of the Go linker
	// The release of libxml2 that it contains and exports, 20914 for 2.9.14; 0 without one.
	Libxml2 int `json:"libxml2,omitempty"`
	// Distinct strings of .comment, which identify the compilers.
	Comment []string `json:"comment,omitempty"`

	// Has no section headers, or none that can be read.
	NoSections bool `json:"no_sections,omitempty"`
	// Section headers whose contents are inside the file. A hint; empty in a stripped file.
	Sections []Section `json:"-"`
}

// Import is an undefined symbol. Version and Library are "" if it has no version.
type Import struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// vn_file of the version: the library in which the linker found the symbol.
	Library string `json:"library,omitempty"`
	Weak    bool   `json:"weak,omitempty"`
	// Kinds of the relocations that refer to it. If empty, the loader does not look it up.
	Relocs Relocs `json:"relocations,omitzero"`
	Kind   Kind   `json:"kind"`
}

// Export is a defined dynamic symbol. Version is "" for version index 0 or 1.
type Export struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// The hidden bit of the version index is set: name@V, not name@@V.
	Hidden bool `json:"hidden,omitempty"`
	Weak   bool `json:"weak,omitempty"`
	Unique bool `json:"unique,omitempty"` // STB_GNU_UNIQUE
	// Kinds of the object's own relocations that refer to it by name, so that a definition in
	// another object may take precedence.
	Relocs Relocs `json:"relocations,omitzero"`
	Kind   Kind   `json:"kind"`
	Size   uint64 `json:"size,omitempty"`
}

// Kind is a symbol type: "notype", "object", "func", "tls", "ifunc", "common", "section",
// "file" or "0x…".
type Kind string

// VersionNeed is one Verneed record: the versions required from one library.
type VersionNeed struct {
	Library  string          `json:"library"` // vn_file
	Versions []NeededVersion `json:"versions"`
}

// NeededVersion is one Vernaux record.
type NeededVersion struct {
	Name string `json:"name"`
	// VER_FLG_WEAK: if the version is missing, the loader prints a warning and continues.
	Weak bool `json:"weak,omitempty"`
}

// VersionDef is one Verdef record.
type VersionDef struct {
	Name    string   `json:"name"`
	Base    bool     `json:"base,omitempty"` // VER_FLG_BASE: the object's own name
	Weak    bool     `json:"weak,omitempty"`
	Parents []string `json:"parents,omitempty"`
}

// Section is a section header whose contents are inside the file.
type Section struct {
	Name         string
	Type         uint32
	Offset, Size uint64
	Flags, Addr  uint64 // sh_flags, sh_addr
	// Set only by elftest.Parse, and written by elftest.Write. Read leaves it nil; the contents are
	// at Offset in the file.
	Data []byte
}

// Machine is e_machine. String returns the name that platform tags use.
type Machine uint16

// Facts is an object with values derived from it, as compat facts prints them.
type Facts struct {
	*Object
	Arch string `json:"arch"` // Object.Arch
	// Names of the bits of Flags. Bits without a name follow as one number.
	FlagNames  []string `json:"flag_names"`
	Flag1Names []string `json:"flag_1_names"` // names of the bits of Flags1
	// ISALevel of ISA; "" for the baseline or if the object has no such note.
	ISALevel string `json:"isa_level"`
	// Some calls are bound at their first use, unless the loader is configured otherwise.
	Lazy      bool      `json:"lazy"`
	Toolchain Toolchain `json:"toolchain"`
}

// Facts returns o with the values derived from it.
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

// Lazy reports whether the object has calls that are bound at their first use: it has jump
// slots and sets neither DF_BIND_NOW nor DF_1_NOW.
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

// ISALevel returns the highest level in a set of GNU_PROPERTY_X86_ISA_1_* bits: "x86-64-v2",
// "x86-64-v3" or "x86-64-v4". It returns "" for the baseline, which every x86_64 CPU has, and
// "x86-64-v5 or later" for a bit that is not defined yet.
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
