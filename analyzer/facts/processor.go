package facts

import (
	"io"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/processor"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/buffers"
)

// Larger objects are not examined: those for newer processors would have to be inflated again, with
// their machine code.
const maxProcessorObject = 64 << 20

// readProcessor returns what loading an object needs beyond the baseline of x86_64. Only the code
// of objects that were compiled for newer processors is followed.
func readProcessor(f *unpack.File, o *Object, contents *elfobj.Contents) processor.Need {
	if o.Arch() != "x86_64" || f.Size > maxProcessorObject || !forNewer(f) {
		return processor.Need{}
	}
	need, err := processor.Of(o.Object, contents)
	if err != nil {
		return processor.Need{}
	}
	return need
}

// examine passes what a reader has to one that examines it.
func examine(to io.Writer, from io.Reader) {
	b := buffers.Get(copied)
	defer b.Free()
	_, _ = io.CopyBuffer(to, from, b.Bytes)
}

// copied is how many bytes examine reads at once.
const copied = 32 << 10

// forNewer reports whether a compiler was allowed to use AVX for all code of an object.
func forNewer(f *unpack.File) bool {
	if s, _ := f.Skimmed.(*codeSample); s != nil {
		return s.density.Everywhere()
	}
	d := &processor.Density{}
	if f.Sample != nil {
		f.Sample(d)
		return d.Everywhere()
	}
	h, err := elfobj.ReadHead(f.Content, f.Size, nil)
	if err != nil {
		return false
	}
	segments, err := h.Segments(f.Content, f.Size)
	if err != nil {
		return false
	}
	for _, s := range segments {
		if s.Executable() {
			n := min(s.FileSize, processor.Sample)
			examine(d, io.NewSectionReader(f.Content, int64(s.Offset), int64(n)))
		}
	}
	return d.Everywhere()
}
