package wheelpolicy

import "encoding/binary"

// HeaderSize is the number of bytes that Unreadable needs of a file.
const HeaderSize = 64

// Unreadable reports whether auditwheel's ELF reader fails on a file, given its first bytes and its
// size. It is meant for files that elfobj cannot read, and for those whose section headers matter
// only to auditwheel. It returns false if auditwheel ignores the file (not ELF, or of a machine
// without tags) or can read it. broken means that elfobj could not read the file.
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
	// auditwheel needs the section header table; it fails if that extends past the end of the file.
	if shoff < 0 || shoff > 0 && sections > 0 && shoff > size-sections*entry {
		return true
	}
	return broken && taggedMachines[order.Uint16(head[18:])]
}

// taggedMachines are the e_machine values of architectures that have tags.
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
