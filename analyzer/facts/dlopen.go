package facts

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxConstants limits how many bytes of an object's constants are searched for names of
// libraries, maxOpened how many names are returned.
const (
	maxConstants = 8 << 20
	maxOpened    = 64
)

// soName matches a complete string constant that looks like an argument of dlopen.
var soName = lazyregexp.New(`^lib[A-Za-z0-9_+.-]{1,100}\.so(\.[0-9]+){0,4}$`)

var dotSO = []byte(".so")

func opens(name string) bool { return name == "dlopen" || name == "dlmopen" }

// pythonLoads are names in Python code that loads libraries, and in the code of a Cython module
// that unpacks its names.
var pythonLoads = [][]byte{
	[]byte("CDLL"), []byte("LoadLibrary"), []byte("dlopenflags"), []byte("decompress"),
}

// readLoads reports whether a module may load libraries; see Object.Loads. It may if its constants
// cannot be read.
func readLoads(o *elfobj.Object, r io.ReaderAt) bool {
	if o.Imports.Any(opens) || slices.ContainsFunc(o.Sections, func(s elfobj.Section) bool {
		return s.Name == ".rodata" && s.Size > maxConstants
	}) {
		return true
	}
	for b := range constants(o, r) {
		if slices.ContainsFunc(pythonLoads, func(w []byte) bool { return bytes.Contains(b, w) }) {
			return true
		}
	}
	return false
}

// constants iterates over the constants of an object (sections .rodata).
func constants(o *elfobj.Object, r io.ReaderAt) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, s := range o.Sections {
			if s.Name != ".rodata" || s.Size > maxConstants {
				continue
			}
			b := make([]byte, s.Size)
			if n, _ := r.ReadAt(b, int64(s.Offset)); n == len(b) && !yield(b) {
				return
			}
		}
	}
}

// readOpened returns the sorted names of libraries among the constants (section .rodata) of an
// object that calls dlopen.
func readOpened(o *elfobj.Object, r io.ReaderAt) []string {
	if !o.Imports.Any(opens) {
		return nil
	}
	var out []string
	for b := range constants(o, r) {
		for at := 0; len(out) < maxOpened; {
			i := bytes.Index(b[at:], dotSO)
			if i < 0 {
				break
			}
			i += at
			start := bytes.LastIndexByte(b[at:i], 0) + 1 + at
			n := bytes.IndexByte(b[i:], 0)
			if n < 0 {
				break
			}
			if text := b[start : i+n]; len(text) < 128 && soName.Match(text) &&
				!slices.Contains(out, string(text)) {
				out = append(out, string(text))
			}
			at = i + n + 1
		}
	}
	slices.Sort(out)
	return out
}
