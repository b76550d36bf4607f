package facts

import (
	"bytes"
	"io"
	"iter"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/internal/buffers"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxConstants limits how many bytes of an object's constants are searched for names of
// libraries, maxOpened how many names are returned, and maxName how long a name is. The constants
// are read in pieces.
const (
	maxConstants = 64 << 20
	maxOpened    = 64
	maxName      = 128
	piece        = 1 << 20
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

// constants iterates over the constants of an object (sections .rodata) in pieces. A string of less
// than maxName bytes is whole in one of them, perhaps in two.
func constants(o *elfobj.Object, r io.ReaderAt) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, s := range o.Sections {
			if s.Name != ".rodata" || s.Size > maxConstants {
				continue
			}
			buffer := buffers.Get(int(min(s.Size, piece)))
			for at := uint64(0); at < s.Size; at += piece - 2*maxName {
				b := buffer.Bytes[:min(s.Size-at, piece)]
				if n, _ := r.ReadAt(b, int64(s.Offset+at)); n < len(b) {
					break
				}
				if at > 0 { // it begins within a string
					b = b[bytes.IndexByte(b, 0)+1:]
				}
				if !yield(b) {
					buffer.Free()
					return
				}
			}
			buffer.Free()
		}
	}
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

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
			start := bytes.LastIndexFunc(b[at:i], unprintable) + 1 + at // a number may stand before it
			n := bytes.IndexByte(b[i:], 0)
			if n < 0 {
				break
			}
			if text := b[start : i+n]; len(text) < maxName && soName.Match(text) &&
				!slices.Contains(out, string(text)) {
				out = append(out, string(text))
			}
			at = i + n + 1
		}
	}
	slices.Sort(out)
	return out
}
