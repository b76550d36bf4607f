package elfobj

import (
	"debug/elf"
	"fmt"
	"strconv"
	"strings"
)

var machines = map[Machine]string{
	Machine(elf.EM_X86_64):    "x86_64",
	Machine(elf.EM_386):       "i686",
	Machine(elf.EM_AARCH64):   "aarch64",
	Machine(elf.EM_ARM):       "armv7l",
	Machine(elf.EM_PPC64):     "ppc64",
	Machine(elf.EM_PPC):       "ppc",
	Machine(elf.EM_S390):      "s390x",
	Machine(elf.EM_RISCV):     "riscv64",
	Machine(elf.EM_LOONGARCH): "loongarch64",
	Machine(elf.EM_MIPS):      "mips",
	Machine(elf.EM_SPARCV9):   "sparc64",
	Machine(elf.EM_ALPHA):     "alpha",
	Machine(elf.EM_BPF):       "bpf",
	Machine(elf.EM_CUDA):      "cuda",
	Machine(elf.EM_AMDGPU):    "amdgpu",
}

// arch is an architecture. The machine alone does not distinguish ppc64le from ppc64, or x32
// from x86_64.
type arch struct {
	name    string
	machine elf.Machine
	class   int
	order   string
}

var archs = []arch{
	{"x86_64", elf.EM_X86_64, 64, "little"},
	{"x32", elf.EM_X86_64, 32, "little"},
	{"i686", elf.EM_386, 32, "little"},
	{"aarch64", elf.EM_AARCH64, 64, "little"},
	{"aarch64_be", elf.EM_AARCH64, 64, "big"},
	{"armv7l", elf.EM_ARM, 32, "little"},
	{"armv7b", elf.EM_ARM, 32, "big"},
	{"ppc64le", elf.EM_PPC64, 64, "little"},
	{"ppc64", elf.EM_PPC64, 64, "big"},
	{"ppc", elf.EM_PPC, 32, "big"},
	{"s390x", elf.EM_S390, 64, "big"},
	{"s390", elf.EM_S390, 32, "big"},
	{"riscv64", elf.EM_RISCV, 64, "little"},
	{"riscv32", elf.EM_RISCV, 32, "little"},
	{"loongarch64", elf.EM_LOONGARCH, 64, "little"},
	{"loongarch32", elf.EM_LOONGARCH, 32, "little"},
	{"sparc64", elf.EM_SPARCV9, 64, "big"},
	{"mips", elf.EM_MIPS, 32, "big"},
	{"mipsel", elf.EM_MIPS, 32, "little"},
	{"mips64", elf.EM_MIPS, 64, "big"},
	{"mips64el", elf.EM_MIPS, 64, "little"},
}

// String returns the name that platform tags use for the machine in its usual class and byte
// order, or "0x…" for an unknown machine. EM_PPC64 is "ppc64"; Object.Arch considers the byte
// order.
func (m Machine) String() string {
	if s, ok := machines[m]; ok {
		return s
	}
	return fmt.Sprintf("%#x", uint16(m))
}

// MarshalText makes JSON contain "x86_64" instead of 62.
func (m Machine) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses what MarshalText returns. It returns an error for an unknown name.
func (m *Machine) UnmarshalText(text []byte) error {
	for k, s := range machines {
		if s == string(text) {
			*m = k
			return nil
		}
	}
	if h, ok := strings.CutPrefix(string(text), "0x"); ok {
		if n, err := strconv.ParseUint(h, 16, 16); err == nil {
			*m = Machine(n)
			return nil
		}
	}
	return fmt.Errorf("unknown ELF machine %q", text)
}

// Arch returns the architecture as platform tags and reports name it: "x86_64", "i686",
// "aarch64", "armv7l", "ppc64le", "ppc64", "s390x", "riscv64", "loongarch64", "mips64el" …. It
// considers class and byte order: the 32-bit ABI of x86_64 is "x32". A combination without a
// name is MACHINE-CLASS-ORDER, for example "0xfeed-64-little".
func (o *Object) Arch() string {
	for _, a := range archs {
		if Machine(a.machine) == o.Machine && a.class == o.Class && a.order == o.ByteOrder {
			return a.name
		}
	}
	return fmt.Sprintf("%s-%d-%s", o.Machine, o.Class, o.ByteOrder)
}

// SetArch sets Machine, Class and ByteOrder from a name that Arch returns. It returns an error
// for an unknown name.
func (o *Object) SetArch(name string) error {
	for _, a := range archs {
		if a.name == name {
			o.Machine, o.Class, o.ByteOrder = Machine(a.machine), a.class, a.order
			return nil
		}
	}
	if p := strings.Split(name, "-"); len(p) == 3 && (p[1] == "32" || p[1] == "64") &&
		(p[2] == "little" || p[2] == "big") {
		if err := o.Machine.UnmarshalText([]byte(p[0])); err == nil {
			o.Class, _ = strconv.Atoi(p[1])
			o.ByteOrder = p[2]
			return nil
		}
	}
	var known []string
	for _, a := range archs {
		known = append(known, a.name)
	}
	return fmt.Errorf(
		"unknown architecture %q; known architectures: %s, and MACHINE-CLASS-ORDER as in "+
			"0xfeed-64-little",
		name,
		strings.Join(known, ", "),
	)
}

// FlagName is the name of a bit of DT_FLAGS or DT_FLAGS_1.
type FlagName struct {
	Bit  uint64
	Name string
}

// FlagNames lists the bits of DT_FLAGS.
var FlagNames = []FlagName{
	{uint64(elf.DF_ORIGIN), "origin"},
	{uint64(elf.DF_SYMBOLIC), "symbolic"},
	{uint64(elf.DF_TEXTREL), "textrel"},
	{uint64(elf.DF_BIND_NOW), "now"},
	{uint64(elf.DF_STATIC_TLS), "static-tls"},
}

// Flag1Names lists the bits of DT_FLAGS_1.
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

// NamesOfFlags returns the names of the bits of v. Bits without a name follow as one number.
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

// SetFlags sets DT_FLAGS and the fields derived from it.
func (o *Object) SetFlags(flags uint64) {
	o.Flags = flags
	o.TextRel = flags&uint64(elf.DF_TEXTREL) != 0
	o.StaticTLS = flags&uint64(elf.DF_STATIC_TLS) != 0
}
