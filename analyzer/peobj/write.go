package peobj

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Write returns a PE file for tests, with one section for all tables and no code. Windows cannot
// load it. It returns an error if the object cannot be written, such as a 64-bit one for an unknown
// machine.
func Write(o *Object) ([]byte, error) {
	w := &writer{wide: o.Bits == 64}
	var machine uint16
	for n, m := range machines.Get() {
		if m == o.Machine && n >= machine {
			machine = n
		}
	}
	if n, err := strconv.ParseUint(o.Machine, 0, 16); err == nil {
		machine = uint16(n)
	}
	if machine == 0 {
		return nil, fmt.Errorf("peobj: unknown machine %q", o.Machine)
	}
	if o.Hybrid == "arm64ec" {
		machine = 0x8664
	}
	var dirs [directories][2]uint32
	set := func(d int, start uint32) { dirs[d] = [2]uint32{start, w.here() - start} }
	if at := w.imports(o, false); at != 0 {
		set(dirImport, at)
	}
	if at := w.imports(o, true); at != 0 {
		set(dirDelay, at)
	}
	if at := w.exports(o); at != 0 {
		set(dirExport, at)
	}
	if at := w.manifest(o.Assemblies); at != 0 {
		set(dirResource, at)
	}
	if o.Hybrid != "" || o.LoadFlags != 0 {
		w.align()
		at := w.here()
		w.add(0xd0)
		w.patch(at, 0xd0)
		if o.Hybrid != "" {
			w.patch(at+0xc8, 1)
		}
		flags := uint32(0x36)
		if w.wide {
			flags = 0x4e
		}
		little.PutUint16(w.b[at+flags-first:], o.LoadFlags)
		set(dirLoadConfig, at)
	}
	if o.Managed {
		at := w.here()
		w.add(72)
		w.patch(at, 72)
		w.patch(at+16, 1)
		set(dirCLR, at)
	}
	return w.file(o, machine, dirs)
}

// writer builds the section, which is mapped at address first.
type writer struct {
	b    []byte
	wide bool
}

const (
	first    = 0x1000
	fileHead = 0x400
)

func (w *writer) here() uint32 { return first + uint32(len(w.b)) }

// add appends n zero bytes and returns their address.
func (w *writer) add(n int) uint32 {
	at := w.here()
	w.b = append(w.b, make([]byte, n)...)
	return at
}

func (w *writer) align() { w.add(-len(w.b) & 7) }

func (w *writer) patch(at, value uint32) { little.PutUint32(w.b[at-first:], value) }

// text appends a string after some zero bytes.
func (w *writer) text(before int, s string) uint32 {
	at := w.add(before)
	w.b = append(append(w.b, s...), 0)
	w.align()
	return at
}

// imports writes the import directory, or the delay import directory.
func (w *writer) imports(o *Object, delay bool) uint32 {
	var all []DLL
	for _, d := range o.Imports {
		if d.Delay == delay {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return 0
	}
	size, name, lookup, second := 20, uint32(12), uint32(0), uint32(16)
	if delay {
		size, name, lookup, second = 32, 4, 16, 12
	}
	w.align()
	root := w.add(size * (len(all) + 1))
	for i, d := range all {
		at := root + uint32(i*size)
		if delay {
			w.patch(at, 1)
		}
		w.patch(at+name, w.text(0, d.Name))
		thunks := w.thunks(d.Symbols)
		w.patch(at+lookup, thunks)
		w.patch(at+second, thunks)
	}
	return root
}

func (w *writer) thunks(symbols []Symbol) uint32 {
	size := 4
	if w.wide {
		size = 8
	}
	at := w.add(size * (len(symbols) + 1))
	for i, s := range symbols {
		to := at + uint32(i*size)
		if s.Name != "" {
			w.patch(to, w.text(2, s.Name))
			continue
		}
		w.patch(to, uint32(s.Ordinal))
		w.b[int(to-first)+size-1] = 0x80
	}
	w.align()
	return at
}

// exports writes the export directory and its strings; those of forwarders have to be inside it.
func (w *writer) exports(o *Object) uint32 {
	if len(o.Exports) == 0 && o.Name == "" {
		return 0
	}
	base, last := uint32(1), uint32(0)
	var names []Export
	for i, e := range o.Exports {
		if i == 0 || e.Ordinal < base {
			base = e.Ordinal
		}
		last = max(last, e.Ordinal)
		if e.Name != "" {
			names = append(names, e)
		}
	}
	slices.SortStableFunc(names, func(a, b Export) int { return strings.Compare(a.Name, b.Name) })
	functions := uint32(0)
	if len(o.Exports) > 0 {
		functions = last - base + 1
	}
	w.align()
	root := w.add(40)
	addresses := w.add(int(4 * functions))
	texts := w.add(4 * len(names))
	indexes := w.add(2 * len(names))
	for field, value := range map[uint32]uint32{
		12: w.text(0, o.Name), 16: base, 20: functions, 24: uint32(len(names)), 28: addresses, 32: texts,
		36: indexes,
	} {
		w.patch(root+field, value)
	}
	for _, e := range o.Exports {
		to := uint32(first) // a definition may be anywhere outside of the directory
		if e.Forward != "" {
			to = w.text(0, e.Forward)
		} else if root == first {
			to = first - 1
		}
		w.patch(addresses+4*(e.Ordinal-base), to)
	}
	for i, e := range names {
		w.patch(texts+uint32(4*i), w.text(0, e.Name))
		little.PutUint16(w.b[indexes-first+uint32(2*i):], uint16(e.Ordinal-base))
	}
	return root
}

// manifest writes resources with one manifest.
func (w *writer) manifest(assemblies []string) uint32 {
	if len(assemblies) == 0 {
		return 0
	}
	var text strings.Builder
	text.WriteString("<assembly>")
	for _, a := range assemblies {
		text.WriteString("<dependency><dependentAssembly><assemblyIdentity name=\"")
		text.WriteString(strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;").Replace(a))
		text.WriteString("\"/></dependentAssembly></dependency>")
	}
	text.WriteString("</assembly>")
	w.align()
	root := w.add(3*24 + 16)
	for i, id := range []uint32{24, 2, 1033} {
		at := root + uint32(24*i)
		little.PutUint16(w.b[at-first+14:], 1)
		next := uint32(24 * (i + 1))
		if i < 2 {
			next |= 1 << 31
		}
		w.patch(at+16, id)
		w.patch(at+20, next)
	}
	w.patch(root+72, w.here())
	w.patch(root+76, uint32(text.Len()))
	w.text(0, text.String())
	return root
}

// file returns the file: headers, then the section.
func (w *writer) file(o *Object, machine uint16, dirs [directories][2]uint32) ([]byte, error) {
	optional := 96
	if w.wide {
		optional = 112
	}
	raw := (len(w.b) + 0x1ff) &^ 0x1ff
	out := make([]byte, fileHead+raw)
	copy(out[fileHead:], w.b)
	copy(out, "MZ")
	little.PutUint32(out[60:], dosHeader)
	b := out[dosHeader:]
	copy(b, "PE\x00\x00")
	little.PutUint16(b[4:], machine)
	little.PutUint16(b[6:], 1)
	little.PutUint16(b[20:], uint16(optional+directories*directory))
	flags := uint16(flagImage)
	if o.DLL {
		flags |= flagDLL
	}
	little.PutUint16(b[22:], flags)
	b = b[4+coffHeader:]
	little.PutUint16(b, magic32)
	if w.wide {
		little.PutUint16(b, magic64)
	}
	if err := putVersions(b, o); err != nil {
		return nil, err
	}
	little.PutUint32(b[32:], 0x1000)
	little.PutUint32(b[36:], 0x200)
	little.PutUint32(b[56:], uint32(first+raw+0xfff)&^0xfff)
	little.PutUint32(b[60:], fileHead)
	little.PutUint16(b[68:], 2)
	little.PutUint32(b[optional-4:], directories)
	for i, d := range dirs {
		little.PutUint32(b[optional+i*directory:], d[0])
		little.PutUint32(b[optional+i*directory+4:], d[1])
	}
	b = b[optional+directories*directory:]
	copy(b, ".rdata")
	little.PutUint32(b[8:], uint32(raw))
	little.PutUint32(b[12:], first)
	little.PutUint32(b[16:], uint32(raw))
	little.PutUint32(b[20:], fileHead)
	little.PutUint32(b[36:], 0x40000040)
	return out, nil
}

func putVersions(b []byte, o *Object) error {
	var v [3][2]uint16
	for i, s := range []string{o.Linker, o.OperatingSystem, o.Subsystem} {
		if _, err := fmt.Sscanf(s, "%d.%d", &v[i][0], &v[i][1]); err != nil {
			return fmt.Errorf("peobj: version %q: %w", s, err)
		}
	}
	b[2], b[3] = byte(v[0][0]), byte(v[0][1])
	for i, at := range []int{40, 48} {
		little.PutUint16(b[at:], v[i+1][0])
		little.PutUint16(b[at+2:], v[i+1][1])
	}
	return nil
}
