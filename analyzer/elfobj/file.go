package elfobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// file is the bytes of an object with what is needed to decode them. No method trusts an offset or
// a length.
type file struct {
	r     io.ReaderAt
	size  uint64
	wide  bool // ELFCLASS64
	order binary.ByteOrder
	chunk []byte // for each
}

// has tells whether n bytes at off lie inside the file.
func (f *file) has(off, n uint64) bool { return n <= f.size && off <= f.size-n }

// bytes reads n bytes at off. The caller has bounded n; the file's size bounds it again.
func (f *file) bytes(off, n uint64, what string) ([]byte, error) {
	if !f.has(off, n) {
		return nil, truncated(
			"%s should be %d bytes at offset %d, and the file ends at %d",
			what,
			n,
			off,
			f.size,
		)
	}
	b := make([]byte, n)
	if m, err := f.r.ReadAt(b, int64(off)); m < len(b) {
		return nil, readError(err, off+uint64(m), what)
	}
	return b, nil
}

// each reads n bytes at off in few large reads and gives them to yield as entries of the given
// size, until yield says stop. A rest that is smaller than an entry is left out. yield must not
// keep the entry.
func (f *file) each(
	off, n, entry uint64,
	what string,
	yield func(i uint64, b []byte) (more bool, err error),
) error {
	chunk := f.chunk // a yield that reads something else by each takes another
	f.chunk = nil
	if need := int(min(n/entry, max(chunkSize/entry, 1)) * entry); need > len(chunk) {
		chunk = make([]byte, need)
	} else {
		chunk = chunk[:need]
	}
	defer func() { f.chunk = chunk[:cap(chunk)] }()
	for i := uint64(0); i < n/entry; {
		b := chunk[:min(uint64(len(chunk)), (n/entry-i)*entry)]
		at := off + i*entry
		if m, err := f.r.ReadAt(b, int64(at)); m < len(b) {
			return readError(err, at+uint64(m), what)
		}
		for ; len(b) > 0; b, i = b[entry:], i+1 {
			if more, err := yield(i, b[:entry]); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// chunkSize is how much of a table is read at once.
const chunkSize = 64 << 10

// readError names the place of a failed read. An end of file here means that the size given to Read
// was wrong.
func readError(err error, off uint64, what string) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return truncated("%s: the file ends at offset %d", what, off)
	}
	return fmt.Errorf("read %s at offset %d: %w", what, off, err)
}

// wordSize is the size of an address: 4 or 8.
func (f *file) wordSize() uint64 {
	if f.wide {
		return 8
	}
	return 4
}

// cursor decodes fields one after the other. The caller has checked that there are enough bytes.
type cursor struct {
	f *file
	b []byte
}

func (f *file) cursor(b []byte) *cursor { return &cursor{f, b} }

func (c *cursor) take(n int) []byte {
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u8() uint8   { return c.take(1)[0] }
func (c *cursor) u16() uint16 { return c.f.order.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return c.f.order.Uint32(c.take(4)) }

// word is an address, offset or size: 4 bytes in ELF32, 8 in ELF64.
func (c *cursor) word() uint64 {
	if c.f.wide {
		return c.f.order.Uint64(c.take(8))
	}
	return uint64(c.u32())
}
