package elfobj

import (
	"bytes"
	"debug/elf"
)

// Code tells where in a file its machine code lies, by the first bytes of it: pairs of an offset
// and the offset behind, in order. They are the executable segments that nothing else which a
// program header names overlaps; in most objects half of the file, and nothing that Read looks at.
// It is nil where the program headers lie elsewhere or are damaged: Read says why.
func Code(head []byte) [][2]int64 {
	size := int64(len(head))
	h, err := ReadHead(bytes.NewReader(head), size, nil)
	if err != nil || h.Class == 0 || h.PhNum == 0 || h.PhEntSize != phEntSize(h.Class) {
		return nil
	}
	segments, err := h.Segments(bytes.NewReader(head), size)
	if err != nil {
		return nil
	}
	var out [][2]int64
	for i, s := range segments {
		if !s.code() || overlaps(segments, i) {
			continue
		}
		if n := len(out); n > 0 && int64(s.Offset) < out[n-1][1] {
			return nil // out of order, which no linker writes
		}
		out = append(out, [2]int64{int64(s.Offset), int64(s.Offset + s.FileSize)})
	}
	return out
}

func phEntSize(class int) uint16 {
	if class == 64 {
		return 56
	}
	return 32
}

// code tells an executable segment behind the file's start, which holds the headers.
func (s *Segment) code() bool {
	return elf.ProgType(s.Type) == elf.PT_LOAD && elf.ProgFlag(s.Flags)&elf.PF_X != 0 &&
		s.Offset > 0 &&
		s.Offset < 1<<62 &&
		s.FileSize < 1<<62
}

// overlaps tells whether another segment has bytes of that one.
func overlaps(segments []Segment, n int) bool {
	one := &segments[n]
	for i, s := range segments {
		if i != n && s.FileSize > 0 && s.Offset < one.Offset+one.FileSize &&
			(one.Offset < s.Offset || one.Offset-s.Offset < s.FileSize) {
			return true
		}
	}
	return false
}
