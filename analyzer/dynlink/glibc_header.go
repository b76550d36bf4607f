package dynlink

import (
	"encoding/binary"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// newestKernel is larger than any Linux version that NT_GNU_ABI_TAG may require. glibc checked
// the note until 2.35.
const newestKernel = 20 << 16

// candidate is header with the check of NT_GNU_ABI_TAG, which applies to libraries only.
func (g *glibc) candidate(o *object) (ok bool, text string) {
	ok, text = g.header(o)
	return ok && (g.minor > 35 || o.kernel <= newestKernel), text
}

// header implements open_verify (glibc, elf/dl-load.c): whether a file can be loaded. If ok is
// false and text is "", the search continues, for example after a file for another machine;
// otherwise text is the error message.
func (g *glibc) header(o *object) (ok bool, text string) {
	switch {
	case o.folder:
		return false, "cannot read file data: Error 21"
	case o.short:
		return false, "file too short"
	case !o.magic:
		return false, "invalid ELF header"
	}
	h := o.head
	class, big, machine, flags := g.wanted(h)
	const osabi, abiversion, pad = 7, 8, 9
	switch {
	case h.Class != class:
		return false, ""
	case big && h.Ident[5] != 2:
		return false, "ELF file data encoding not big-endian"
	case !big && h.Ident[5] != 1:
		return false, "ELF file data encoding not little-endian"
	case h.Ident[6] != 1:
		return false, "ELF file version ident does not match current one"
	case h.Ident[osabi] != 0 && h.Ident[osabi] != 3:
		return false, "ELF file OS ABI invalid"
	case h.Ident[abiversion] != 0 && (h.Ident[osabi] != 3 || h.Ident[abiversion] >= 4): // LIBC_ABI_MAX
		return false, "ELF file ABI version invalid"
	case [7]byte(h.Ident[pad:]) != [7]byte{}:
		return false, "nonzero padding in e_ident"
	case h.Version != 1:
		return false, "ELF file version does not match current one"
	case h.Machine != machine || (h.Flags^flags)&flagMask(machine) != 0:
		return false, ""
	case h.Type != typeDyn && h.Type != typeExec:
		return false, "only ET_DYN and ET_EXEC can be loaded"
	case h.PhEntSize != phEntSize(h.Class):
		return false, "ELF file's phentsize not the expected size"
	case o.unread != nil:
		return false, "cannot read file data"
	}
	return true, ""
}

// wanted returns the kind of file that the loader accepts: its own.
func (g *glibc) wanted(
	main *elfobj.Head,
) (class int, big bool, machine elfobj.Machine, flags uint32) {
	if g.object != nil {
		main = g.object.head
	}
	if g.kind == nil {
		g.kind = main
	}
	return g.kind.Class, g.kind.Big, g.kind.Machine, g.kind.Flags
}

// flagMask returns the bits of e_flags that must match: the floating-point ABI of RISC-V
// (sysdeps/riscv/dl-machine.h), the ELF version of 64-bit PowerPC.
func flagMask(m elfobj.Machine) uint32 {
	switch m.String() {
	case "riscv64":
		return 6
	case "ppc64":
		return 2
	}
	return 0
}

// segments implements the checks of _dl_map_object_from_fd on the program headers. It returns
// "" if the file can be loaded.
func (g *glibc) segments(o *object, main bool) string {
	loads := 0
	for _, s := range o.segments {
		if s.Type != ptLoad {
			continue
		}
		loads++
		page := pageSize(o.head.Machine)
		switch {
		case g.minor <= 34 && s.Align&(page-1) != 0:
			return "ELF load command alignment not page-aligned"
		case g.minor <= 34 && s.Align != 0 && (s.Addr-s.Offset)&(s.Align-1) != 0:
			return "ELF load command address/offset not properly aligned"
		case (s.Addr-s.Offset)&(page-1) != 0:
			return "ELF load command address/offset not page-aligned"
		}
	}
	switch {
	case loads == 0:
		return "object file has no loadable segments"
	case o.head.Type != typeDyn && !main:
		return "cannot dynamically load executable"
	case !hasDynamic(o.segments):
		return "object file has no dynamic section"
	case o.damage != nil:
		return ""
	case !main && o.m.Flags1&flag1PIE != 0:
		return "cannot dynamically load position-independent executable"
	}
	return ""
}

// Bits of DT_FLAGS_1.
const flag1NoOpen, flag1NoDefLib, flag1PIE = 0x40, 0x800, 0x08000000

// pageSize returns the smallest page size of a machine.
func pageSize(elfobj.Machine) uint64 { return 4096 }

func order(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
