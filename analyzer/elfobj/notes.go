package elfobj

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Types of notes whose owner is "GNU" (glibc, elf/elf.h).
const (
	noteABITag   = 1
	noteBuildID  = 3
	noteProperty = 5
)

var abiSystems = []string{"Linux", "Hurd", "Solaris", "FreeBSD", "NetBSD", "Syllable", "NaCl"}

// propertyISANeeded is GNU_PROPERTY_X86_ISA_1_NEEDED (x86-64 psABI, Linux extensions: program properties).
const propertyISANeeded = 0xc0008002

// readNotes reads build ID, ABI tag and the instruction set that is needed. A note that makes no sense ends its segment; nothing depends on notes.
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
			if string(b[12:12+namesz]) == "GNU\x00" {
				o.note(f, typ, b[at:at+descsz])
			}
			b = b[min(end, uint64(len(b))):]
		}
	}
}

func (o *Object) note(f *file, typ uint32, desc []byte) {
	switch {
	case typ == noteBuildID && len(desc) <= 64 && o.BuildID == "": // SHA-1 has 20 bytes, the longest known 32
		o.BuildID = hex.EncodeToString(desc)
	case typ == noteABITag && len(desc) == 16 && o.ABITag == "":
		c := f.cursor(desc)
		o.ABITag = formatABITag([4]uint32{c.u32(), c.u32(), c.u32(), c.u32()})
	case typ == noteProperty && o.Machine == Machine(elf.EM_X86_64):
		o.properties(f, desc)
	}
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
		if typ == propertyISANeeded && size == 4 {
			o.ISA = c.u32()
		}
		b = b[min(8+up(size, align), uint64(len(b))):]
	}
}

// up rounds n up to a multiple of align, a power of two.
func up(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// parseABITag takes "Linux 3.2.0" apart into the four words of the note.
func parseABITag(s string) ([4]uint32, error) {
	var n [4]uint32
	name, kernel, _ := strings.Cut(s, " ")
	if i := slices.Index(abiSystems, name); i >= 0 {
		n[0] = uint32(i)
	} else if _, err := fmt.Sscanf(name, "system%d", &n[0]); err != nil {
		return n, fmt.Errorf("%q is no ABI tag, which looks like Linux 3.2.0", s)
	}
	if _, err := fmt.Sscanf(kernel, "%d.%d.%d", &n[1], &n[2], &n[3]); err != nil {
		return n, fmt.Errorf("%q is no ABI tag, which looks like Linux 3.2.0", s)
	}
	return n, nil
}

// formatABITag is the opposite of parseABITag.
func formatABITag(n [4]uint32) string {
	name := fmt.Sprintf("system%d", n[0])
	if n[0] < uint32(len(abiSystems)) {
		name = abiSystems[n[0]]
	}
	return fmt.Sprintf("%s %d.%d.%d", name, n[1], n[2], n[3])
}
