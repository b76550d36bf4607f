package facts

import (
	"bytes"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/processor"
	"github.com/compat-app/compat/analyzer/unpack"
)

// TestReadProcessor checks that machine code is read only if it was counted, in what is not stored
// of a file or else in the file, that it is for newer processors.
func TestReadProcessor(t *testing.T) {
	vpxor := []byte{0xc5, 0xfd, 0xef, 0xc0} // vpxor %ymm0, %ymm0, %ymm0
	code := append(bytes.Clone(vpxor), 0xb8, 1, 0, 0, 0, 0xc3)
	b, err := elftest.Write(&elfobj.Object{
		Exports:  elfobj.NewExports(elfobj.Export{Name: "PyInit_m", Kind: "func"}),
		Sections: []elfobj.Section{{Name: ".text", Data: code}},
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := func(code []byte) unpack.Sampler {
		s := &codeSample{}
		_, _ = s.Write(code)
		return s
	}
	for _, c := range []struct {
		name    string
		skimmed unpack.Sampler
		want    processor.Level
	}{
		{"everything is stored", nil, processor.AVX2},
		{"the rest is for newer processors", counted(vpxor), processor.AVX2},
		{"the rest is not", counted([]byte{0x0f, 0x28, 0xc1}), processor.Baseline},
	} {
		f := &unpack.File{Content: bytes.NewReader(b), Size: int64(len(b)), Skimmed: c.skimmed}
		o, contents, err := elfobj.ReadContents(f.Content, f.Size)
		if err != nil {
			t.Fatal(err)
		}
		if need := readProcessor(f, newObject("m.so", "", o), contents); need.Level != c.want {
			t.Errorf("%s: %v, want %v", c.name, need.Level, c.want)
		}
	}
}
