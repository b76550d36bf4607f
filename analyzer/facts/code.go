package facts

import (
	"bytes"
	"io"
	"strings"

	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/processor"
	"github.com/compat-app/compat/analyzer/unpack"
)

// codeSample examines the code of an object that is not stored.
type codeSample struct {
	density processor.Density
	calls   cython.Calls
	named   bool   // names of symbols precede the code
	warns   bool   // and among them is that of the function with which Cython compares sizes
	kept    []byte // the end of what precedes the code
}

// A name that nearly all objects import or define, and the beginning of those with which modules of
// Cython report that the size of a type has changed: PyErr_WarnEx, and PyErr_WarnFormat.
var (
	finalize = []byte("__cxa_finalize")
	warning  = []byte("PyErr_Warn")
)

// Before implements unpack.Preceded. It searches the names of symbols for those that an object has
// if it compares the sizes of types.
func (s *codeSample) Before(p []byte) {
	both := append(s.kept, p[:min(len(p), len(finalize))]...)
	for _, text := range [][]byte{both, p} {
		s.named = s.named || bytes.Contains(text, finalize)
		s.warns = s.warns || bytes.Contains(text, warning)
	}
	s.kept = append(both[:0], p[max(0, len(p)-len(finalize)):]...)
}

// examines reports whether calls are searched. They are not if the names of symbols were read and
// show that there is none that matters. See readCalls for an object whose names are elsewhere too.
func (s *codeSample) examines() bool { return !s.named || s.warns }

// Write implements unpack.Sampler. It never fails.
func (s *codeSample) Write(p []byte) (int, error) {
	if !s.examines() {
		return s.density.Write(p)
	}
	_, _ = s.density.Write(p)
	return s.calls.Write(p)
}

// Enough implements unpack.Sampler.
func (s *codeSample) Enough() bool {
	return s.density.Enough() && (!s.examines() || s.calls.Enough())
}

// Error texts of the function with which modules of Cython import types, of the releases since 0.28
// and of earlier ones.
var (
	changedSize = []byte("size changed, may indicate binary incompatibility")
	wrongSize   = []byte("has the wrong size, try recompiling")
)

// otherLibxml2 is the error text of a module that compares its libxml2 with that of lxml
// (xmlsec, src/lxml.c).
var otherLibxml2 = []byte("lxml & xmlsec libxml2 library version mismatch")

// ofPython are modules with types that come with Python, as far as Cython declares them or modules
// use them often, and NumPy, of which NumPyBuild tells more.
var ofPython = map[string]bool{"builtins": true, "__builtin__": true, "types": true,
	"weakref": true, "datetime": true, "array": true, "collections": true, "asyncio": true,
	"_asyncio": true, "cython_runtime": true, "ctypes": true, "_ctypes": true, "decimal": true,
	"io": true, "numpy": true}

// readTypes returns the types that a module defines, and those of other packages that it uses.
func readTypes(
	f *unpack.File, o *Object, contents *elfobj.Contents,
) (types []cython.Type, uses []cython.Use) {
	types = cython.Types(o.Object, contents)
	if o.Arch() != "x86_64" {
		return types, nil
	}
	constants := sectionsOf(o.Object, f.Content, f.Size)
	if !constants.has(changedSize) && !constants.has(wrongSize) {
		return types, nil
	}
	own, _, _ := strings.Cut(Installed(o.Path), "/")
	for _, u := range cython.Uses(contents, readCalls(f)) {
		if of, _, _ := strings.Cut(u.Module, "."); of != own && !ofPython[of] {
			uses = append(uses, u)
		}
	}
	return types, uses
}

// readCalls returns the calls in the code of an object that may import a type. It reads only what
// is stored of it, or what would be. If its code was not examined, all is read: then the object is
// inflated again.
func readCalls(f *unpack.File) (out []cython.Call) {
	h, err := elfobj.ReadHead(f.Content, f.Size, nil)
	if err != nil {
		return nil
	}
	segments, err := h.Segments(f.Content, f.Size)
	if err != nil {
		return nil
	}
	read := func(s *elfobj.Segment, from, to uint64) {
		c := &cython.Calls{}
		examine(c, io.NewSectionReader(f.Content, int64(from), min(int64(to-from), cython.Sample)))
		out = append(out, c.At(s.Addr+from-s.Offset)...)
	}
	var sample *cython.Calls
	if s, _ := f.Skimmed.(*codeSample); s != nil && s.examines() {
		sample = &s.calls
	} else if f.Sample != nil {
		sample = &cython.Calls{}
		f.Sample(sample)
	}
	for i := range segments {
		s := &segments[i]
		if !s.Executable() {
			continue
		}
		end := s.Offset + s.FileSize
		from, to := (s.Offset+unpack.SkipUnit-1)/unpack.SkipUnit*unpack.SkipUnit,
			end/unpack.SkipUnit*unpack.SkipUnit
		if sample == nil || from >= to {
			read(s, s.Offset, end)
			continue
		}
		read(s, s.Offset, from)
		out = append(out, sample.At(s.Addr+from-s.Offset)...)
		read(s, to, end)
		break // the sample begins in this segment
	}
	return out
}
