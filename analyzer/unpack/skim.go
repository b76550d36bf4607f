package unpack

import (
	"bytes"
	"errors"
	"io"
)

// Range is the part of a file from offset Start to End, exclusive.
type Range struct{ Start, End int64 }

// Skipper is a Scratch that can skip bytes: they need no space and are never read.
type Skipper interface {
	Scratch
	// Skip skips n bytes. n and the number of bytes written and skipped before are multiples of
	// SkipUnit.
	Skip(n int64) error
}

// SkipUnit is the size in bytes of the pieces of a file that are kept or skipped.
const SkipUnit = 64 << 10

// Sampler examines a part of what is not stored. Write never fails.
type Sampler interface {
	io.Writer
	Enough() bool // the rest need not be written
}

// Preceded is a Sampler that also receives what is stored before the first range, in pieces, to
// decide what it examines.
type Preceded interface {
	Sampler
	Before(p []byte)
}

// skimHead is how many bytes Options.Skim receives: the program headers of nearly all objects, and
// the load commands of the first slice of a universal file, which begins at up to 16 KiB.
const skimHead = 20 << 10

// skim calls Options.Skim and returns a Scratch without the ranges that it returns. head is a
// buffer of skimHead bytes, which is in use until the reader is at its end.
func (w *walker) skim(
	content Scratch, rd io.Reader, size int64, head []byte,
) (Scratch, io.Reader) {
	to, ok := content.(Skipper)
	if !ok || size < SkipUnit {
		return content, rd
	}
	n, _ := io.ReadFull(rd, head) // an error is returned again by the next read
	rd = io.MultiReader(bytes.NewReader(head[:n]), rd)
	holes, rest := w.holes(head[:n], size)
	if len(holes) == 0 {
		return content, rd
	}
	return &skimmed{Skipper: to, holes: holes, rest: rest}, rd
}

// holes returns the whole units of what Options.Skim returns.
func (w *walker) holes(head []byte, size int64) (holes []Range, rest Sampler) {
	ranges, rest := w.o.Skim(head, size)
	for _, h := range ranges {
		if h.Start, h.End = (h.Start+SkipUnit-1)/SkipUnit*SkipUnit,
			h.End/SkipUnit*SkipUnit; h.Start < h.End {
			holes = append(holes, h)
		}
	}
	return holes, rest
}

// skimmed is a file without some ranges of whole units. It records whether one of them is read.
type skimmed struct {
	Skipper
	holes  []Range // sorted
	rest   Sampler // gets what is not stored; may be nil
	done   int     // number of holes that were skipped
	at     int64   // number of bytes written and skipped
	missed bool
}

var errSkipped = errors.New("the contents of this part of the file were not read")

func (s *skimmed) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		n, hole := int64(len(p)), false
		if s.done < len(s.holes) {
			h := s.holes[s.done]
			if hole = s.at >= h.Start; hole {
				n = min(n, h.End-s.at)
			} else {
				n = min(n, h.Start-s.at)
			}
		}
		switch {
		case !hole:
			if rest, ok := s.rest.(Preceded); ok && s.done == 0 {
				rest.Before(p[:n])
			}
			if _, err := s.Skipper.Write(p[:n]); err != nil {
				return 0, err
			}
		case s.rest != nil && !s.rest.Enough():
			_, _ = s.rest.Write(p[:n])
		}
		s.at, p = s.at+n, p[n:]
		if hole && s.at == s.holes[s.done].End {
			if err := s.Skip(s.at - s.holes[s.done].Start); err != nil {
				return 0, err
			}
			s.done++
		}
	}
	return all, nil
}

func (s *skimmed) ReadAt(p []byte, off int64) (int, error) {
	for _, h := range s.holes {
		if off < h.End && off+int64(len(p)) > h.Start {
			s.missed = true
			return 0, errSkipped
		}
	}
	return s.Skipper.ReadAt(p, off)
}
