package inflate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// ErrNoBlock means that no block was found with which the end of a stream can be decoded.
var ErrNoBlock = errors.New("no block of the deflated data was found")

// Span is a range of bytes, from Start to End, exclusive.
type Span struct{ Start, End int64 }

const (
	// searched is how many bytes are searched for the start of a block: those of zlib have 10 to 100
	// KB.
	searched = 512 << 10
	// maxWasted limits the bytes that are decoded from what turns out to be no block of the stream,
	// which is nearly nothing unless somebody has made it so.
	maxWasted = 32 << 20
	// maxUnknown limits the list of unknown ranges.
	maxUnknown = 1 << 20
	unknown    = 0x100 // a decoded byte that is not known
	// wideSize is the number of decoded bytes that are kept while some of them are unknown.
	wideSize = 4*history + maxMatch
	// partBlocks is how many blocks are decoded at least before it is taken for certain that the first
	// one is a block of the stream.
	partBlocks = 3
	// doubtful is how many bytes are dropped before the place where the input was cut off: the decoder
	// may have gone on with the zeros after it, of which a match needs at least 2 bits.
	doubtful = 8 * padding * maxMatch
)

// End decodes the end of a stream from its last compressed bytes. It searches the first block in
// them after which all blocks can be decoded and the last one ends with packed. Bytes that are
// copied from before that block are zeros, and listed in missing. create returns where to write,
// and may be called several times: only what is written to the last one is valid. At most limit
// bytes are decoded, from a later block if the first ones have more.
//
// The caller decides by size which part of the content was decoded: its last bytes. An archiver
// does not write a block that begins in another one, but somebody can make a stream in which there
// is one. So this is for content from a source that the caller trusts to be made by an archiver.
//
// Errors are ErrNoBlock, or those of create and its writer.
func (r *Reader) End(packed []byte, limit int64, create func() (io.Writer, error)) (
	size int64, missing []Span, err error,
) {
	return r.search(packed, limit, false, create)
}

// Part is like End for compressed bytes in the middle of a stream, which are cut off somewhere. It
// decodes nearly all of them. What was decoded is the first size bytes of what was written. Where
// they are in the content is not known.
func (r *Reader) Part(packed []byte, limit int64, create func() (io.Writer, error)) (
	size int64, missing []Span, err error,
) {
	return r.search(packed, limit, true, create)
}

// search implements End and Part.
func (r *Reader) search(
	packed []byte, limit int64, cut bool, create func() (io.Writer, error),
) (size int64, missing []Span, err error) {
	var wide []uint16
	wasted := int64(0)
	for bit := 0; wasted <= maxWasted; bit++ {
		if bit = nextBlock(packed, bit); bit < 0 {
			break
		}
		r.Reset(bytes.NewReader(packed[bit/8:]))
		err := r.begin(uint(bit % 8))
		var e ending
		if err == nil {
			if wide == nil {
				wide = make([]uint16, wideSize)
			}
			for i := range wide[:history] {
				wide[i] = unknown
			}
			e = ending{
				r: r, create: create, limit: limit, wide: wide, at: history, written: history, last: history,
			}
			r.blocks = 0
			err = e.decode()
			if cut && errors.Is(err, io.ErrUnexpectedEOF) && r.last && r.blocks >= partBlocks &&
				e.size > doubtful {
				return e.size - doubtful, e.missing, nil
			}
			wasted += e.size + int64(e.at-e.written)
		}
		switch {
		case err == nil:
			return e.size, e.missing, nil
		case errors.Is(err, ErrCorrupt), errors.Is(err, io.ErrUnexpectedEOF):
		default:
			return 0, nil, err
		}
	}
	return 0, nil, ErrNoBlock
}

// begin reads the header of a block, which follows some bits.
func (r *Reader) begin(skip uint) error {
	if err := r.need(8); err != nil {
		return err
	}
	r.take(skip)
	return r.header()
}

// nextBlock returns the first bit, not before bit, at which a block with codes of its own may begin
// that is not the last one; -1 if there is none. It compares what can be compared quickly: the
// counts of codes, and that the code for code lengths is complete.
func nextBlock(packed []byte, bit int) int {
	end := 8 * min(len(packed)-16, searched)
	for ; bit < end; bit++ {
		v := binary.LittleEndian.Uint64(packed[bit/8:]) >> (bit % 8)
		if v&7 != 4 || v>>3&31 > 29 || v>>8&31 > 29 {
			continue
		}
		n := 3 * (4 + v>>13&15)
		v = binary.LittleEndian.Uint64(packed[(bit+17)/8:]) >> ((bit + 17) % 8) & (1<<n - 1)
		sum := uint16(0)
		for ; v != 0; v >>= 12 {
			sum += shares[v&0xfff]
		}
		if sum == 1<<metaBits {
			return bit
		}
	}
	return -1
}

// shares is how much of the space of the code for code lengths four codes need, by their lengths.
var shares = func() (t [1 << 12]uint16) {
	for i := range t {
		for v := i; v != 0; v >>= 3 {
			if n := v & 7; n != 0 {
				t[i] += 1 << metaBits >> n
			}
		}
	}
	return t
}()

// ending decodes a stream from a block in it.
type ending struct {
	r       *Reader
	create  func() (io.Writer, error)
	to      io.Writer
	limit   int64
	size    int64 // bytes written
	missing []Span
	// The decoded bytes, or unknown; the first history ones are from before the block.
	wide        []uint16
	at, written int // end of what was decoded, and of what was written
	last        int // end of the last unknown one
}

// decode decodes to the end of the stream, from a block whose header was read.
func (e *ending) decode() error {
	r := e.r
	for e.at-e.last < history {
		if r.inside == between {
			if r.final {
				break
			}
			if err := r.header(); err != nil {
				return err
			}
		}
		if err := e.some(); err != nil {
			return err
		}
		if r.inside == between || e.at > len(e.wide)-maxMatch-1 {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	if err := e.flush(); err != nil {
		return err
	}
	if r.final && r.inside == between {
		return e.ends()
	}
	// All bytes that can be copied are known.
	for i, v := range e.wide[e.at-history : e.at] {
		r.out[i] = byte(v)
	}
	r.taken, r.made = history, history
	if e.limit -= e.size; e.limit < 0 {
		return ErrCorrupt
	}
	n, err := io.CopyBuffer(e.to, io.LimitReader(r, e.limit+1), make([]byte, 64<<10))
	e.size += n
	if err == nil && n > e.limit {
		err = ErrCorrupt
	}
	if err != nil {
		return err
	}
	return e.ends()
}

// ends returns an error unless the stream ends with the input.
func (e *ending) ends() error {
	r := e.r
	for !r.last && r.have == r.pos {
		if err := r.fill(); err != nil {
			return err
		}
	}
	if !r.last || 8*r.have-r.used() >= 8 {
		return ErrCorrupt
	}
	return nil
}

// some decodes until the block ends or the buffer is full.
func (e *ending) some() error {
	r := e.r
	full := len(e.wide) - maxMatch
	if r.inside == inStored {
		for ; r.stored > 0 && e.at < full; r.stored-- {
			if r.pos == r.have {
				if err := r.fill(); err != nil || r.pos == r.have {
					return errors.Join(err, io.ErrUnexpectedEOF)
				}
			}
			e.wide[e.at] = uint16(r.in[r.pos])
			e.at, r.pos = e.at+1, r.pos+1
		}
		if r.stored == 0 {
			r.inside = between
		}
		return nil
	}
	for e.at < full {
		if err := r.need(32); err != nil {
			return err
		}
		c := r.literals[r.bits&(1<<literalBits-1)]
		if c&(literal|second) == second && c&odd != 0 {
			c = r.literals[(c>>valueShift+uint32(r.bits>>literalBits)&r.literalMore)%
				uint32(len(r.literals))]
		}
		code := uint(c >> codeShift & codeMask)
		r.take(code)
		switch {
		case c&literal != 0:
			e.wide[e.at] = uint16(c >> valueShift & 0xff)
			e.at++
			continue
		case c&odd != 0 && c&end != 0:
			r.inside = between
			if r.ended() {
				return io.ErrUnexpectedEOF
			}
			return nil
		case c&odd != 0:
			return ErrCorrupt
		}
		length := int(c>>valueShift) + int(r.take(uint(c&bitsMask)-code))
		if err := r.need(32); err != nil {
			return err
		}
		d := r.distances[r.bits&(1<<distanceBits-1)]
		if d&odd != 0 && d&second != 0 {
			d = r.distances[(d>>valueShift+uint32(r.bits>>distanceBits)&r.distanceMore)%
				uint32(len(r.distances))]
		}
		if d&odd != 0 {
			return ErrCorrupt
		}
		code = uint(d >> codeShift & codeMask)
		r.take(code)
		from := e.at - int(d>>valueShift) - int(r.take(uint(d&bitsMask)-code))
		if from < 0 {
			return ErrCorrupt
		}
		for i := range length {
			v := e.wide[from+i]
			if e.wide[e.at+i] = v; v == unknown {
				e.last = e.at + i + 1
			}
		}
		e.at += length
	}
	return nil
}

// flush writes what was decoded, and makes space.
func (e *ending) flush() error {
	if e.to == nil {
		var err error
		if e.to, err = e.create(); err != nil {
			return err
		}
	}
	text := make([]byte, e.at-e.written)
	for i, v := range e.wide[e.written:e.at] {
		if v == unknown {
			e.miss(e.size + int64(i))
			continue
		}
		text[i] = byte(v)
	}
	if e.size += int64(len(text)); e.size > e.limit {
		return ErrCorrupt
	}
	if _, err := e.to.Write(text); err != nil {
		return err
	}
	drop := e.at - history
	copy(e.wide, e.wide[drop:e.at])
	e.at, e.written, e.last = history, history, e.last-drop
	return nil
}

// miss adds an unknown byte. If there are too many ranges, all before it are unknown.
func (e *ending) miss(at int64) {
	if n := len(e.missing); n > 0 && e.missing[n-1].End == at {
		e.missing[n-1].End++
		return
	}
	if len(e.missing) == maxUnknown {
		e.missing = append(e.missing[:0], Span{0, at})
	}
	e.missing = append(e.missing, Span{at, at + 1})
}
