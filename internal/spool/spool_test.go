package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/compat-app/compat/analyzer/unpack"
)

func TestReadsWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	source := In(dir)
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, 3*chunkSize + 7, inMemory, inMemory +
		1, 2*inMemory + 5, inMemory + 1} { // the last one is in the file of the one before
		s, err := source(0)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i*7 + i>>11 + size)
		}
		for rest, n := want, 1; len(rest) > 0; n = n*3 + 1 {
			n = min(n, len(rest))
			if _, err := s.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got, err := io.ReadAll(io.NewSectionReader(s, 0, int64(size)+1))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: read %d, the same: %v, %v", size, len(got), bytes.Equal(got, want), err)
		}
		for _, at := range []int{0, 1, chunkSize - 3, chunkSize, size - 5} {
			if at < 0 || at > size {
				continue
			}
			p := make([]byte, 11)
			n, err := s.ReadAt(p, int64(at))
			if !bytes.Equal(p[:n], want[at:min(at+11, size)]) ||
				(n < len(p)) != errors.Is(err, io.EOF) {
				t.Errorf("%d bytes: %d at %d, %v", size, n, at, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// TestSkip checks that content is at its offset after skips of various lengths, in memory and in
// a file.
func TestSkip(t *testing.T) {
	for _, last := range []int{1, inMemory / 2, inMemory + 3} {
		s, err := In(t.TempDir())(0)
		if err != nil {
			t.Fatal(err)
		}
		first, second := bytes.Repeat([]byte{1}, 2*chunkSize), bytes.Repeat([]byte{2}, last)
		at := int64(len(first))
		s.Write(first)
		for range 2 {
			if err := s.(unpack.Skipper).Skip(16 * chunkSize); err != nil {
				t.Fatal(err)
			}
			at += 16 * chunkSize
			if n, err := s.Write(second); n != last || err != nil {
				t.Fatal(n, err)
			}
			got := make([]byte, last)
			if _, err := s.ReadAt(got, at); err != nil && !errors.Is(err, io.EOF) ||
				!bytes.Equal(got, second) {
				t.Errorf("%d bytes behind what was skipped: %v", last, err)
			}
			if rest := chunkSize - last%chunkSize; rest < chunkSize { // up to a whole unit
				s.Write(make([]byte, rest))
			}
			at += (int64(last) + chunkSize - 1) / chunkSize * chunkSize
		}
		got := make([]byte, len(first))
		if _, err := s.ReadAt(got, 0); err != nil || !bytes.Equal(got, first) {
			t.Errorf("%d bytes before what was skipped: %v", last, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
