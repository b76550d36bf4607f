package elftest

import (
	"debug/elf"
	"encoding/binary"
)

// Constants of the specifications that debug/elf does not have.
const (
	magic         = "\x7fELF"
	dtRelr        = elf.DynTag(36)
	bindUnique    = elf.SymBind(10) // STB_GNU_UNIQUE
	versionHidden = 0x8000          // VERSYM_HIDDEN

	noteABITag    = 1
	noteBuildID   = 3
	noteProperty  = 5
	noteGoBuildID = 4 // owner "Go"

	propertyISANeeded = 0xc0008002 // GNU_PROPERTY_X86_ISA_1_NEEDED
	propertyISAUsed   = 0xc0010002 // GNU_PROPERTY_X86_ISA_1_USED
)

// Limits of Write: elfobj would not read more.
const (
	maxSections = 64 << 10
	maxInterp   = 4096
)

// format is the class and the byte order of a file.
type format struct {
	wide  bool // 64 bits
	order binary.ByteOrder
}

// wordSize is the size of an address.
func (f *format) wordSize() uint64 {
	if f.wide {
		return 8
	}
	return 4
}

// symbolSize is the size of a symbol table entry.
func (f *format) symbolSize() uint64 {
	if f.wide {
		return 24
	}
	return 16
}

// up rounds n up to a multiple of align, a power of two.
func up(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }
