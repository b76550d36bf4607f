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
	// how many files wait for the next content, and the size of the largest of them
	maxFiles, maxReused = 4, 64 << 20
)

type chunk [chunkSize]byte

// In returns a function that creates storage; its files are in dir ("" = the system's temporary
// directory). It is safe for concurrent use.
func In(dir string) func(size int64) (unpack.Scratch, error) {
	s := &shared{dir: dir, chunks: sync.Pool{New: func() any { return new(chunk) }}}
	return func(int64) (unpack.Scratch, error) { return &scratch{shared: s}, nil }
}

// shared is what one scratch leaves to the next.
type shared struct {
	dir    string
	chunks sync.Pool // *chunk
	mu     sync.Mutex
	// Files are written again from their start: that takes half of the time of new ones, for which
	// the kernel has to find and to free space.
	files []*os.File
}

// file returns a file, which may have other content.
func (s *shared) file() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.files) - 1; last >= 0 {
		f := s.files[last]
		s.files = s.files[:last]
		return f, nil
	}
	return File(s.dir)
}

// reuse keeps a file with content of some size for the next file.
func (s *shared) reuse(f *os.File, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > maxReused || len(s.files) == maxFiles {
		return f.Close()
	}
	s.files = append(s.files, f)
	return nil
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
	shared *shared
	chunks []*chunk // nil = skipped
	size   int64    // bytes, including skipped ones
	kept   int      // bytes in memory
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
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	if err != nil {
		err = fmt.Errorf("writing unpacked content: %w", err)
	}
	return n, err
}

func (s *scratch) keep(p []byte) {
	for len(p) > 0 {
		at := s.size % chunkSize
		if at == 0 {
			s.chunks = append(s.chunks, s.shared.chunks.Get().(*chunk))
		}
		n := copy(s.chunks[len(s.chunks)-1][at:], p)
		s.size += int64(n)
		s.kept += n
		p = p[n:]
	}
}

// Skip implements unpack.Skipper.
func (s *scratch) Skip(n int64) error {
	if s.file == nil {
		s.chunks = append(s.chunks, make([]*chunk, n/chunkSize)...)
	}
	s.size += n
	return nil
}

// spill moves the content from memory to a file.
func (s *scratch) spill() error {
	f, err := s.shared.file()
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
	s.release()
	return nil
}

// release returns the chunks to the pool.
func (s *scratch) release() {
	for _, c := range s.chunks {
		if c != nil {
			s.shared.chunks.Put(c)
		}
	}
	s.chunks, s.kept = nil, 0
}

func (s *scratch) ReadAt(p []byte, off int64) (int, error) {
	if s.file != nil {
		left := max(s.size-off, 0)
		n, err := s.file.ReadAt(p[:min(int64(len(p)), left)], off)
		if err == nil && n < len(p) {
			err = io.EOF
		}
		return n, err
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

// Close makes the storage available to others. It must not be used any more.
func (s *scratch) Close() error {
	s.release()
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return s.shared.reuse(f, s.size)
}
