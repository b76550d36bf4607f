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

	// Open opens a file that the library refers to: its debug file, the file of dwz, or a split
	// debug file. The path is absolute or relative to the folder of the library. A file is used
	// only if its build ID matches. May be nil.
	Open func(path string) (io.ReaderAt, int64, bool)

	// Scratch creates storage for decompressed debug information, which the caller deletes. If nil,
	// it stays in memory.
	Scratch func() (dwarf.Scratch, error)
}

// ErrNoLibrary is wrapped by the error for an ELF file without dynamic symbols.
var ErrNoLibrary = errors.New("no shared library")

// Read reads the ABI of a library, with types if there is debug information. Damaged debug
// information is not an error: Evidence is EvidenceSymbols then, and Problems has the reason.
func Read(f File) (*Library, error) {
	o, contents, err := elfobj.ReadContents(f.Content, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if o.Type == objectFile {
		return readObject(f)
	}
	if !o.Dynamic {
		return nil, fmt.Errorf(
			"%s: %w: it has no dynamic section (a program or a file of debug information)",
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
	if err := l.readTypes(f, o, addrs, nil); err != nil {
		l.withoutTypes(err)
	}
	return l, nil
}

// withoutTypes removes the types that were read before an error.
func (l *Library) withoutTypes(err error) {
	l.Problems = append(l.Problems, err.Error())
	l.Evidence, l.Types = EvidenceSymbols, nil
	for i := range l.Symbols {
		l.Symbols[i].Type = 0
	}
}

// fromObject returns a Library of an object without symbols.
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
		Symbolic: slices.Contains(elfobj.NamesOfFlags(o.Flags, elfobj.FlagNames), "symbolic"),
		Evidence: EvidenceSymbols,
		Versions: []string{},

		Undefined: []string{},
	}
	for _, v := range o.VersionDefs {
		if !v.Base {
			l.Versions = append(l.Versions, v.Name)
		}
	}
	for _, i := range o.Imports.All() {
		if !i.Weak && i.Version == "" && i.Relocs != 0 && i.Relocs != elfobj.RelocNone {
			l.Undefined = append(l.Undefined, i.Name)
		}
	}
	slices.Sort(l.Undefined)
	return l
}

// addSymbols adds the exports that programs can bind to, and returns their addresses; 0 for a
// symbol without one.
func (l *Library) addSymbols(o *elfobj.Object, places []elfobj.Place) []uint64 {
	var addrs []uint64
	l.Symbols = make([]Symbol, 0, o.Exports.Len())
	seen := make(map[[2]string]bool, o.Exports.Len()) // a damaged table may contain duplicates
	for i, e := range o.Exports.All() {
		p := places[i]
		node := p.Absolute && e.Kind == elfobj.Data && e.Size == 0 &&
			(e.Name == e.Version || e.Version == "" && slices.Contains(l.Versions, e.Name))
		key := [2]string{e.Name, e.Version}
		if node || seen[key] || elfobj.OfLinker(e.Name) {
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

// readTypes reads the types of the exports from the debug information of the file or of its debug
// file, if there is any. Without addresses it reads those of imports, from their declarations. The
// types are added to a builder, or to the library if it is nil.
func (l *Library) readTypes(f File, o *elfobj.Object, addrs []uint64, b *builder) error {
	in := debugFile(o, f.Content)
	if !in.HasInfo() {
		other, ok := f.separate(o)
		if !ok {
			if b != nil && b.first > 0 { // BTF and CTF describe one file
				return nil
			}
			return l.readBTF(f, o)
		}
		in = other
	}
	d, err := dwarf.Open(
		in,
		l.byteOrder(),
		dwarf.Sources{
			Alt:     func() (dwarf.File, bool) { return f.shared(in) },
			Dwo:     f.split,
			Scratch: f.Scratch,
		},
	)
	if err != nil {
		return err
	}
	if b != nil {
		return b.read(d, addrs)
	}
	b = newBuilder(l)
	err = b.read(d, addrs)
	b.finish()
	return err
}

func (l *Library) byteOrder() binary.ByteOrder {
	if l.Order == "big" {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// debugFile converts the sections of an object for package dwarf.
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

// open opens the first of some ELF files for which fits returns true.
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
		if err != nil || !fits(o, r) {
			continue
		}
		if o.Type == objectFile { // of a kernel module
			_, x, err := elfobj.ReadRelocatable(r, size)
			if err != nil {
				continue
			}
			r = x.Content
		}
		return debugFile(o, r), true
	}
	return dwarf.File{}, false
}

// separate finds the debug file of a stripped library, in the order of GDB (info node "Separate
// Debug Files"). If the library has a build ID, that of the debug file must be equal.
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
			id+"/debuginfo", // as debuginfod clients store it
			"/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug",
		)
	}
	return f.open(func(other *elfobj.Object, r io.ReaderAt) bool {
		return buildID(other, r) == o.BuildID && other.Machine == o.Machine &&
			debugFile(other, nil).HasInfo()
	}, paths...)
}

// shared finds the file of dwz that .gnu_debugaltlink refers to, by its build ID.
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

// split finds a split debug file, at the path that the compiler wrote or in the library's folder.
func (f File) split(dir, name string, _ uint64) (dwarf.File, bool) {
	full := name
	if !path.IsAbs(name) {
		full = dir + "/" + name
	}
	return f.open(func(*elfobj.Object, io.ReaderAt) bool { return true }, full, path.Base(name))
}

// buildID returns the build ID of a file in hex. A file of dwz has no program headers, so the note
// is found by its section.
func buildID(o *elfobj.Object, r io.ReaderAt) string {
	const header = 16 // three words and "GNU"
	if b := sectionBytes(o, r, ".note.gnu.build-id"); o.BuildID == "" && len(b) > header {
		return hex.EncodeToString(b[header:])
	}
	return o.BuildID
}

// sectionText returns the NUL-terminated text at the start of a small section.
func sectionText(o *elfobj.Object, r io.ReaderAt, name string) string {
	text, _, _ := strings.Cut(string(sectionBytes(o, r, name)), "\x00")
	return text
}

// sectionBytes returns the content of a small section; nil without one.
func sectionBytes(o *elfobj.Object, r io.ReaderAt, name string) []byte {
	b, err := contents(o, r, name, 4096)
	if err != nil {
		return nil
	}
	return b
}

// contents returns the contents of the first section with a name; nil if there is none, or if it is
// empty. The error for more than most bytes is errTooManyTypes.
func contents(o *elfobj.Object, r io.ReaderAt, name string, most uint64) ([]byte, error) {
	i := slices.IndexFunc(o.Sections, func(s elfobj.Section) bool {
		return s.Name == name && s.Size > 0
	})
	if i < 0 {
		return nil, nil
	}
	s := &o.Sections[i]
	if s.Size > most {
		return nil, errTooManyTypes
	}
	b := make([]byte, s.Size)
	_, err := io.ReadFull(io.NewSectionReader(r, int64(s.Offset), int64(s.Size)), b)
	return b, err
}

// FromObject returns the ABI from the dynamic symbols of an object alone, for callers without its
// file: without virtual tables and types, and without visibility and read-only memory.
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
