package wheelpolicy

import "encoding/binary"

// HeaderSize is how many first bytes of a file Unreadable looks at.
const HeaderSize = 64

// Unreadable judges a file by its ELF header as auditwheel's reader does, for files that elfobj
// can't read or whose section headers matter to that reader only. It gives true where auditwheel
// crashes on the file, and false where it passes over it (no ELF at all, or of a machine that no
// tag names) or can read it. broken says that elfobj could not read the file.
func Unreadable(head []byte, size int64, broken bool) bool {
	if len(head) < 20 || string(head[:4]) != "\x7fELF" || head[4] != 1 && head[4] != 2 ||
		head[5] != 1 && head[5] != 2 {
		return false
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[5] == 2 {
		order = binary.BigEndian
	}
	headerSize, entry, shnum := 52, int64(40), 48
	if head[4] == 2 {
		headerSize, entry, shnum = 64, 64, 60
	}
	if len(head) < headerSize {
		return false
	}
	shoff := int64(order.Uint32(head[32:]))
	if head[4] == 2 {
		shoff = int64(order.Uint64(head[40:]))
	}
	sections := int64(order.Uint16(head[shnum:]))
	// Its table of sections ends behind the file: what is cut off is more than auditwheel can do
	// without.
	if shoff < 0 || shoff > 0 && sections > 0 && shoff > size-sections*entry {
		return true
	}
	return broken && taggedMachines[order.Uint16(head[18:])]
}

// taggedMachines are the e_machine of architectures that tags name.
var taggedMachines = map[uint16]bool{
	3:   true,
	21:  true,
	22:  true,
	40:  true,
	62:  true,
	183: true,
	243: true,
	258: true,
}
