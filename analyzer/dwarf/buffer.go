package dwarf

import (
	"bytes"
	"encoding/binary"
)

// buffer decodes a section. Reads beyond its end set bad and return 0.
type buffer struct {
	data  []byte
	at    uint64
	order binary.ByteOrder
	bad   bool
}

func (b *buffer) take(n uint64) []byte {
	if b.at > uint64(len(b.data)) || n > uint64(len(b.data))-b.at {
		b.bad = true
		return nil
	}
	out := b.data[b.at : b.at+n]
	b.at += n
	return out
}

func (b *buffer) u8() uint8 {
	if b.at >= uint64(len(b.data)) {
		b.bad = true
		return 0
	}
	v := b.data[b.at]
	b.at++
	return v
}

// uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (b *buffer) uint(n uint8) uint64 {
	p := b.take(uint64(n))
	if p == nil {
		return 0
	}
	switch n {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(b.order.Uint16(p))
	case 3:
		if b.order == binary.ByteOrder(binary.BigEndian) {
			return uint64(p[0])<<16 | uint64(p[1])<<8 | uint64(p[2])
		}
		return uint64(p[2])<<16 | uint64(p[1])<<8 | uint64(p[0])
	case 4:
		return uint64(b.order.Uint32(p))
	case 8:
		return b.order.Uint64(p)
	}
	return 0
}

// maxShift is the shift of the tenth byte, the last byte of a LEB128 number that fits into 64 bits.
// A longer number is an error.
const maxShift = 63

// uleb reads an unsigned LEB128 number. Bits above the 64th are dropped.
func (b *buffer) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if b.at >= uint64(len(b.data)) || shift > maxShift {
			b.bad = true
			return 0
		}
		c := b.data[b.at]
		b.at++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
}

func (b *buffer) sleb() int64 {
	var v int64
	shift := uint(0)
	for {
		c := b.u8()
		if b.bad || shift > maxShift {
			b.bad = true
			return 0
		}
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cstring reads the bytes up to a NUL.
func (b *buffer) cstring() []byte {
	if b.at < uint64(len(b.data)) {
		if n := bytes.IndexByte(b.data[b.at:], 0); n >= 0 {
			out := b.data[b.at : b.at+uint64(n)]
			b.at += uint64(n) + 1
			return out
		}
	}
	b.at, b.bad = uint64(len(b.data)), true
	return nil
}
