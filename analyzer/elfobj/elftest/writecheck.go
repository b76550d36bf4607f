package elftest

import (
	"encoding/hex"
	"fmt"
	"github.com/compat-app/compat/analyzer/elfobj"
	"slices"
	"strings"
)

// ownSections are the sections that Write creates, and .comment, which is a field of Object.
var ownSections = []string{
	".interp",
	".note.gnu",
	".gnu.hash",
	".dynsym",
	".dynstr",
	".gnu.version",
	".gnu.version_d",
	".gnu.version_r",
	".rela.dyn",
	".rel.dyn",
	".rela.plt",
	".rel.plt",
	".relr.dyn",
	".dynamic",
	".got",
	".got.plt",
	".tbss",
	".bss",
	".comment",
	".shstrtab",
}

// check returns an error for values that Read would return differently.
func (w *writer) check() error {
	o := w.o
	all := []string{o.Interp, o.SONAME, o.RPath, o.RunPath}
	all = append(append(all, o.Needed...), o.Comment...)
	for _, i := range o.Imports.All() {
		all = append(all, i.Name, i.Version, i.Library)
	}
	for _, e := range o.Exports.All() {
		all = append(all, e.Name, e.Version)
	}
	for _, n := range o.VersionNeeds {
		all = append(all, n.Library)
		for _, v := range n.Versions {
			all = append(all, v.Name)
		}
	}
	for _, d := range o.VersionDefs {
		all = append(append(all, d.Name), d.Parents...)
	}
	for _, s := range o.Sections {
		if s.Data != nil && slices.Contains(ownSections, s.Name) {
			return fmt.Errorf("a section %s of its own: Write makes that one", s.Name)
		}
		all = append(all, s.Name)
	}
	if len(o.Sections) > maxSections/2 {
		return fmt.Errorf("%d sections, more than %d", len(o.Sections), maxSections/2)
	}
	for _, s := range all {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("the string %.80q holds a NUL byte", s)
		}
	}
	if (o.Class != 32 && o.Class != 64) || (o.ByteOrder != "little" && o.ByteOrder != "big") {
		return fmt.Errorf(
			"class %d and byte order %q; there are 32, 64 and little, big",
			o.Class,
			o.ByteOrder,
		)
	}
	if len(o.Interp) >= maxInterp {
		return fmt.Errorf(
			"an interpreter of %d bytes; the limit of the kernel is %d",
			len(o.Interp),
			maxInterp-1,
		)
	}
	if o.Class == 32 && (o.Flags|o.Flags1)>>32 != 0 {
		return fmt.Errorf("flags %#x and %#x do not fit into ELF32", o.Flags, o.Flags1)
	}
	if b, err := hex.DecodeString(o.BuildID); err != nil || len(b) > 64 {
		return fmt.Errorf("build ID %.80q should be at most 64 bytes in hex", o.BuildID)
	}
	if o.ABITag != "" {
		if _, err := elfobj.ParseABITag(o.ABITag); err != nil {
			return err
		}
	}
	if o.NoSections && len(o.Comment)+len(o.Sections) > 0 {
		return fmt.Errorf("a .comment or sections of its own without section headers")
	}
	if _, _, ok := o.Guards.Property(o.Machine); !ok {
		return fmt.Errorf("guards %s, which %s does not have", o.Guards, o.Arch())
	}
	for _, t := range typeNames {
		if t.typ == o.Type {
			return nil
		}
	}
	return fmt.Errorf("type %q; there are ET_DYN, ET_EXEC, ET_REL and ET_CORE", o.Type)
}
