// Package inflate reads DEFLATE streams (RFC 1951). Inflating is nearly all that a check of a wheel
// costs, and this decoder takes about half the time of those that the project could have taken
// instead: it keeps 64 bits of input in a register, looks up to three literals between two refills,
// and copies matches in words.
//
//	r := inflate.NewReader()
//	r.Reset(compressed)
//	io.Copy(w, r)
//
// The stream is an attacker's. A reader holds 0.5 MiB whatever it reads, every code is complete or
// refused before it is used, no distance leads before the beginning of the stream, and each byte of
// input gives at most 1032 of output; how much is taken is for the caller to bound.
package inflate

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrCorrupt tells of input that is no DEFLATE stream. Input that ends too early is
// io.ErrUnexpectedEOF.
var ErrCorrupt = errors.New("its deflated data is damaged")

const (
	history  = 32 << 10
	maxMatch = 258
	// what one round of the loop writes at most, words being written whole
	slack     = maxMatch + 16
	outSize   = history + 256<<10 + slack
	inSize    = 64 << 10
	lookahead = 16 // bytes of input that one round of the loop looks at
	// zeros behind the end: what is looked at there, after up to 7 bytes that are in the register
	padding = 32
)

// Reader inflates one stream after the other. It is for one goroutine.
type Reader struct {
	src io.Reader
	err error // of src, or the end of the stream; told when what was inflated is taken

	in   []byte // what was read and not yet used, with room behind it
	pos  int    // of the next byte that is not in bits
	have int    // bytes in it
	last bool   // src has no more

	bits  uint64
	count uint // of valid bits

	out   []byte
	taken int // up to where Read gave it away
	made  int // up to where it is inflated

	final  bool // the block at hand is the last one
	inside int  // of the block at hand
	stored int  // bytes left of a stored block

	literals  [1<<literalBits + maxSymbols<<(maxCode-literalBits)]uint32
	distances [1<<distanceBits + maxDistances<<(maxCode-distanceBits)]uint32
	lengths   [maxSymbols + maxDistances]uint8
	meta      [1 << metaBits]uint32
	fixed     bool // the tables are those of fixed codes

	literalMore, distanceMore uint32 // masks of the second looks
}

const (
	between = iota // a block's header comes next
	inStored
	inCoded
)

// NewReader makes a reader that has to be given a stream with Reset.
func NewReader() *Reader {
	return &Reader{in: make([]byte, inSize+padding), out: make([]byte, outSize), err: io.EOF}
}

// Reset begins a stream.
func (r *Reader) Reset(src io.Reader) {
	r.src, r.err = src, nil
	r.pos, r.have, r.last, r.bits, r.count = 0, 0, false, 0, 0
	r.taken, r.made = 0, 0
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
		if r.made > outSize-slack-history { // the oldest is not referred to any more
			r.made = copy(r.out, r.out[r.made-history:r.made])
			r.taken = r.made
		}
		r.err = r.run()
	}
	n := copy(p, r.out[r.taken:r.made])
	r.taken += n
	return n, nil
}

// run inflates until the output is full or the stream ends.
func (r *Reader) run() error {
	for r.made <= outSize-slack {
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
			r.last { // it may be zeros behind the end that make no sense
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fill reads input until there is as much as one round looks at, or zeros behind the end. Bits of
// these must not be used: see ended.
func (r *Reader) fill() error {
	for r.have-r.pos < lookahead && !r.last {
		if r.pos > 8 { // what is in the register may go back
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

// used is how many bits of in were used.
func (r *Reader) used() int { return 8*r.pos - int(r.count) }

// ended tells whether bits were used that are not there.
func (r *Reader) ended() bool { return r.last && r.used() > 8*r.have }

// need sees to n bits, up to 32.
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

// take uses n bits that are there.
func (r *Reader) take(n uint) uint64 {
	v := r.bits & (1<<n - 1)
	r.bits >>= n
	r.count -= n
	return v
}

// header reads the beginning of a block.
func (r *Reader) header() error {
	if err := r.need(3); err != nil {
		return err
	}
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
	r.pos -= int(r.count >> 3) // whole bytes go back
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
		n := min(r.stored, r.have-r.pos, outSize-slack+1-r.made)
		if n <= 0 {
			return nil
		}
		copy(r.out[r.made:r.made+n], r.in[r.pos:])
		r.made, r.pos, r.stored = r.made+n, r.pos+n, r.stored-n
	}
	r.inside = between
	return nil
}
