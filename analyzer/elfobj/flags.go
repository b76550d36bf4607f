package elfobj

import (
	"debug/elf"
	"fmt"
)

// FlagName is the name of a bit of DT_FLAGS or DT_FLAGS_1.
type FlagName struct {
	Bit  uint64
	Name string
}

// FlagNames has the names of DT_FLAGS.
var FlagNames = []FlagName{
	{uint64(elf.DF_ORIGIN), "origin"},
	{uint64(elf.DF_SYMBOLIC), "symbolic"},
	{uint64(elf.DF_TEXTREL), "textrel"},
	{uint64(elf.DF_BIND_NOW), "now"},
	{uint64(elf.DF_STATIC_TLS), "static-tls"},
}

// Flag1Names has the names of DT_FLAGS_1.
var Flag1Names = []FlagName{
	{uint64(elf.DF_1_NOW), "now"},
	{uint64(elf.DF_1_GLOBAL), "global"},
	{uint64(elf.DF_1_NODELETE), "nodelete"},
	{uint64(elf.DF_1_INITFIRST), "initfirst"},
	{uint64(elf.DF_1_NOOPEN), "noopen"},
	{uint64(elf.DF_1_ORIGIN), "origin"},
	{uint64(elf.DF_1_INTERPOSE), "interpose"},
	{uint64(elf.DF_1_NODEFLIB), "nodeflib"},
	{uint64(elf.DF_1_PIE), "pie"},
}

// NamesOfFlags lists the names of the bits of v. Bits without a name are one number at the end.
func NamesOfFlags(v uint64, names []FlagName) []string {
	out := []string{}
	for _, n := range names {
		if v&n.Bit != 0 {
			out = append(out, n.Name)
			v &^= n.Bit
		}
	}
	if v != 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	return out
}

// SetFlags sets DT_FLAGS and the fields that follow from it.
func (o *Object) SetFlags(flags uint64) {
	o.Flags = flags
	o.TextRel = flags&uint64(elf.DF_TEXTREL) != 0
	o.StaticTLS = flags&uint64(elf.DF_STATIC_TLS) != 0
}
