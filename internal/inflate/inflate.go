// Package inflate decodes DEFLATE streams (RFC 1951). Inflating takes most of the time of a check
// of a wheel, and this decoder takes about a third of the time of the available packages: it keeps
// 64 bits of input in a register, decodes up to three literals between two refills, and copies
// matches in words. For x86_64 the same loop is also written in assembly.
//
//	r := inflate.NewReader()
//	r.Reset(compressed)
//	io.Copy(w, r)
//
// The input is untrusted. A Reader needs 0.5 MiB for any input, rejects incomplete codes before
// using them and distances beyond the start of the stream, and produces at most 1032 bytes of
// output per byte of input. The caller limits how much it reads.
package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrCorrupt is the error for input that is not a DEFLATE stream. For truncated input it is
// io.ErrUnexpectedEOF.
var ErrCorrupt = errors.New("its deflated data is damaged")

const (
	history  = 32 << 10
	maxMatch = 258
	// the most that one iteration of the loop writes, including the rest of the last word
	slack   = maxMatch + 16
	outSize = history + 256<<10 + slack
	inSize  = 64 << 10
	// The first Read decodes about so much, because of many members only the first bytes are read.
	beginning = 256
	lookahead = 16 // bytes of input that one iteration of the loop reads
	// zeros after the end of the input: the loop may read them, with up to 7 bytes in the register
	padding = 32
)

// Reader decodes one stream after the other. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	err error // of src, or the end of the stream; returned after the decoded data

	in   []byte // data that was read and not yet used
	pos  int    // index of the next byte that is not in bits
	have int    // number of valid bytes
	last bool   // src is at its end

	bits  uint64
	count uint // number of valid bits

	out   []byte
	taken int // end of the data that Read returned
	made  int // end of the decoded data
	full  int // where decoding stops until more is read

	final  bool // the current block is the last one
	inside int  // state in the current block
	blocks int  // whose headers were read; see Part
	stored int  // remaining bytes of a stored block

	literals  [1<<literalBits + maxSymbols<<(maxCode-literalBits)]uint32
	distances [1<<distanceBits + maxDistances<<(maxCode-distanceBits)]uint32
	lengths   [maxSymbols + maxDistances]uint8
	meta      [1 << metaBits]uint32
	fixed     bool // the tables are those of the fixed codes

	literalMore, distanceMore uint32 // masks for the second-level tables
}

const (
	between = iota // before the header of a block
	inStored
	inCoded
)

// NewReader returns a reader. Call Reset before Read.
func NewReader() *Reader {
	return &Reader{in: make([]byte, inSize+padding), out: make([]byte, outSize), err: io.EOF}
}

// Reset starts a stream.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.err = src, nil
	r.pos, r.have, r.last, r.bits, r.count = 0, 0, false, 0, 0
	r.taken, r.made, r.full = 0, 0, 0
	r.final, r.inside, r.stored = false, between, 0
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.taken == r.made {
		if r.err != nil {
			return 0, r.err
		}
		if r.made > outSize-slack-history { // older data is not referenced any more
			r.made = copy(r.out, r.out[r.made-history:r.made])
			r.taken = r.made
		}
		if r.full == 0 {
			r.full = r.made + beginning
		} else {
			r.full = outSize - slack
		}
		r.err = r.run()
	}
	n := copy(p, r.out[r.taken:r.made])
	r.taken += n
	return n, nil
}

// run decodes until the output is full or the stream ends.
func (r *Reader) run() error {
	for r.made <= r.full {
		var err error
		switch r.inside {
		case between:
			if r.final {
				return io.EOF
			}
			err = r.header()
		case inStored:
			err = r.copyStored()
		case inCoded:
			err = r.decode()
		}
		if errors.Is(err, ErrCorrupt) && r.used()+maxCode > 8*r.have &&
			r.last { // it may be due to the zeros after the end
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fill reads input until one iteration of the loop has enough. At the end of the stream zeros
// follow, whose bits must not be used: see ended.
func (r *Reader) fill() error {
	for r.have-r.pos < lookahead && !r.last {
		if r.pos > 8 { // bytes in the register may be put back
			r.have = copy(r.in, r.in[r.pos-8:r.have])
			r.pos = 8
		}
		n, err := r.src.Read(r.in[r.have:inSize])
		r.have += n
		if err == io.EOF {
			r.last = true
			clear(r.in[r.have : r.have+padding])
		} else if err != nil {
			return err
		}
	}
	if r.ended() {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// used returns how many bits of in were used.
func (r *Reader) used() int { return 8*r.pos - int(r.count) }

// ended reports whether bits after the end of the input were used.
func (r *Reader) ended() bool { return r.last && r.used() > 8*r.have }

// need makes n bits available, at most 32.
func (r *Reader) need(n uint) error {
	if r.count >= n {
		return nil
	}
	if err := r.fill(); err != nil {
		return err
	}
	r.bits |= binary.LittleEndian.Uint64(r.in[r.pos:]) << r.count
	r.pos += int((63 - r.count) >> 3)
	r.count |= 56
	return nil
}

// take returns the next n bits, which must be available.
func (r *Reader) take(n uint) uint64 {
	v := r.bits & (1<<n - 1)
	r.bits >>= n
	r.count -= n
	return v
}

// header reads the header of a block.
func (r *Reader) header() error {
	if err := r.need(3); err != nil {
		return err
	}
	r.blocks++
	r.final = r.take(1) == 1
	kind := r.take(2)
	if r.ended() {
		return io.ErrUnexpectedEOF
	}
	switch kind {
	case 0:
		return r.beginStored()
	case 1:
		r.fix()
		r.inside = inCoded
		return nil
	case 2:
		r.inside, r.fixed = inCoded, false
		return r.readCodes()
	}
	return ErrCorrupt
}

func (r *Reader) beginStored() error {
	r.take(r.count & 7)
	if err := r.need(32); err != nil {
		return err
	}
	n, not := r.take(16), r.take(16)
	if r.ended() {
		return io.ErrUnexpectedEOF
	}
	if n != ^not&0xffff {
		return ErrCorrupt
	}
	r.pos -= int(r.count >> 3) // complete bytes are put back
	r.bits, r.count = 0, 0
	r.inside, r.stored = inStored, int(n)
	return nil
}

func (r *Reader) copyStored() error {
	for r.stored > 0 {
		if r.pos == r.have {
			if r.last {
				return io.ErrUnexpectedEOF
			}
			if err := r.fill(); err != nil {
				return err
			}
			continue
		}
		n := min(r.stored, r.have-r.pos, r.full+1-r.made)
		if n <= 0 {
			return nil
		}
		copy(r.out[r.made:r.made+n], r.in[r.pos:])
		r.made, r.pos, r.stored = r.made+n, r.pos+n, r.stored-n
	}
	r.inside = between
	return nil
}
