package abi

import "github.com/compat-app/compat/analyzer/elfobj"

// Evidence is the most detailed source that a library's ABI was read from.
type Evidence string

// Sources.
const (
	EvidenceDWARF Evidence = "dwarf"
	EvidenceBTF   Evidence = "btf"
	EvidenceCTF   Evidence = "ctf"
	// types that the public headers declare, read by a compiler
	EvidenceHeaders Evidence = "headers"
	// dynamic symbols, virtual tables and typeinfo; no types
	EvidenceSymbols Evidence = "symbols"
)

// Library is the ABI of a shared library.
type Library struct {
	Name     string   `json:"name"` // given by the caller
	SONAME   string   `json:"soname,omitempty"`
	BuildID  string   `json:"build_id,omitempty"`
	Machine  string   `json:"machine"` // as in elfobj.Object
	Class    int      `json:"class"`   // 32 or 64
	Order    string   `json:"byte_order"`
	EFlags   uint32   `json:"e_flags,omitempty"`
	Needed   []string `json:"needed"`
	Versions []string `json:"versions"` // version nodes that it defines, without the base version
	// it has DT_VERSYM, so that the loader reports missing versions instead of aborting
	Versym bool `json:"versym"`
	// it looks up its own symbols in itself first (DT_SYMBOLIC)
	Symbolic bool `json:"symbolic,omitempty"`

	Form Form `json:"form,omitempty"` // "" for a shared library

	Evidence Evidence `json:"evidence"`
	// why types could not be read from existing debug information
	Problems []string `json:"problems,omitempty"`

	Symbols []Symbol `json:"symbols"`
	Tables  []Table  `json:"tables,omitempty"` // virtual tables and typeinfo, sorted by symbol
	Types   []Type   `json:"types,omitempty"`  // Types[0] is void
	Units   int      `json:"-"`                // number of units of debug information
	Partial bool     `json:"-"`                // visibility and memory of symbols are not known
	Debian  bool     `json:"-"`                // from a debian/*.symbols file, which has only names
	Header  string   `json:"-"`                // for a symbols file, the line with the library's name

	// Unaligned means that its source does not record alignments that the source code sets.
	Unaligned bool `json:"-"`
	// NoBits means that its source does not record the sizes of bit-fields.
	NoBits bool `json:"-"`
	// Packaged means that it was read from a package, which replaces all files of the one before.
	Packaged bool `json:"-"`

	// Undefined are the strong imports without a version, sorted; nil if they are not known.
	Undefined []string `json:"undefined,omitzero"`

	program *elfobj.Object // whose use of a library this is; nil for a library
	headers bool           // SetHeaders decided which types are private
}

// Form is what uses the symbols of a library: programs at run time, or something else.
type Form string

// Forms.
const (
	Objects Form = "objects" // an object file or a static library, which programs are linked with
	Module  Form = "module"  // a kernel module
)

// Symbol is an export.
type Symbol struct {
	Name      string      `json:"name"`
	Version   string      `json:"version,omitempty"`
	Hidden    bool        `json:"hidden,omitempty"` // name@V, not name@@V
	Kind      elfobj.Kind `json:"kind"`
	Weak      bool        `json:"weak,omitempty"`  // STB_WEAK or STB_GNU_UNIQUE
	Size      uint64      `json:"size,omitempty"`  // of data; 0 for functions
	Align     uint32      `json:"align,omitempty"` // of data, if the source sets it
	Protected bool        `json:"protected,omitempty"`
	ReadOnly  bool        `json:"read_only,omitempty"`
	// defined in a class or a header: every program that uses it has its own copy
	Inline bool `json:"inline,omitempty"`
	// type of the function or variable, or the class of typeinfo and of a virtual table; 0 if unknown
	Type   TypeID `json:"type,omitempty"`
	File   string `json:"file,omitempty"` // file of the declaration
	Line   uint32 `json:"line,omitempty"`
	Copied bool   `json:"-"` // a variable that a program has a copy of
	// of a kernel module: the checksum that modules which use the symbol were built with (0 without
	// one), the namespace that they import, and whether their license has to be compatible with GPL
	CRC       uint32 `json:"crc,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	GPL       bool   `json:"gpl,omitempty"`
	// Name is a C++ name from a symbols file
	Demangled bool `json:"-"`
}

// ID returns the symbol with its version: name, name@V or name@@V.
func (s *Symbol) ID() string {
	switch {
	case s.Version == "":
		return s.Name
	case s.Hidden:
		return s.Name + "@" + s.Version
	}
	return s.Name + "@@" + s.Version
}

// Table is a virtual table, a VTT or typeinfo, as words after relocation.
type Table struct {
	Symbol string `json:"symbol"` // _ZTV…, _ZTI… or _ZTT…
	Size   uint64 `json:"size"`   // in bytes
	// #N for a number, or the symbols of an address, separated by spaces and the strong ones first; ""
	// for an address without an exported symbol, or with very many
	Words []string `json:"words,omitempty"`
}

// TypeID is an index in Library.Types. 0 is void, or an unknown type.
type TypeID int32

// Kind is the kind of a type.
type Kind string

// Kinds of types.
const (
	Void          Kind = "void"
	Base          Kind = "base"
	Pointer       Kind = "pointer"
	Reference     Kind = "reference"
	MemberPointer Kind = "member-pointer"
	Array         Kind = "array"
	Struct        Kind = "struct" // or a class
	Union         Kind = "union"
	Enum          Kind = "enum"
	Function      Kind = "function"
	Unknown       Kind = "unknown" // damaged or beyond a limit; equal to every type
)

// Type is a type without typedefs and qualifiers.
type Type struct {
	Kind Kind `json:"kind"`
	// qualified; for an unnamed type the name of its typedef, or ""
	Name     string `json:"name,omitempty"`
	Size     uint64 `json:"size,omitempty"`     // in bytes
	Encoding uint8  `json:"encoding,omitempty"` // DW_ATE_ value of a base type, or of an enum's
	Align    uint32 `json:"align,omitempty"`    // if the source sets it
	// the type pointed to, the element type, or the result of a function
	Elem TypeID `json:"elem,omitempty"`
	// number of elements for each dimension of an array; -1 if open
	Counts []int64 `json:"counts,omitempty"`

	Declared bool `json:"declared,omitempty"` // declared only: opaque
	Class    bool `json:"class,omitempty"`    // declared in C++: programs may have its definition
	IsClass  bool `json:"is_class,omitempty"` // defined as class in C++, not as struct
	Private  bool `json:"private,omitempty"`  // defined in a source file
	System   bool `json:"system,omitempty"`   // defined in a header of the system or the compiler
	// for a C++ class, DW_CC_pass_by_value or DW_CC_pass_by_reference; 0 if not specified
	Passing uint8  `json:"passing,omitempty"`
	File    string `json:"file,omitempty"`
	Line    uint32 `json:"line,omitempty"`

	Members     []Member     `json:"members,omitempty"`
	Bases       []BaseClass  `json:"bases,omitempty"`
	Virtuals    []Virtual    `json:"virtuals,omitempty"`
	Arguments   []TypeID     `json:"arguments,omitempty"` // of a class template, if they are types
	Enumerators []Enumerator `json:"enumerators,omitempty"`
	Params      []Param      `json:"params,omitempty"`
	Variadic    bool         `json:"variadic,omitempty"`
	// declared as int f() in C, without parameters
	Unprototyped bool `json:"unprototyped,omitempty"`
	// DW_CC_ value, if it is not the normal convention
	Convention uint8 `json:"convention,omitempty"`
}

// Member is a data member.
type Member struct {
	Name   string `json:"name,omitempty"`
	Offset uint64 `json:"offset"`         // in bits
	Bits   uint32 `json:"bits,omitempty"` // size of a bit-field
	Type   TypeID `json:"type"`
}

// BaseClass is a base class.
type BaseClass struct {
	Type    TypeID `json:"type"`
	Offset  uint64 `json:"offset"` // in bytes; 0 for a virtual base
	Virtual bool   `json:"virtual,omitempty"`
}

// Virtual is a virtual function that a class declares.
type Virtual struct {
	Name string `json:"name"`           // mangled if possible
	Slot int64  `json:"slot"`           // -1 if unknown
	Type TypeID `json:"type,omitempty"` // of the function; 0 if unknown
}

// Enumerator is an enumerator of an enumeration.
type Enumerator struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Param is a parameter.
type Param struct {
	Name string `json:"name,omitempty"`
	Type TypeID `json:"type"`
}

// composites returns the names of structures, classes and unions.
func (l *Library) composites() map[string]bool {
	names := map[string]bool{}
	for i := range l.Types {
		if t := &l.Types[i]; t.composite() && t.Name != "" {
			names[t.Name] = true
		}
	}
	return names
}

// SetHeaders marks types as private that the public headers do not define, so that programs cannot
// use them. System types are not changed.
func (l *Library) SetHeaders(h *Headers) {
	l.headers = true
	if l.Evidence == EvidenceBTF || l.Evidence == EvidenceCTF { // without files
		for i := range l.Types {
			t := &l.Types[i]
			t.Private = t.composite() && t.Name != "" && !h.define(t)
		}
	}
	l.setPublic(h.define)
}

// SetHeaderFiles is SetHeaders for headers of which only the paths are known, as the debug
// information has them. Types of source files remain blind spots.
func (l *Library) SetHeaderFiles(public func(file string) bool) {
	l.setPublic(func(t *Type) bool { return public(t.File) })
}

func (l *Library) setPublic(public func(*Type) bool) {
	for i := range l.Types {
		if t := &l.Types[i]; t.File != "" && !t.System {
			t.Private = !public(t)
		}
	}
}
