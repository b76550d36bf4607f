package wasmobj

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Write returns a module with the imports and exports of an object, without code: functions have
// empty bodies, and it is not valid otherwise. It is for tests.
func Write(o *Object) ([]byte, error) {
	w := writer{types: map[string]uint32{}}
	return w.module(o)
}

type writer struct {
	types map[string]uint32
	list  []string
}

// typeOf returns the index of a type; "" is that of a function without parameters and results.
func (w *writer) typeOf(text string) (uint32, error) {
	if text == "" {
		text = ">"
	}
	if strings.Count(text, ">") != 1 || strings.Trim(text, "ijfdv>") != "" {
		return 0, fmt.Errorf("%q is no type such as ii>i", text)
	}
	n, ok := w.types[text]
	if !ok {
		n = uint32(len(w.list))
		w.types[text], w.list = n, append(w.list, text)
	}
	return n, nil
}

func (w *writer) module(o *Object) ([]byte, error) {
	var imports, functions, tags, exports, weak []byte
	counts, defined := [5]uint32{}, [5]uint32{}
	weaks := uint32(0)
	for _, i := range o.Imports {
		imports = appendName(appendName(imports, i.Module), i.Name)
		imports = append(imports, byte(i.Kind))
		index, err := w.typeOf(i.Type)
		if err != nil {
			return nil, err
		}
		switch i.Kind {
		case Func:
			imports = binary.AppendUvarint(imports, uint64(index))
		case Table:
			imports = append(imports, 0x70, 0, 0)
		case Memory:
			if i.Shared {
				imports = append(imports, limitMax|limitShared, 0, 0)
			} else {
				imports = append(imports, 0, 0)
			}
		case Global:
			imports = append(imports, typeI32, 0)
		case Tag:
			imports = binary.AppendUvarint(append(imports, 0), uint64(index))
		}
		counts[i.Kind]++
		if i.Weak {
			weaks++
			weak = append(appendName(appendName(weak, i.Module), i.Name), bindingWeak)
		}
	}
	for _, e := range o.Exports {
		index, err := w.typeOf(e.Type)
		if err != nil {
			return nil, err
		}
		exports = append(appendName(exports, e.Name), byte(e.Kind))
		exports = binary.AppendUvarint(exports, uint64(counts[e.Kind]+defined[e.Kind]))
		switch defined[e.Kind]++; e.Kind {
		case Func:
			functions = binary.AppendUvarint(functions, uint64(index))
		case Tag:
			tags = binary.AppendUvarint(append(tags, 0), uint64(index))
		}
	}
	out := []byte(magic)
	if o.Dynamic {
		out = w.dylink(out, o, weak, weaks)
	}
	out = appendSection(out, sectionType, uint32(len(w.list)), w.typeSection())
	out = appendSection(out, sectionImport, uint32(len(o.Imports)), imports)
	out = appendSection(out, sectionFunction, defined[Func], functions)
	if defined[Tag] > 0 {
		out = appendSection(out, sectionTag, defined[Tag], tags)
	}
	out = appendSection(out, sectionExport, uint32(len(o.Exports)), exports)
	if len(o.Tools) > 0 {
		b := append(appendName(nil, producers), 1)
		b = binary.AppendUvarint(appendName(b, "processed-by"), uint64(len(o.Tools)))
		for _, t := range o.Tools {
			name, version, _ := strings.Cut(t, " ")
			b = appendName(appendName(b, name), version)
		}
		out = appendBytes(append(out, sectionCustom), b)
	}
	return out, nil
}

// dylink appends the section dylink.0.
func (w *writer) dylink(out []byte, o *Object, weak []byte, weaks uint32) []byte {
	b := appendName(nil, dylink)
	b = appendBytes(append(b, 1), []byte{0, 0, 0, 0}) // the size and alignment of memory and table
	for kind, list := range [][]string{dylinkNeeded: o.Needed, dylinkRunPath: o.RunPaths} {
		if len(list) > 0 {
			s := binary.AppendUvarint(nil, uint64(len(list)))
			for _, name := range list {
				s = appendName(s, name)
			}
			b = appendBytes(append(b, byte(kind)), s)
		}
	}
	if weaks > 0 {
		list := binary.AppendUvarint(nil, uint64(weaks))
		b = appendBytes(append(b, dylinkImports), append(list, weak...))
	}
	return appendBytes(append(out, sectionCustom), b)
}

func (w *writer) typeSection() (out []byte) {
	codes := map[rune]byte{'i': typeI32, 'j': typeI64, 'f': typeF32, 'd': typeF64, 'v': typeV128}
	for _, t := range w.list {
		out = append(out, typeFunc)
		for part := range strings.SplitSeq(t, ">") {
			out = append(out, byte(len(part)))
			for _, c := range part {
				out = append(out, codes[c])
			}
		}
	}
	return out
}

func appendName(b []byte, s string) []byte { return appendBytes(b, []byte(s)) }

func appendBytes(b, content []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(content))), content...)
}

func appendSection(out []byte, id byte, n uint32, entries []byte) []byte {
	if n == 0 {
		return out
	}
	return appendBytes(append(out, id), slices.Concat(binary.AppendUvarint(nil, uint64(n)), entries))
}
