package abi

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dwarf"
	"github.com/compat-app/compat/analyzer/elfobj"
)

// File is a library to read.
type File struct {
	Name    string
	Content io.ReaderAt
	Size    int64

	// Open opens a file that the library names: its debug file, the file of dwz, a split debug
	// file. The path is relative to the folder of the library, or absolute. Nil opens nothing. A
	// file is used only where its build ID fits.
	Open func(path string) (io.ReaderAt, int64, bool)
}

// ErrNoLibrary is wrapped by the error for an ELF file without dynamic symbols to compare.
var ErrNoLibrary = errors.New("no shared library")

// Read reads the ABI of a library, with types where there is debug information. Debug information
// that is damaged is not an error: Evidence is then EvidenceSymbols, and Problems says why.
func Read(f File) (*Library, error) {
	o, contents, err := elfobj.ReadContents(f.Content, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if !o.Dynamic {
		return nil, fmt.Errorf(
			"%s: %w: it has no dynamic section (a program, an object file or a file of debug "+
				"information)",
			f.Name,
			ErrNoLibrary,
		)
	}
	l := fromObject(f.Name, o)
	places, err := contents.Places()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	addrs := l.addSymbols(o, places)
	if err := l.readTables(contents, addrs); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if err := l.readTypes(f, o, addrs); err != nil {
		l.Problems = append(l.Problems, err.Error())
		l.Evidence, l.Types = EvidenceSymbols, nil
		for i := range l.Symbols {
			l.Symbols[i].Type = 0
		}
	}
	return l, nil
}

// fromObject gives what an object says of itself, without symbols.
func fromObject(name string, o *elfobj.Object) *Library {
	l := &Library{
		Name:     name,
		SONAME:   o.SONAME,
		BuildID:  o.BuildID,
		Machine:  o.Machine.String(),
		Class:    o.Class,
		Order:    o.ByteOrder,
		EFlags:   o.EFlags,
		Needed:   o.Needed,
		Versym:   o.HasVersym,
		Evidence: EvidenceSymbols,
		Versions: []string{},
	}
	for _, v := range o.VersionDefs {
		if !v.Base {
			l.Versions = append(l.Versions, v.Name)
		}
	}
	return l
}

// linkerSymbols are exports that a linker makes; programs do not use those of a library.
var linkerSymbols = []string{
	"_init",
	"_fini",
	"_edata",
	"edata",
	"_end",
	"end",
	"__bss_start",
	"__bss_start__",
	"__bss_end__",
	"_bss_end__",
	"__end__",
	"_IO_stdin_used",
	"__data_start",
	"data_start",
	"_GLOBAL_OFFSET_TABLE_",
	"_DYNAMIC",
	"__gmon_start__",
	"_etext",
	"etext",
}

// addSymbols adds the exports that programs can bind to, and gives their addresses; 0 where there
// is none.
func (l *Library) addSymbols(o *elfobj.Object, places []elfobj.Place) []uint64 {
	var addrs []uint64
	l.Symbols = make([]Symbol, 0, o.Exports.Len())
	seen := make(map[[2]string]bool, o.Exports.Len()) // a damaged table may repeat one
	for i, e := range o.Exports.All() {
		p := places[i]
		node := p.Absolute && e.Kind == elfobj.Data && e.Size == 0 &&
			(e.Name == e.Version || e.Version == "" && slices.Contains(l.Versions, e.Name))
		key := [2]string{e.Name, e.Version}
		if node || seen[key] || slices.Contains(linkerSymbols, e.Name) {
			continue
		}
		seen[key] = true
		s := Symbol{
			Name:      e.Name,
			Version:   e.Version,
			Hidden:    e.Hidden,
			Kind:      e.Kind,
			Weak:      e.Weak || e.Unique,
			Protected: p.Protected,
			ReadOnly:  p.ReadOnly,
		}
		if e.Kind == elfobj.Data || e.Kind == elfobj.TLS {
			s.Size = e.Size
		}
		l.Symbols = append(l.Symbols, s)
		if p.Absolute || e.Kind == elfobj.TLS {
			p.Addr = 0
		}
		addrs = append(addrs, p.Addr)
	}
	return addrs
}

// readTypes reads the types of the exports from debug information, of the file itself or of its
// debug file. Without any it does nothing.
func (l *Library) readTypes(f File, o *elfobj.Object, addrs []uint64) error {
	in := debugFile(o, f.Content)
	if !in.HasInfo() {
		other, ok := f.separate(o)
		if !ok {
			return l.readBTF(f, o)
		}
		in = other
	}
	var order binary.ByteOrder = binary.LittleEndian
	if o.ByteOrder == "big" {
		order = binary.BigEndian
	}
	d, err := dwarf.Open(
		in,
		order,
		dwarf.Sources{Alt: func() (dwarf.File, bool) { return f.shared(in) }, Dwo: f.split},
	)
	if err != nil {
		return err
	}
	if d.Empty() {
		return nil
	}
	l.Evidence = EvidenceDWARF
	return l.readDWARF(d, addrs)
}

// debugFile is an object's sections as the reader of debug information takes them.
func debugFile(o *elfobj.Object, r io.ReaderAt) dwarf.File {
	const compressed = 0x800 // SHF_COMPRESSED
	in := dwarf.File{Content: r, Class: o.Class}
	for _, s := range o.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") ||
			strings.HasPrefix(s.Name, ".gnu_debug") {
			in.Sections = append(
				in.Sections,
				dwarf.Section{
					Name:       s.Name,
					Offset:     s.Offset,
					Size:       s.Size,
					Compressed: s.Flags&compressed != 0,
				},
			)
		}
	}
	return in
}

// open opens one of some files as ELF. fits decides whether it is the right one.
func (f File) open(
	fits func(*elfobj.Object, io.ReaderAt) bool,
	paths ...string,
) (dwarf.File, bool) {
	if f.Open == nil {
		return dwarf.File{}, false
	}
	for _, p := range paths {
		r, size, ok := f.Open(p)
		if !ok {
			continue
		}
		o, err := elfobj.Read(r, size)
		if err == nil && fits(o, r) {
			return debugFile(o, r), true
		}
	}
	return dwarf.File{}, false
}

// separate finds the debug file of a stripped library, in the order of GDB (info node "Separate
// Debug Files"). Where the library has a build ID, the debug file has to have the same one.
func (f File) separate(o *elfobj.Object) (dwarf.File, bool) {
	var paths []string
	link := sectionText(o, f.Content, ".gnu_debuglink")
	if link != "" && path.Base(link) == link {
		paths = append(paths, link, ".debug/"+link)
	}
	if id := o.BuildID; len(id) > 2 {
		paths = append(
			paths,
			id+".debug",
			".build-id/"+id[:2]+"/"+id[2:]+".debug",
			"/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug",
		)
	}
	return f.open(func(other *elfobj.Object, _ io.ReaderAt) bool {
		return other.BuildID == o.BuildID && other.Machine == o.Machine &&
			debugFile(other, nil).HasInfo()
	}, paths...)
}

// shared finds the file of dwz, which .gnu_debugaltlink names with its build ID.
func (f File) shared(in dwarf.File) (dwarf.File, bool) {
	name, id := in.Alternate()
	if name == "" {
		return dwarf.File{}, false
	}
	paths := []string{name, path.Base(name), ".dwz/" + path.Base(name)}
	if len(id) > 2 {
		paths = append(paths, "/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug")
	}
	return f.open(
		func(o *elfobj.Object, r io.ReaderAt) bool { return id == "" || buildID(o, r) == id },
		paths...)
}

// split finds a split debug file: where the compiler wrote it, or in the library's folder.
func (f File) split(dir, name string, _ uint64) (dwarf.File, bool) {
	full := name
	if !path.IsAbs(name) {
		full = dir + "/" + name
	}
	return f.open(func(*elfobj.Object, io.ReaderAt) bool { return true }, full, path.Base(name))
}

// buildID is the build ID of a file, in hex. The file of dwz has no program headers, so that its
// note is found by its section.
func buildID(o *elfobj.Object, r io.ReaderAt) string {
	const header = 16 // three words and "GNU"
	if b := sectionBytes(o, r, ".note.gnu.build-id"); o.BuildID == "" && len(b) > header {
		return hex.EncodeToString(b[header:])
	}
	return o.BuildID
}

// sectionText is the NUL-terminated text that a small section starts with.
func sectionText(o *elfobj.Object, r io.ReaderAt, name string) string {
	text, _, _ := strings.Cut(string(sectionBytes(o, r, name)), "\x00")
	return text
}

// sectionBytes is the content of a small section; nil where there is none.
func sectionBytes(o *elfobj.Object, r io.ReaderAt, name string) []byte {
	for _, s := range o.Sections {
		if s.Name != name || s.Size == 0 || s.Size > 4096 {
			continue
		}
		b := make([]byte, s.Size)
		if n, err := r.ReadAt(b, int64(s.Offset)); n < len(b) && err != nil {
			return nil
		}
		return b
	}
	return nil
}

// FromObject gives the ABI that the dynamic symbols of an object alone show, for callers that no
// longer have its bytes: no virtual tables, no types, and neither visibility nor read-only memory.
func FromObject(name string, o *elfobj.Object) *Library {
	l := fromObject(name, o)
	l.Partial = true
	places := make([]elfobj.Place, o.Exports.Len())
	for i, e := range o.Exports.All() {
		places[i].Absolute = e.Kind == elfobj.Data && e.Size == 0 &&
			slices.Contains(l.Versions, e.Name)
	}
	l.addSymbols(o, places)
	return l
}
