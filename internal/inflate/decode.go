package inflate

import (
	"encoding/binary"
	"io"
)

// decode decodes a block until it ends or the output is full. Frequently used values are in
// local variables, and the buffers are arrays, whose lengths need no register. Where there is
// decodeFast, it decodes nearly everything: only the end of a block, an invalid code and the end of
// the input remain.
func (r *Reader) decode() error {
	const (
		literalMask  = 1<<literalBits - 1
		distanceMask = 1<<distanceBits - 1
	)
	in, out, o := (*[inSize + padding]byte)(r.in), (*[outSize]byte)(r.out), r.made
	bits, count, pos := r.bits, r.count, r.pos
	literals, distances := &r.literals, &r.distances
	literalMore, distanceMore := r.literalMore, r.distanceMore
	enough, full := r.have-lookahead, min(r.full, outSize-slack)
	leave := func(err error) error {
		r.bits, r.count, r.pos, r.made = bits, count, pos, o
		if err == nil && r.ended() {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	for o <= full {
		if pos > enough {
			r.bits, r.count, r.pos, r.made = bits, count, pos, o
			if err := r.fill(); err != nil {
				return err
			}
			pos, enough = r.pos, r.have-lookahead
		}
		if accelerated && pos <= enough {
			r.bits, r.count, r.pos, r.made = bits, count, pos, o
			if decodeFast(r, enough, full) {
				return ErrCorrupt
			}
			bits, count, pos, o = r.bits, r.count, r.pos, r.made
			if pos > enough || o > full {
				continue
			}
		}
		bits |= binary.LittleEndian.Uint64(in[pos:]) << (count & 63)
		pos += int((63 - count) >> 3)
		count |= 56

		// Three codes have at most 45 bits.
		e := literals[bits&literalMask]
		if e&literal != 0 {
			out[o] = byte(e >> valueShift)
			o++
			bits >>= e & bitsMask & 63
			count -= uint(e & bitsMask)
			e = literals[bits&literalMask]
			if e&literal != 0 {
				out[o] = byte(e >> valueShift)
				o++
				bits >>= e & bitsMask & 63
				count -= uint(e & bitsMask)
				e = literals[bits&literalMask]
				if e&literal != 0 {
					out[o] = byte(e >> valueShift)
					o++
					bits >>= e & bitsMask & 63
					count -= uint(e & bitsMask)
					continue
				}
			}
		}
		if e&odd != 0 {
			if e&second != 0 {
				e = literals[(e>>valueShift+uint32(bits>>literalBits)&literalMore)%uint32(len(literals))]
			}
			if e&literal != 0 {
				out[o] = byte(e >> valueShift)
				o++
				bits >>= e & bitsMask & 63
				count -= uint(e & bitsMask)
				continue
			}
			if e&odd != 0 {
				bits >>= e & bitsMask & 63
				count -= uint(e & bitsMask)
				if e&end == 0 {
					return leave(ErrCorrupt)
				}
				r.inside = between
				return leave(nil)
			}
		}
		// After two literals, 26 bits remain; a length needs 20.
		length := int(e>>valueShift) +
			int(bits&(1<<(e&bitsMask&63)-1)>>(e>>codeShift&codeMask))
		bits >>= e & bitsMask & 63
		count -= uint(e & bitsMask)

		bits |= binary.LittleEndian.Uint64(in[pos:]) << (count & 63)
		pos += int((63 - count) >> 3)
		count |= 56
		e = distances[bits&distanceMask]
		if e&odd != 0 {
			if e&second != 0 {
				e = distances[(e>>valueShift+uint32(bits>>distanceBits)&distanceMore)%uint32(len(distances))]
			}
			if e&odd != 0 {
				return leave(ErrCorrupt)
			}
		}
		back := int(e>>valueShift) +
			int(bits&(1<<(e&bitsMask&63)-1)>>(e>>codeShift&codeMask))
		bits >>= e & bitsMask & 63
		count -= uint(e & bitsMask)
		if back > o {
			return leave(ErrCorrupt)
		}

		from, to := o-back, o+length
		switch {
		case back >= 16:
			// Writes up to 15 bytes too many, which are overwritten later; most matches need one
			// iteration.
			for {
				*(*[16]byte)(out[o:]) = *(*[16]byte)(out[from:])
				if o, from = o+16, from+16; o >= to {
					break
				}
			}
			o = to
		case back >= 8:
			for o < to {
				binary.LittleEndian.PutUint64(out[o:], binary.LittleEndian.Uint64(out[from:]))
				o, from = o+8, from+8
			}
			o = to
		case back == 1:
			b := out[from]
			for o < to {
				out[o] = b
				o++
			}
		default:
			for o < to {
				out[o] = out[from]
				o, from = o+1, from+1
			}
		}
	}
	return leave(nil)
}
