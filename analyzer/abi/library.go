package abi

import "github.com/compat-app/compat/analyzer/elfobj"

// Evidence is the richest source that a library's ABI was read from.
type Evidence string

// The sources.
const (
	EvidenceDWARF Evidence = "dwarf"
	EvidenceBTF   Evidence = "btf"
	// the dynamic symbol table and the data that it names; no types
	EvidenceSymbols Evidence = "symbols"
)

// Library is the ABI of one shared library.
type Library struct {
	Name     string   `json:"name"` // as the caller calls it
	SONAME   string   `json:"soname,omitempty"`
	BuildID  string   `json:"build_id,omitempty"`
	Machine  string   `json:"machine"` // as of elfobj.Object
	Class    int      `json:"class"`   // 32 or 64
	Order    string   `json:"byte_order"`
	EFlags   uint32   `json:"e_flags,omitempty"`
	Needed   []string `json:"needed"`
	Versions []string `json:"versions"` // version nodes that it defines, without the base one
	// has DT_VERSYM: the loader checks versions without an assertion
	Versym bool `json:"versym"`

	Evidence Evidence `json:"evidence"`
	// why types could not be read although there is debug information
	Problems []string `json:"problems,omitempty"`

	Symbols []Symbol `json:"symbols"`
	Tables  []Table  `json:"tables,omitempty"` // virtual tables and typeinfo, sorted by symbol
	Types   []Type   `json:"types,omitempty"`  // Types[0] is void
	Units   int      `json:"-"`                // units of debug information
	Partial bool     `json:"-"`                // visibility and memory of symbols are not known
	Debian  bool     `json:"-"`                // from a debian/*.symbols file: names only
	Header  string   `json:"-"`                // of such a file: the line with the library's name
}

// Symbol is an export.
type Symbol struct {
	Name      string      `json:"name"`
	Version   string      `json:"version,omitempty"`
	Hidden    bool        `json:"hidden,omitempty"` // name@V and not name@@V
	Kind      elfobj.Kind `json:"kind"`
	Weak      bool        `json:"weak,omitempty"` // STB_WEAK or STB_GNU_UNIQUE
	Size      uint64      `json:"size,omitempty"` // of data; 0 for functions
	Protected bool        `json:"protected,omitempty"`
	ReadOnly  bool        `json:"read_only,omitempty"`
	// defined in a class or a header: every program that uses it has its own copy
	Inline bool `json:"inline,omitempty"`
	// of a function or variable; 0 where it is not known
	Type TypeID `json:"type,omitempty"`
	File string `json:"file,omitempty"` // where it is declared
	Line uint32 `json:"line,omitempty"`
	// Name is the C++ name, of a symbols file
	Demangled bool `json:"-"`
}

// ID is the symbol with its version: name, name@V or name@@V.
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
	// a symbol, #N for a number, or "" for an address without an exported symbol
	Words []string `json:"words,omitempty"`
}

// TypeID is a place in Library.Types. 0 is void, or a type that is not known.
type TypeID int32

// Kind is the kind of a type.
type Kind string

// The kinds.
const (
	Void          Kind = "void"
	Base          Kind = "base"
	Pointer       Kind = "pointer"
	Reference     Kind = "reference"
	MemberPointer Kind = "member-pointer"
	Array         Kind = "array"
	Struct        Kind = "struct" // class too
	Union         Kind = "union"
	Enum          Kind = "enum"
	Function      Kind = "function"
	Unknown       Kind = "unknown" // damaged or beyond a limit; equal to everything
)

// Type is one type, without typedefs and qualifiers.
type Type struct {
	Kind Kind `json:"kind"`
	// with namespaces and classes; of an unnamed one that of its typedef, or ""
	Name     string `json:"name,omitempty"`
	Size     uint64 `json:"size,omitempty"`     // in bytes
	Encoding uint8  `json:"encoding,omitempty"` // DW_ATE_ of a base type
	Align    uint32 `json:"align,omitempty"`    // where the source sets it
	// what is pointed to, an element, what a function returns
	Elem TypeID `json:"elem,omitempty"`
	// elements of an array by dimension; -1 where it is open
	Counts []int64 `json:"counts,omitempty"`

	Declared bool `json:"declared,omitempty"` // only declared: opaque
	Private  bool `json:"private,omitempty"`  // defined in a source file
	System   bool `json:"system,omitempty"`   // defined in a header of the system or the compiler
	// of a C++ class as a parameter: DW_CC_pass_by_value or DW_CC_pass_by_reference; 0 where it is
	// not said
	Passing uint8  `json:"passing,omitempty"`
	File    string `json:"file,omitempty"`
	Line    uint32 `json:"line,omitempty"`

	Members     []Member     `json:"members,omitempty"`
	Bases       []BaseClass  `json:"bases,omitempty"`
	Virtuals    []Virtual    `json:"virtuals,omitempty"`
	Enumerators []Enumerator `json:"enumerators,omitempty"`
	Params      []Param      `json:"params,omitempty"`
	Variadic    bool         `json:"variadic,omitempty"`
	// int f(); in C: the parameters are not said
	Unprototyped bool `json:"unprototyped,omitempty"`
	// DW_CC_ where it is not the normal one
	Convention uint8 `json:"convention,omitempty"`
}

// Member is a data member.
type Member struct {
	Name   string `json:"name,omitempty"`
	Offset uint64 `json:"offset"`         // in bits
	Bits   uint32 `json:"bits,omitempty"` // of a bit-field
	Type   TypeID `json:"type"`
}

// BaseClass is a base class.
type BaseClass struct {
	Type    TypeID `json:"type"`
	Offset  uint64 `json:"offset"` // in bytes; 0 of a virtual one
	Virtual bool   `json:"virtual,omitempty"`
}

// Virtual is a virtual function that a class declares.
type Virtual struct {
	Name string `json:"name"` // mangled, or the plain name where there is no mangled one
	Slot int64  `json:"slot"` // -1 where it is not known
}

// Enumerator is a name of an enumeration.
type Enumerator struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Param is a parameter.
type Param struct {
	Name string `json:"name,omitempty"`
	Type TypeID `json:"type"`
}

// SetHeaders makes types private that are defined in files that are no public header: programs that
// include the headers cannot know them. public is asked with the path that the debug information
// has; types of the system stay as they are.
func (l *Library) SetHeaders(public func(file string) bool) {
	for i := range l.Types {
		if t := &l.Types[i]; t.File != "" && !t.System {
			t.Private = !public(t.File)
		}
	}
}
