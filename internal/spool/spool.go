// Package spool provides storage for decompressed content: memory for small files, unlinked
// temporary files for large ones, which disappear with the process.
//
//	options.Scratch = spool.In("")
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	// limit in bytes for memory: most extension modules without their code are smaller, and a few
	// of them at once are cheap
	inMemory = 1 << 20
	// memory is allocated in chunks, which are reused, because a growing buffer would be copied
	// repeatedly
	chunkSize = unpack.SkipUnit
)

type chunk [chunkSize]byte

// In returns a function that creates storage; its files are in dir ("" = the system's temporary
// directory). It is safe for concurrent use.
func In(dir string) func(size int64) (unpack.Scratch, error) {
	pool := &sync.Pool{New: func() any { return new(chunk) }}
	return func(int64) (unpack.Scratch, error) { return &scratch{dir: dir, pool: pool}, nil }
}

// File creates an unlinked temporary file in dir ("" = the system's temporary directory), for
// content that is known to be large.
func File(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "compat-*")
	if err != nil {
		return nil, fmt.Errorf(
			"no room for unpacked content (set TMPDIR to a folder with space): %w", err,
		)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// scratch starts in memory and moves to a file when it grows. The declared size is ignored,
// because the archive may lie.
type scratch struct {
	dir    string
	pool   *sync.Pool // *chunk
	chunks []*chunk   // nil = skipped
	size   int64      // bytes, including skipped ones; not updated after the move to a file
	kept   int        // bytes in memory
	file   *os.File
}

func (s *scratch) Write(p []byte) (int, error) {
	if s.file == nil && s.kept+len(p) <= inMemory {
		s.keep(p)
		return len(p), nil
	}
	if s.file == nil {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	n, err := s.file.Write(p)
	if err != nil {
		err = fmt.Errorf("writing unpacked content: %w", err)
	}
	return n, err
}

func (s *scratch) keep(p []byte) {
	for len(p) > 0 {
		at := s.size % chunkSize
		if at == 0 {
			s.chunks = append(s.chunks, s.pool.Get().(*chunk))
		}
		n := copy(s.chunks[len(s.chunks)-1][at:], p)
		s.size += int64(n)
		s.kept += n
		p = p[n:]
	}
}

// Skip implements unpack.Skipper. In a file it makes a hole.
func (s *scratch) Skip(n int64) error {
	if s.file == nil {
		s.chunks = append(s.chunks, make([]*chunk, n/chunkSize)...)
		s.size += n
		return nil
	}
	if _, err := s.file.Seek(n, io.SeekCurrent); err != nil {
		return fmt.Errorf("writing unpacked content: %w", err)
	}
	return nil
}

// spill moves the content from memory to a file.
func (s *scratch) spill() error {
	f, err := File(s.dir)
	if err != nil {
		return err
	}
	s.file = f
	for i, c := range s.chunks {
		if c == nil {
			continue
		}
		at := int64(i) * chunkSize
		if _, err := f.WriteAt(c[:min(s.size-at, chunkSize)], at); err != nil {
			return fmt.Errorf("writing unpacked content: %w", err)
		}
	}
	if _, err := f.Seek(s.size, io.SeekStart); err != nil {
		return fmt.Errorf("writing unpacked content: %w", err)
	}
	s.release()
	return nil
}

// release returns the chunks to the pool.
func (s *scratch) release() {
	for _, c := range s.chunks {
		if c != nil {
			s.pool.Put(c)
		}
	}
	s.chunks, s.size, s.kept = nil, 0, 0
}

func (s *scratch) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(p, off)
	}
	n := 0
	for n < len(p) && off < s.size {
		c := s.chunks[off/chunkSize]
		if c == nil {
			return n, fmt.Errorf("unpacked content at %d was skipped", off)
		}
		end := min(s.size-off/chunkSize*chunkSize, chunkSize)
		m := copy(p[n:], c[off%chunkSize:end])
		n, off = n+m, off+int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *scratch) Close() error {
	s.release()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
