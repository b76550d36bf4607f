package facts

import (
	"bytes"
	"io"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/buffers"
)

// NumPyBuild is the NumPy version that a module or a library was built with, according to its
// string constants. There are no symbols for the C API: it is a table that the module imports.
type NumPyBuild string

const (
	NumPyUnknown NumPyBuild = "" // does not use the C API, or works with both versions
	// Imports the table only from numpy.core._multiarray_umath, which fails with NumPy 2; or imports
	// no table, but checks that numpy.dtype is as large as in NumPy 1.
	NumPy1 NumPyBuild = "1"
	NumPy2 NumPyBuild = "2" // can import numpy._core too, and works with both versions
)

// NumPyError is what a module does if it cannot import the table.
type NumPyError string

const (
	NumPyErrorUnknown NumPyError = ""       // something else, such as an exception of C++
	NumPyRaises       NumPyError = "raises" // its import fails with an ImportError
	// The same, but it compares the sizes of NumPy's types first: "numpy.dtype size changed".
	NumPyCompares NumPyError = "compares"
	// It prints and clears the error, as libshiboken does, and can be loaded without NumPy.
	NumPyCatches NumPyError = "catches"
)

// Fails reports whether the import of the module fails without the table.
func (e NumPyError) Fails() bool { return e == NumPyRaises || e == NumPyCompares }

// Module names from which the table is imported
// (numpy/core/code_generators/generate_numpy_api.py, import_array).
var (
	numpyAny = []byte("numpy.") // prefix of both
	numpyOld = []byte("core._multiarray_umath")
	numpyNew = []byte("_core")
)

// Constants of modules of Cython. numpyPxd is an error text of the declarations that NumPy 1 has
// for Cython (numpy/__init__.pxd); that of NumPy 2 names numpy._core, also where the functions with
// the text are not used. A module with these declarations imports all of their types, and the size
// of numpy.dtype is smaller since NumPy 2: "numpy.dtype size changed". numpyTypes are then its
// constants too. Cython joins or compresses its strings since 3.1, which also calls import_array.
// numpyError is also the text of the ImportError that the macro import_array raises.
var (
	numpyError = []byte("core.multiarray failed to import")
	numpyPxd   = append(slices.Clip(numpyError), 0)
	// numpyAuto is what follows numpyError where Cython calls import_array itself, which it does
	// before it imports types.
	numpyAuto  = append(slices.Clip(numpyError), " (auto-generated"...)
	numpyUnder = []byte("_") // numpy._core
	numpyTypes = [][]byte{
		[]byte("flatiter\x00"), changedSize,
	}
)

// opensCapsule reports whether a symbol is the function of CPython with which a library that is not
// a module gets the table.
func opensCapsule(symbol string) bool { return symbol == "PyCapsule_GetPointer" }

// readNumPyBuild searches the names in the constants of a module, and the text of the error that
// the macros of NumPy raise.
func readNumPyBuild(
	o *elfobj.Object, r io.ReaderAt, size int64,
) (build NumPyBuild, fails NumPyError) {
	all := sectionsOf(o, r, size)
	found, declared, auto, raises := map[NumPyBuild]bool{}, false, false, false
	all.each(numpyAny, func(rest []byte) {
		found[NumPy1] = found[NumPy1] || bytes.HasPrefix(rest, numpyOld)
		found[NumPy2] = found[NumPy2] || bytes.HasPrefix(rest, numpyNew)
		declared = declared || bytes.HasPrefix(rest, numpyPxd)
		auto = auto || bytes.HasPrefix(rest, numpyAuto)
		raises = raises || bytes.HasPrefix(bytes.TrimPrefix(rest, numpyUnder), numpyError)
	})
	types := declared && all.has(numpyTypes[0]) && all.has(numpyTypes[1])
	switch {
	case types && !auto:
		fails = NumPyCompares
	case raises:
		fails = NumPyRaises
	case imports(o, "PyErr_Print") && imports(o, "PyErr_Clear"):
		fails = NumPyCatches
	}
	switch {
	case found[NumPy2]:
		return NumPy2, fails
	case found[NumPy1], types:
		return NumPy1, fails
	}
	return NumPyUnknown, NumPyErrorUnknown
}

func imports(o *elfobj.Object, symbol string) bool {
	return o.Imports.Any(func(name string) bool { return name == symbol })
}

// sections are those with the constants of an object, or the whole file if it has no
// section headers.
type sections []*io.SectionReader

func sectionsOf(o *elfobj.Object, r io.ReaderAt, size int64) (out sections) {
	for _, s := range o.Sections {
		if s.Name == ".rodata" || s.Name == ".rodata.str1.1" || s.Name == ".rodata.str1.8" {
			out = append(out, io.NewSectionReader(r, int64(s.Offset), int64(s.Size)))
		}
	}
	if out == nil {
		out = sections{io.NewSectionReader(r, 0, size)}
	}
	return out
}

// each calls a function with what follows each occurrence of a text. One near the end of a block is
// passed twice, the second time with at least 64 bytes from its start, unless the section ends.
func (c sections) each(what []byte, found func(rest []byte)) {
	const overlap = 64
	for _, s := range c {
		buffer := buffers.Get(int(overlap + min(max(s.Size(), 0), 256<<10)))
		block := buffer.Bytes
		_, err := s.Seek(0, io.SeekStart)
		for kept := 0; err == nil; {
			var n int
			n, err = io.ReadFull(s, block[kept:])
			text := block[:kept+n]
			for at := bytes.Index(text, what); at >= 0; at = bytes.Index(text, what) {
				text = text[at+len(what):]
				found(text)
			}
			kept = copy(block, block[len(block)-overlap:])
		}
		buffer.Free()
	}
}

// has reports whether the constants contain a text.
func (c sections) has(what []byte) (has bool) {
	c.each(what, func([]byte) { has = true })
	return has
}
