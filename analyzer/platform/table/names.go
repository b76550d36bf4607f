package table

import "strings"

// Names is the list of symbol names that all sets share, as one text.
type Names struct {
	text string
	from uint32   // offset of the first name, after the header
	ends []uint32 // offset of the newline after each name
}

// NewNames indexes a list of names; lines with # are its header.
func NewNames(text string) *Names {
	from := 0
	for strings.HasPrefix(text[from:], "#") {
		n := strings.IndexByte(text[from:], '\n')
		if n < 0 {
			n = len(text) - from - 1
		}
		from += n + 1
	}
	l := &Names{
		text: text,
		ends: make([]uint32, 0, strings.Count(text[from:], "\n")),
		from: uint32(from),
	}
	for at := from; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return l
		}
		l.ends = append(l.ends, uint32(at+n))
		at += n + 1
	}
}

// Len returns the number of names.
func (l *Names) Len() int { return len(l.ends) }

// At returns the name with index i, from 0.
func (l *Names) At(i int) string {
	from := l.from
	if i > 0 {
		from = l.ends[i-1] + 1
	}
	return l.text[from:l.ends[i]]
}
