package elfobj

import "debug/elf"

// Facts is an object with what follows from it, as compat facts prints it.
type Facts struct {
	*Object
	Arch       string    `json:"arch"`         // Object.Arch
	FlagNames  []string  `json:"flag_names"`   // of Flags, as the text form names them; bits without a name as one number
	Flag1Names []string  `json:"flag_1_names"` // of Flags1
	ISALevel   string    `json:"isa_level"`    // ISALevel of what it needs, "" for the baseline or where it says nothing
	Lazy       bool      `json:"lazy"`         // some calls are bound when they are first made, unless the loader is asked otherwise
	Toolchain  Toolchain `json:"toolchain"`
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
