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

// noteGoBuildID is the type of a note whose owner is "Go" (cmd/internal/buildid).
const noteGoBuildID = 4

var abiSystems = []string{"Linux", "Hurd", "Solaris", "FreeBSD", "NetBSD", "Syllable", "NaCl"}

// readNotes reads build ID, ABI tag and program properties. A note that makes no sense ends its
// segment; nothing depends on notes.
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
			case "Go\x00\x00":
				o.GoBuildID = o.GoBuildID || typ == noteGoBuildID
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
		o.ABITag = FormatABITag([4]uint32{c.u32(), c.u32(), c.u32(), c.u32()})
	case typ == noteProperty:
		o.properties(f, desc)
	}
}

// up rounds n up to a multiple of align, a power of two.
func up(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// ParseABITag takes "Linux 3.2.0" apart into the four words of the note.
func ParseABITag(s string) ([4]uint32, error) {
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

// FormatABITag is the opposite of ParseABITag.
func FormatABITag(n [4]uint32) string {
	name := fmt.Sprintf("system%d", n[0])
	if n[0] < uint32(len(abiSystems)) {
		name = abiSystems[n[0]]
	}
	return fmt.Sprintf("%s %d.%d.%d", name, n[1], n[2], n[3])
}
