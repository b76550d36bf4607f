// Package cython reads what modules for Python tell each other about the sizes of their types.
//
// A module of Cython that uses a type of another module ("cimport", or "cdef extern" with a class)
// imports it when it is loaded, and compares tp_basicsize with the size that its own declarations
// had (__Pyx_ImportType in Cython/Utility/ImportExport.c). A type that is smaller is an error, of
// which no symbol tells: "greenlet.greenlet size changed, may indicate binary incompatibility.
// Expected 152 from C header, got 40 from PyObject".
//
//	types := cython.Types(object, contents) // of the module that has them
//	uses := cython.Uses(contents, calls)    // of the one that uses them
//
// The input is untrusted: what is read is limited, and a name is one only if it looks like one.
package cython

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"slices"

	"github.com/compat-app/compat/analyzer/cpython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/buffers"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Type is a type that a module defines.
type Type struct {
	Name string // tp_name: "greenlet.greenlet"
	Size int64  // tp_basicsize in bytes
}

// Use is a type of another module, as a module was built with it. The import of the module fails
// if the type is smaller.
type Use struct {
	Module string // that is imported to find the type: "greenlet"
	Class  string // its name there: "greenlet"
	Size   int64  // in bytes
}

// Name returns the tp_name that the type usually has.
func (u Use) Name() string { return u.Module + "." + u.Class }

// Limits of what is read of one module. Those of scikit-learn and pandas have some dozen of each.
const (
	maxPointers = 200_000
	maxData     = 8 << 20 // bytes with pointers
	maxTypes    = 1000
	maxUses     = 1000
	maxName     = 200
	// Sizes of types in bytes: PyObject has 16.
	minSize, maxSize = 16, 1 << 20
)

var (
	dotted = lazyregexp.New(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$`)
	module = lazyregexp.New(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$`)
	// types that Cython makes for itself, as for closures
	inner      = lazyregexp.New(`^_cython_|\.__pyx_|\.(?:_memoryviewslice|memoryview|array|Enum)$`)
	identifier = lazyregexp.New(`^[A-Za-z_]\w*$`)
)

// Read reads an object, and the types that it defines if it is a module of Python. Errors are those
// of elfobj.Read.
func Read(r io.ReaderAt, size int64) (*elfobj.Object, []Type, error) {
	o, c, err := elfobj.ReadContents(r, size)
	if err != nil || !o.Exports.Any(func(name string) bool {
		_, ok := cpython.ParseHook(name)
		return ok
	}) {
		return o, nil, err
	}
	return o, Types(o, c), nil
}

// Types returns the types of a module for x86_64 or aarch64, sorted by name: each PyTypeObject and
// each PyType_Spec in its data, which both begin with the name and the size. Two of one name that
// have different sizes are left out. It is nil for other processors, if there are too many
// pointers, and if relocations are damaged.
func Types(o *elfobj.Object, c *elfobj.Contents) []Type {
	if arch := o.Arch(); arch != "x86_64" && arch != "aarch64" {
		return nil
	}
	pointers, err := c.Pointers(maxPointers)
	if err != nil || len(pointers) == 0 {
		return nil
	}
	first, last := pointers[0].At, pointers[len(pointers)-1].At
	if last-first > maxData {
		return nil
	}
	buffer := buffers.Get(int(last - first + 24))
	defer buffer.Free()
	data := buffer.Bytes[:c.Load(first, buffer.Bytes)]
	sizes := map[string]int64{}
	for n, p := range pointers {
		i := p.At - first + 8
		if n+1 < len(pointers) && pointers[n+1].At == p.At+8 || i+8 > uint64(len(data)) {
			continue // a pointer follows, not a size
		}
		size := int64(binary.LittleEndian.Uint64(data[i:]))
		if size < minSize || size >= maxSize || size%8 != 0 {
			continue
		}
		name, listed := text(c, p.To), n > 0 && pointers[n-1].At == p.At-8
		if !dotted.MatchString(name) || listed && size == int64(len(name)+1) || inner.MatchString(name) {
			continue // the table of strings of Cython has their lengths
		}
		if other, twice := sizes[name]; twice && other != size {
			size = -1
		}
		if sizes[name] = size; len(sizes) > maxTypes {
			return nil
		}
	}
	var out []Type
	for name, size := range sizes {
		if size > 0 {
			out = append(out, Type{name, size})
		}
	}
	slices.SortFunc(out, func(a, b Type) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Uses returns the types that a module for x86_64 imports, sorted, from the calls in its code.
func Uses(c *elfobj.Contents, calls []Call) []Use {
	var out []Use
	for _, call := range calls {
		u := Use{text(c, call.Module), text(c, call.Class), call.Size}
		if module.MatchString(u.Module) && identifier.MatchString(u.Class) && len(out) < maxUses {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Size, b.Size))
	})
	return slices.Compact(out)
}

// text returns the C string at an address; "" if it is too long, and for the address of a function.
func text(c *elfobj.Contents, at uint64) string {
	if c.Skipped(at) {
		return ""
	}
	var b [maxName + 1]byte
	n := c.Load(at, b[:])
	s, _, ended := bytes.Cut(b[:n], []byte{0})
	if !ended {
		return ""
	}
	return string(s)
}
