package elfobj_test

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// reads records which bytes of a file are read.
type reads struct {
	io.ReaderAt
	seen [][2]int64
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	r.seen = append(r.seen, [2]int64{off, off + int64(len(p))})
	return r.ReaderAt.ReadAt(p, off)
}

func samples(t *testing.T) [][]byte {
	t.Helper()
	var out [][]byte
	for _, file := range systemLibraries(t, 60) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// TestCode checks that the ranges of Code are in executable segments and that Read does not
// read them.
func TestCode(t *testing.T) {
	found := 0
	for _, b := range samples(t) {
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			continue
		}
		code := elfobj.Code(b[:min(len(b), 4096)])
		found += len(code)
		for _, c := range code {
			ok := false
			for _, p := range f.Progs {
				ok = ok ||
					p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off > 0 && int64(p.Off) <= c[0] &&
						c[1] <= int64(p.Off+p.Filesz)
			}
			if !ok || c[0] >= c[1] {
				t.Errorf("%d to %d is in no executable segment", c[0], c[1])
			}
		}
		r := &reads{ReaderAt: bytes.NewReader(b)}
		if _, err := elfobj.Read(r, int64(len(b))); err != nil {
			continue
		}
		for _, s := range r.seen {
			for _, c := range code {
				if s[0] < c[1] && c[0] < s[1] {
					t.Errorf("Read takes %d to %d, and code is from %d to %d", s[0], s[1], c[0], c[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no library has code of its own")
	}
}

// TestCodeOfTruncatedFiles checks that an incomplete ELF header has no code.
func TestCodeOfTruncatedFiles(t *testing.T) {
	for _, b := range samples(t) {
		for _, n := range []int{0, 4, 63, 64, 100} {
			if got := elfobj.Code(b[:min(n, len(b))]); got != nil {
				t.Errorf("%d bytes have code: %v", n, got)
			}
		}
	}
}
