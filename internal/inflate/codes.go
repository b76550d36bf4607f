package inflate

import (
	"io"
	"math/bits"
)

const (
	literalBits  = 11 // size of the first-level table; longer codes need a second lookup
	distanceBits = 9
	metaBits     = 7 // for the code for code lengths, whose codes are not longer

	maxCode      = 15
	maxSymbols   = 288
	maxDistances = 32
)

// A table entry: bits 0 to 7 are the number of bits of the code and its extra bits, 8 to 11 that of
// the code alone, 16 to 31 the value.
const (
	literal = 1 << 15 // the value is a byte
	// Neither literal nor length or distance: one of the following, or an invalid code.
	odd    = 1 << 14
	second = 1 << 13 // the value is the index of the second-level table
	end    = 1 << 12 // end of the block

	bitsMask   = 0xff
	codeShift  = 8
	codeMask   = 0xf
	valueShift = 16
)

// symbols are the entries of literals and lengths without their code lengths, distance those of
// distances (RFC 1951, 3.2.5).
var symbols, distance = func() (s [maxSymbols]uint32, d [maxDistances]uint32) {
	for i := range 256 {
		s[i] = literal | uint32(i)<<valueShift
	}
	s[256] = odd | end
	base := uint32(3)
	for i := 257; i < 285; i++ {
		extra := uint32(max(0, (i-261)/4))
		s[i] = base<<valueShift | extra
		base += 1 << extra
	}
	s[285] = maxMatch << valueShift
	s[286], s[287] = odd, odd
	base = 1
	for i := range 30 {
		extra := uint32(max(0, (i-2)/2))
		d[i] = base<<valueShift | extra
		base += 1 << extra
	}
	d[30], d[31] = odd, odd
	return s, d
}()

// lengthOrder is the order of the lengths in the code for code lengths.
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// build creates the table of a canonical code from the code lengths of its symbols. width is
// the number of bits of the first-level table. The code must be complete; a code with a single
// symbol of one bit, and an empty code, are accepted, as in zlib.
func build(table []uint32, width uint, lengths []uint8, of []uint32) (more uint, ok bool) {
	var count [maxCode + 1]int
	for _, n := range lengths {
		count[n]++
	}
	longest := maxCode
	for longest > 0 && count[longest] == 0 {
		longest--
	}
	code, used := uint32(0), 0
	var next [maxCode + 1]uint32
	for n := 1; n <= longest; n++ {
		code <<= 1
		next[n] = code
		code += uint32(count[n])
		used += count[n]
	}
	whole := longest > 0 && code == 1<<longest
	if !whole {
		if used > 1 || used == 1 && longest != 1 {
			return 0, false
		}
		for i := range 1 << width {
			table[i] = odd
		}
	}
	more = uint(max(longest-int(width), 0)) // bits of the second lookup
	free := uint32(1) << width              // index of the next second-level table
	if more > 0 {
		for i := range 1 << width {
			table[i] = 0
		}
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		at := uint32(bits.Reverse16(uint16(next[n])) >> (16 - n))
		next[n]++
		entry := of[symbol] + uint32(n) + uint32(n)<<codeShift
		if uint(n) <= width {
			for i := at; i < 1<<width; i += 1 << n {
				table[i] = entry
			}
			continue
		}
		first := &table[at&(1<<width-1)]
		if *first == 0 {
			*first = odd | second | free<<valueShift
			free += 1 << more
		}
		begin := *first >> valueShift
		for i := at >> width; i < 1<<more; i += 1 << (uint(n) - width) {
			table[begin+i] = entry
		}
	}
	return more, true
}

// fix creates the tables of the fixed codes.
func (r *Reader) fix() {
	if r.fixed {
		return
	}
	for i := range maxSymbols {
		switch {
		case i < 144:
			r.lengths[i] = 8
		case i < 256:
			r.lengths[i] = 9
		case i < 280:
			r.lengths[i] = 7
		default:
			r.lengths[i] = 8
		}
	}
	r.buildLiterals(maxSymbols)
	for i := range maxDistances {
		r.lengths[i] = 5
	}
	r.buildDistances(0, maxDistances)
	r.fixed = true
}

// readCodes reads the codes of a block.
func (r *Reader) readCodes() error {
	if err := r.need(14); err != nil {
		return err
	}
	literals, distances, metas := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if literals > 286 || distances > 30 {
		return ErrCorrupt
	}
	var lengths [19]uint8
	for _, at := range lengthOrder[:metas] {
		if err := r.need(3); err != nil {
			return err
		}
		lengths[at] = uint8(r.take(3))
	}
	var values [19]uint32
	for i := range values {
		values[i] = uint32(i) << valueShift
	}
	if _, ok := build(r.meta[:], metaBits, lengths[:], values[:]); !ok {
		return ErrCorrupt
	}
	for i := 0; i < literals+distances; {
		if err := r.need(14); err != nil {
			return err
		}
		e := r.meta[r.bits&(1<<metaBits-1)]
		if e&odd != 0 {
			return ErrCorrupt
		}
		r.take(uint(e & bitsMask))
		value, repeat := uint8(e>>valueShift), 1
		switch value {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			value, repeat = r.lengths[i-1], 3+int(r.take(2))
		case 17:
			value, repeat = 0, 3+int(r.take(3))
		case 18:
			value, repeat = 0, 11+int(r.take(7))
		}
		if i+repeat > literals+distances {
			return ErrCorrupt
		}
		for range repeat {
			r.lengths[i] = value
			i++
		}
	}
	if r.ended() {
		return io.ErrUnexpectedEOF
	}
	if r.lengths[256] == 0 || !r.buildLiterals(literals) || !r.buildDistances(literals, distances) {
		return ErrCorrupt
	}
	return nil
}

// buildLiterals creates the table of literals and lengths from the first n code lengths.
func (r *Reader) buildLiterals(n int) bool {
	more, ok := build(r.literals[:], literalBits, r.lengths[:n], symbols[:])
	r.literalMore = 1<<more - 1
	return ok
}

// buildDistances creates the table of distances from n code lengths.
func (r *Reader) buildDistances(from, n int) bool {
	more, ok := build(r.distances[:], distanceBits, r.lengths[from:from+n], distance[:])
	r.distanceMore = 1<<more - 1
	return ok
}
