package abi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// objectFile is elfobj.Object.Type of an object file.
const objectFile = "ET_REL"

// readObject reads an object file or a kernel module.
func readObject(f File) (*Library, error) {
	l, b := &Library{Name: f.Name}, (*builder)(nil)
	err := l.addObject(f, &b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	l.completeObjects(b)
	return l, nil
}

// ReadArchive reads the object files of a static library as one library.
func ReadArchive(f File) (*Library, error) {
	members, err := elfobj.Archive(f.Content, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	l, b := &Library{Name: f.Name}, (*builder)(nil)
	for _, m := range members {
		one := f
		one.Name, one.Content, one.Size = f.Name+"("+m.Name+")", m.Content, m.Content.Size()
		switch err := l.addObject(one, &b); {
		case errors.Is(err, ErrNoLibrary): // without symbols
		case err != nil:
			l.Problems = append(l.Problems, fmt.Sprintf("%s: %s", one.Name, err))
		}
	}
	if l.Machine == "" {
		if len(l.Problems) > 0 {
			return nil, fmt.Errorf("%s: %s", f.Name, l.Problems[0])
		}
		return nil, fmt.Errorf("%s: %w: it has no object file", f.Name, ErrNoLibrary)
	}
	l.completeObjects(b)
	return l, nil
}

// completeObjects ends the reading of object files.
func (l *Library) completeObjects(b *builder) {
	if b != nil && l.Evidence == EvidenceDWARF {
		b.finish()
	}
	if l.Evidence == EvidenceSymbols {
		l.Types = nil
	}
}

// addObject adds what an object file defines. The types are added to a builder, which it makes for
// the first file with debug information.
func (l *Library) addObject(f File, b **builder) error {
	o, x, err := elfobj.ReadRelocatable(f.Content, f.Size)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(x.Symbols, func(s elfobj.ObjectSymbol) bool {
		return s.Name == "__gnu_lto_slim"
	}) {
		return errors.New("it has the intermediate code of a compiler for link time optimization; " +
			"build it with -ffat-lto-objects")
	}
	if l.Machine == "" {
		first := fromObject(l.Name, o)
		first.Form, first.Problems = Objects, l.Problems
		first.BuildID = buildID(o, f.Content)
		*l = *first
	} else if l.Machine != o.Machine.String() || l.Class != o.Class {
		return errors.New("it is for another machine than the first object file")
	}
	first := len(l.Symbols)
	addrs := l.addObjectSymbols(f, x)
	if len(l.Symbols) == first {
		return fmt.Errorf("%w: it defines no symbol for other files", ErrNoLibrary)
	}
	evidence := l.Evidence
	f.Content = x.Content
	o.BuildID = l.BuildID
	if *b == nil {
		*b = newBuilder(l)
	}
	(*b).first = first
	if err := l.readTypes(f, o, addrs, *b); err != nil {
		l.Problems = append(l.Problems, fmt.Sprintf("%s: %s", f.Name, err))
		for i := first; i < len(l.Symbols); i++ {
			l.Symbols[i].Type = 0
		}
		l.Evidence = evidence
	}
	return nil
}

// addObjectSymbols adds the symbols that other files can use, and returns the addresses of all.
func (l *Library) addObjectSymbols(f File, x *elfobj.Relocatable) []uint64 {
	exported := l.kernelExports(f.Content, x)
	if exported != nil {
		l.Form = Module
	}
	addrs := make([]uint64, len(l.Symbols))
	for _, s := range x.Symbols {
		e, ok := exported[s.Name]
		switch {
		case s.Local, l.Form == Module && !ok, l.Form == Objects && s.Hidden,
			elfobj.OfLinker(s.Name):
			continue
		}
		out := Symbol{
			Name:      s.Name,
			Kind:      s.Kind,
			Weak:      s.Weak || s.Unique,
			Protected: s.Protected,
			ReadOnly:  s.ReadOnly && s.Kind == elfobj.Data,
			CRC:       e.crc,
			Namespace: e.namespace,
			GPL:       e.gpl,
		}
		if out.Kind == "common" {
			out.Kind = elfobj.Data
		}
		if isVariable(out.Kind) {
			out.Size = s.Size
		}
		l.Symbols = append(l.Symbols, out)
		if s.Absolute || s.Kind == elfobj.TLS {
			s.Addr = 0
		}
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// kernelExport is what a kernel module has with EXPORT_SYMBOL.
type kernelExport struct {
	crc       uint32
	namespace string
	gpl       bool
}

// Prefixes of the symbols that EXPORT_SYMBOL makes (include/linux/export-internal.h of Linux).
const (
	kernelTable     = "__ksymtab_"
	kernelChecksum  = "__crc_"
	kernelNamespace = "__kstrtabns_"
)

// kernelExports returns the exports of a kernel module by name; nil for another object file.
func (l *Library) kernelExports(r io.ReaderAt, x *elfobj.Relocatable) map[string]kernelExport {
	module := slices.ContainsFunc(x.Symbols, func(s elfobj.ObjectSymbol) bool {
		return s.Name == "__this_module" || strings.HasPrefix(s.Name, kernelTable)
	})
	if !module {
		return nil
	}
	out := map[string]kernelExport{}
	for _, s := range x.Symbols {
		if name, ok := strings.CutPrefix(s.Name, kernelTable); ok {
			e := out[name]
			e.gpl = strings.Contains(s.Section, "_gpl")
			out[name] = e
		}
	}
	for _, s := range x.Symbols {
		if name, ok := strings.CutPrefix(s.Name, kernelChecksum); ok {
			if e, ok := out[name]; ok {
				e.crc = uint32(s.Addr) // the value of an absolute symbol, in older releases
				if b := make([]byte, 4); !s.Absolute && s.Offset != 0 {
					if n, _ := r.ReadAt(b, int64(s.Offset)); n == len(b) {
						e.crc = l.byteOrder().Uint32(b)
					}
				}
				out[name] = e
			}
		}
		if name, ok := strings.CutPrefix(s.Name, kernelNamespace); ok {
			if e, ok := out[name]; ok && s.Offset != 0 {
				text := make([]byte, 256)
				n, _ := r.ReadAt(text, int64(s.Offset))
				word, _, _ := bytes.Cut(text[:n], []byte{0})
				e.namespace = string(word)
				out[name] = e
			}
		}
	}
	return out
}
