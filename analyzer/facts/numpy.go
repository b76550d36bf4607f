package facts

import (
	"bytes"
	"io"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// NumPyBuild is the NumPy version that a module or a library was built with, according to its
// string constants. There are no symbols for the C API: it is a table that the module imports.
type NumPyBuild string

const (
	NumPyUnknown NumPyBuild = "" // does not use the C API, or works with both versions
	// Imports the table only from numpy.core._multiarray_umath, which fails with NumPy 2.
	NumPy1 NumPyBuild = "1"
	NumPy2 NumPyBuild = "2" // can import numpy._core too, and works with both versions
)

// Module names from which the table is imported
// (numpy/core/code_generators/generate_numpy_api.py, import_array).
var (
	numpyAny = []byte("numpy.") // prefix of both
	numpyOld = []byte("core._multiarray_umath")
	numpyNew = []byte("_core")
)

// opensCapsule reports whether a symbol is the function of CPython with which a library that is not
// a module gets the table.
func opensCapsule(symbol string) bool { return symbol == "PyCapsule_GetPointer" }

// readNumPyBuild searches the names in the constants of a module, or in the whole file if it
// has no section headers.
func readNumPyBuild(o *elfobj.Object, r io.ReaderAt, size int64) NumPyBuild {
	found := map[NumPyBuild]bool{}
	scan := func(off, size int64) {
		const overlap = 64
		r := io.NewSectionReader(r, off, size)
		block := make([]byte, overlap+min(max(size, 0), 256<<10))
		kept := 0
		for {
			n, err := io.ReadFull(r, block[kept:])
			text := block[:kept+n]
			for at := bytes.Index(text, numpyAny); at >= 0; at = bytes.Index(text, numpyAny) {
				text = text[at+len(numpyAny):]
				found[NumPy1] = found[NumPy1] || bytes.HasPrefix(text, numpyOld)
				found[NumPy2] = found[NumPy2] || bytes.HasPrefix(text, numpyNew)
			}
			if err != nil {
				return
			}
			kept = copy(block, block[len(block)-overlap:])
		}
	}
	named := false
	for _, s := range o.Sections {
		if s.Name == ".rodata" || s.Name == ".rodata.str1.1" || s.Name == ".rodata.str1.8" {
			named = true
			scan(int64(s.Offset), int64(s.Size))
		}
	}
	if !named {
		scan(0, size)
	}
	switch {
	case found[NumPy2]:
		return NumPy2
	case found[NumPy1]:
		return NumPy1
	}
	return NumPyUnknown
}
