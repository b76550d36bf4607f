// Package scratch gives the analyzer room for inflated content: memory for small files, a temporary file for large ones. A file has no name in
// the file system as soon as it is open, so nothing is left behind by a crash.
//
//	options.Scratch = scratch.In("")
package scratch

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/compat-app/compat/analyzer/unpack"
)

// inMemory is up to where memory is used: most extension modules are below 8 MiB, and a few of these at once are cheap.
const inMemory = 8 << 20

// In returns a source of scratch space with its files in dir; "" is the system's folder for temporary files.
func In(dir string) func(size int64) (unpack.Scratch, error) {
	return func(int64) (unpack.Scratch, error) { return &scratch{dir: dir}, nil }
}

// scratch starts in memory and moves to a file when it grows: declared sizes are the archive's word and decide nothing.
type scratch struct {
	dir  string
	mem  bytes.Buffer
	file *os.File
}

func (s *scratch) Write(p []byte) (int, error) {
	if s.file == nil && s.mem.Len()+len(p) <= inMemory {
		return s.mem.Write(p)
	}
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "compat-*")
		if err != nil {
			return 0, fmt.Errorf("no room for unpacked content (set TMPDIR to a folder with space): %w", err)
		}
		s.file = f
		if err := os.Remove(f.Name()); err != nil {
			return 0, err
		}
		if _, err := f.Write(s.mem.Bytes()); err != nil {
			return 0, fmt.Errorf("writing unpacked content: %w", err)
		}
		s.mem = bytes.Buffer{}
	}
	return s.file.Write(p)
}

func (s *scratch) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	if off >= int64(s.mem.Len()) {
		return 0, io.EOF
	}
	n := copy(p, s.mem.Bytes()[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *scratch) Close() error {
	s.mem = bytes.Buffer{}
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
