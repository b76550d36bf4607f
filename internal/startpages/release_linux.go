//go:build linux && (amd64 || arm64)

package startpages

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Types of entries of the auxiliary vector; see getauxval(3).
const (
	atPhdr  = 3 // address of the program headers
	atPhnum = 5 // number of them
)

// Release does what the package comment says. It only saves memory, so an error is ignored.
func Release() {
	vector, err := unix.Auxv()
	if err != nil {
		return
	}
	var headers, count uint64
	for _, entry := range vector {
		switch entry[0] {
		case atPhdr:
			headers = uint64(entry[1])
		case atPhnum:
			count = uint64(entry[1])
		}
	}
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return
	}
	defer file.Close()
	var header elf.Header64
	if binary.Read(file, binary.LittleEndian, &header) != nil || uint64(header.Phnum) != count {
		return
	}
	segments := make([]elf.Prog64, count)
	size := int64(header.Phnum) * int64(header.Phentsize)
	table := io.NewSectionReader(file, int64(header.Phoff), size)
	if binary.Read(table, binary.LittleEndian, segments) != nil {
		return
	}
	base, found := uint64(0), false
	for _, s := range segments {
		if elf.ProgType(s.Type) == elf.PT_PHDR {
			base, found = headers-s.Vaddr, true
		}
	}
	if !found {
		return
	}
	page := uint64(os.Getpagesize())
	for _, s := range segments {
		if elf.ProgType(s.Type) != elf.PT_LOAD || elf.ProgFlag(s.Flags)&elf.PF_W != 0 {
			continue
		}
		start := (base + s.Vaddr) &^ (page - 1)
		end := base + s.Vaddr + s.Filesz
		//nolint:errcheck // see above
		unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
	}
}
