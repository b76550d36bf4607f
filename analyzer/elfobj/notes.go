package elfobj

import (
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Guards is a set of control-flow protections. A bit is set if all code of the object supports
// the protection; the linker clears it if one input does not.
type Guards uint8

// Control-flow protections. Each exists on one machine only.
const (
	GuardIBT     Guards = 1 << iota // x86: indirect branch tracking
	GuardSHSTK                      // x86: shadow stack
	GuardBTI                        // aarch64: branch target identification
	GuardPAC                        // aarch64: signed return addresses
	GuardGCS                        // aarch64: guarded control stack
	GuardZicfilp                    // riscv: landing pads
	GuardZicfiss                    // riscv: shadow stack
)

var guardNames = []string{"ibt", "shstk", "bti", "pac", "gcs", "zicfilp", "zicfiss"}

// feature describes GNU_PROPERTY_*_FEATURE_1_AND of a machine (binutils, include/elf/common.h).
type feature struct {
	property uint32
	bits     []Guards // meaning of bit 0, 1, 2 …
}

var features = map[elf.Machine]feature{
	elf.EM_X86_64:  {0xc0000002, []Guards{GuardIBT, GuardSHSTK}},
	elf.EM_386:     {0xc0000002, []Guards{GuardIBT, GuardSHSTK}},
	elf.EM_AARCH64: {0xc0000000, []Guards{GuardBTI, GuardPAC, GuardGCS}},
	elf.EM_RISCV:   {0xc0000000, []Guards{GuardZicfilp, GuardZicfiss}},
}

// Properties of x86 (x86-64 psABI, Linux extensions: program properties).
const (
	propertyISANeeded = 0xc0008002 // GNU_PROPERTY_X86_ISA_1_NEEDED
	propertyISAUsed   = 0xc0010002 // GNU_PROPERTY_X86_ISA_1_USED
)

// Has reports whether the set contains a protection.
func (g Guards) Has(one Guards) bool { return g&one != 0 }

func (g Guards) names() []string {
	out := []string{}
	for i, n := range guardNames {
		if g.Has(1 << i) {
			out = append(out, n)
		}
	}
	return out
}

// String returns the names separated by spaces.
func (g Guards) String() string { return strings.Join(g.names(), " ") }

// MarshalJSON returns a list of names.
func (g Guards) MarshalJSON() ([]byte, error) { return json.Marshal(g.names()) }

// UnmarshalJSON parses what MarshalJSON returns.
func (g *Guards) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*g = 0
	for _, n := range names {
		if err := g.Add(n); err != nil {
			return err
		}
	}
	return nil
}

// JSONSchema returns the schema for the list that MarshalJSON returns.
func (Guards) JSONSchema() map[string]any { return listOf(guardNames) }

// Add adds a protection by name. It returns an error for an unknown name.
func (g *Guards) Add(name string) error {
	for i, n := range guardNames {
		if n == name {
			*g |= 1 << i
			return nil
		}
	}
	return fmt.Errorf("%.80q is not one of %s;", name, strings.Join(guardNames, ", "))
}

// Property returns the type and the value of the machine's program property for the set. ok is
// false if the property has no bit for one of the protections.
func (g Guards) Property(m Machine) (property, bits uint32, ok bool) {
	f := features[elf.Machine(m)]
	for i, one := range f.bits {
		if g.Has(one) {
			bits |= 1 << i
			g &^= one
		}
	}
	return f.property, bits, g == 0
}

// properties reads an array of program properties: type, size, and data that is padded to a word.
func (o *Object) properties(f *file, b []byte) {
	align := uint64(4)
	if f.wide {
		align = 8
	}
	for len(b) >= 8 {
		c := f.cursor(b)
		typ, size := c.u32(), uint64(c.u32())
		if size > uint64(len(b)-8) {
			return
		}
		if size == 4 {
			o.property(typ, c.u32())
		}
		b = b[min(8+up(size, align), uint64(len(b))):]
	}
}

func (o *Object) property(typ, value uint32) {
	if o.Machine == Machine(elf.EM_X86_64) {
		switch typ {
		case propertyISANeeded:
			o.ISA = value
		case propertyISAUsed:
			o.ISAUsed = value
		}
	}
	if f := features[elf.Machine(o.Machine)]; f.property == typ {
		for i, one := range f.bits {
			if value&(1<<i) != 0 {
				o.Guards |= one
			}
		}
	}
}

// Types of notes whose owner is "GNU" (glibc, elf/elf.h).
const (
	noteABITag   = 1
	noteBuildID  = 3
	noteProperty = 5
)

// noteAndroidVersion is the type of a note whose owner is "Android" (bionic,
// libc/arch-common/bionic/ crtbrand.S): the API level, and the release of the NDK.
const noteAndroidVersion = 1

// noteGoBuildID is the type of a note whose owner is "Go" (cmd/internal/buildid).
const noteGoBuildID = 4

var abiSystems = []string{"Linux", "Hurd", "Solaris", "FreeBSD", "NetBSD", "Syllable", "NaCl"}

// maxAndroidAPI limits an API level; the marker of unfinished releases is 10000.
const maxAndroidAPI = 10_000

// readNotes reads the build ID, the ABI tag and the program properties. The rest of a segment
// is skipped after an invalid note; no result depends on notes alone.
func readNotes(f *file, ps []progHeader, o *Object) {
	left := uint64(maxNotes)
	for _, p := range ps {
		if p.typ != elf.PT_NOTE || p.filesz > left || !f.has(p.off, p.filesz) {
			continue
		}
		left -= p.filesz
		b, err := f.bytes(p.off, p.filesz, "PT_NOTE")
		if err != nil {
			continue
		}
		align := uint64(4)
		if p.al == 8 {
			align = 8
		}
		for len(b) >= 12 {
			c := f.cursor(b)
			namesz, descsz, typ := uint64(c.u32()), uint64(c.u32()), c.u32()
			at := up(12+namesz, align)
			end := up(at+descsz, align)
			if at+descsz > uint64(len(b)) {
				break
			}
			switch string(b[12 : 12+namesz]) {
			case "GNU\x00":
				o.note(f, typ, b[at:at+descsz])
			case "OpenBSD\x00", "NetBSD\x00", "DragonFly\x00":
				o.System = string(b[12 : 12+namesz-1])
			case "Android\x00":
				if desc := b[at : at+descsz]; typ == noteAndroidVersion && len(desc) >= 4 {
					o.AndroidAPI = int(min(f.cursor(desc).u32(), maxAndroidAPI))
				}
			case "Go\x00\x00":
				o.GoBuildID = o.GoBuildID || typ == noteGoBuildID
			}
			b = b[min(end, uint64(len(b))):]
		}
	}
}

func (o *Object) note(f *file, typ uint32, desc []byte) {
	switch {
	case typ == noteBuildID && len(desc) <= 64 && o.BuildID == "":
		// SHA-1 has 20 bytes, the longest known ID has 32.
		o.BuildID = hex.EncodeToString(desc)
	case typ == noteABITag && len(desc) == 16 && o.ABITag == "":
		c := f.cursor(desc)
		o.ABITag = FormatABITag([4]uint32{c.u32(), c.u32(), c.u32(), c.u32()})
	case typ == noteProperty:
		o.properties(f, desc)
	}
}

// up rounds n up to a multiple of align, a power of two.
func up(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// ParseABITag returns the four words of the note for a string such as "Linux 3.2.0".
func ParseABITag(s string) ([4]uint32, error) {
	var n [4]uint32
	name, kernel, _ := strings.Cut(s, " ")
	if i := slices.Index(abiSystems, name); i >= 0 {
		n[0] = uint32(i)
	} else if _, err := fmt.Sscanf(name, "system%d", &n[0]); err != nil {
		return n, fmt.Errorf("%q is not an ABI tag such as Linux 3.2.0", s)
	}
	if _, err := fmt.Sscanf(kernel, "%d.%d.%d", &n[1], &n[2], &n[3]); err != nil {
		return n, fmt.Errorf("%q is not an ABI tag such as Linux 3.2.0", s)
	}
	return n, nil
}

// FormatABITag is the inverse of ParseABITag.
func FormatABITag(n [4]uint32) string {
	name := fmt.Sprintf("system%d", n[0])
	if n[0] < uint32(len(abiSystems)) {
		name = abiSystems[n[0]]
	}
	return fmt.Sprintf("%s %d.%d.%d", name, n[1], n[2], n[3])
}
