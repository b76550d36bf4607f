package unpack

import (
	"errors"
	"io"
	"slices"

	"github.com/compat-app/compat/internal/buffers"
	"github.com/compat-app/compat/internal/inflate"
)

const (
	// partialBytes is the least compressed size of a member that is read partially.
	partialBytes = 1 << 20
	// near is how many bytes from what was read the next ones are read in any case.
	near = 1 << 20
	// step is how many bytes are inflated before it is decided again on which side to go on.
	step = 8 << 20
	// The compressed bytes of the end that are read first: leastEnd, or a part of the member. mostEnd
	// limits them, because they are in memory.
	leastEnd, endShare = 128 << 10, 1024
	mostEnd            = 128 << 20
	// The least and the most compressed bytes that are read at once, if so many will be needed.
	leastAhead, mostAhead = 128 << 10, 4 << 20
	// About how many compressed bytes the inflater has read and not used.
	inflateBuffer = 64 << 10
)

// partial is a deflated member of which only what is read is inflated: from its beginning, and from
// a block near its end. What is between them is not. If so much is needed that all of it may as
// well be, or a byte near the end is copied from what is not known, missed is set, and every read
// fails.
type partial struct {
	w      *walker
	in     *inflater
	packed io.ReaderAt // compressed
	length int64       // of packed
	size   int64       // declared
	left   *int64      // remaining inflated bytes for the whole walk
	missed bool

	rd    io.Reader // inflates from the beginning
	taken *int64    // compressed bytes that rd read
	head  Scratch
	done  int64 // bytes in head

	end     []byte  // the last compressed bytes
	tail    Scratch // what they contain; nil = nothing yet
	from    int64   // where tail begins
	unknown []inflate.Span
	// The compressed bytes that were added to the end last, and how many more bytes they contain.
	added, gained int64
}

// partially returns the content of a deflated member if it is read partially, or else nil. rd
// inflates it.
func (w *walker) partially(e *entry, rd io.Reader, in *inflater, left *int64) (*partial, error) {
	l := w.budget.limits
	if e.deflated == nil || e.packed < partialBytes || e.size > l.FileBytes ||
		e.size/e.packed >= l.Ratio {
		return nil, nil
	}
	head, err := w.scratch(e.size)
	if err != nil {
		return nil, &scratchError{err}
	}
	return &partial{
		w: w, in: in, packed: e.deflated, length: e.packed, size: e.size, left: left,
		rd: rd, taken: e.taken, head: head, from: e.size,
	}, nil
}

// ReadAt implements io.ReaderAt.
func (p *partial) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off >= p.size {
		return 0, io.EOF
	}
	want := b[:min(int64(len(b)), p.size-off)]
	end := off + int64(len(want))
	for {
		var err error
		switch {
		case p.missed:
			return 0, errSkipped
		case end <= p.done:
			_, err = p.head.ReadAt(want, off)
		case p.knows(off, end):
			_, err = p.tail.ReadAt(want, off-p.from)
		default:
			p.more(off, end)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if len(want) < len(b) {
			return len(want), io.EOF
		}
		return len(want), nil
	}
}

// knows reports whether the end that was decoded has some bytes.
func (p *partial) knows(off, end int64) bool {
	if p.tail == nil || off < p.from {
		return false
	}
	i, _ := slices.BinarySearchFunc(p.unknown, off-p.from, func(s inflate.Span, at int64) int {
		if s.End <= at {
			return -1
		}
		return 1
	})
	return i == len(p.unknown) || p.unknown[i].Start >= end-p.from
}

// more inflates more on the side from which some bytes are reached with less, as far as is known:
// as if all that was not read were compressed equally.
func (p *partial) more(off, end int64) {
	between := max(p.from-p.done, 1)
	rest := max(p.length-*p.taken-int64(len(p.end)), 0)
	forward, backward := end-p.done, max(p.from-off, 0)
	grown := p.ending(off)
	switch {
	case forward <= near || forward <= backward:
		if cost := rest * min(forward, between) / between; !p.worth(*p.taken + cost) {
			p.missed = true
			return
		}
		p.forward(min(end, p.done+max(step, near)))
	case grown == int64(len(p.end)) || !p.worth(*p.taken+grown):
		p.missed = true
	default:
		p.backward(grown)
	}
}

// worth reports whether reading some compressed bytes is less than reading all.
func (p *partial) worth(packed int64) bool { return packed <= p.length/4*3 }

// ending returns how many of the last compressed bytes are read next, so that they contain those
// from off on: as many as it needs if they are compressed like those that were read last, but at
// least an eighth more than before, and at most twice as many, or three times at the beginning.
func (p *partial) ending(off int64) int64 {
	have := int64(len(p.end))
	n := max(leastEnd, p.length/endShare)
	switch {
	case have == 0:
	case p.tail != nil && off >= p.from: // a byte is copied from a little before
		n = have + max(leastEnd, have/8)
	default:
		most := 2 * have
		if have < near {
			most += have
		}
		n = most
		if p.gained > 0 {
			n = min(max(have+(p.from-off)*p.added/p.gained+leastEnd, have+have/8), most)
		}
	}
	return min(n, mostEnd, p.length)
}

// forward inflates from the beginning up to an offset.
func (p *partial) forward(to int64) {
	p.ahead(to)
	for p.done < to {
		n, err := p.rd.Read(p.in.buf)
		if n > 0 {
			if _, werr := p.head.Write(p.in.buf[:n]); werr != nil {
				err = werr
			}
		}
		if p.done += int64(n); !p.spend(int64(n)) || err != nil && p.done < to {
			p.missed = true
			return
		}
	}
}

// ahead reads the compressed bytes that the inflater needs up to an offset at once, as far as is
// known: the io.ReaderAt is slow, and keeps them.
func (p *partial) ahead(to int64) {
	if p.done < near {
		return
	}
	used := max(*p.taken-inflateBuffer, 0)
	n := (to-p.done)*used/p.done - inflateBuffer
	if n = min(n, mostAhead, p.length-int64(len(p.end))-*p.taken); n < leastAhead {
		return
	}
	b := buffers.Get(int(n))
	defer b.Free()
	_, _ = p.packed.ReadAt(b.Bytes, *p.taken) // an error is returned again by the next read
}

// spend counts inflated bytes. It returns false if a limit is reached, or ctx ended.
func (p *partial) spend(n int64) bool {
	*p.left -= n
	return *p.left >= 0 && p.w.ctx.Err() == nil
}

// backward decodes the last n compressed bytes.
func (p *partial) backward(n int64) {
	bytes := make([]byte, n)
	fresh := n - int64(len(p.end))
	copy(bytes[fresh:], p.end)
	if _, err := p.packed.ReadAt(bytes[:fresh], p.length-n); err != nil && !errors.Is(err, io.EOF) {
		p.missed = true
		return
	}
	p.end = bytes
	var to Scratch
	size, unknown, err := p.in.ending().End(p.end, p.size, func() (io.Writer, error) {
		if to != nil {
			to.Close()
		}
		var err error
		to, err = p.w.scratch(-1)
		return to, err
	})
	switch {
	case err == nil:
		if p.tail != nil {
			p.tail.Close()
		}
		p.added, p.gained = fresh, p.from-(p.size-size)
		p.tail, p.from, p.unknown = to, p.size-size, unknown
		p.missed = !p.spend(size)
	case errors.Is(err, inflate.ErrNoBlock): // perhaps in more bytes
		if to != nil {
			to.Close()
		}
	default:
		p.missed = true
		if to != nil {
			to.Close()
		}
	}
}

// sample passes the ranges that Prepare does not need to a Sampler, until it has enough.
func (p *partial) sample(ranges []Range, to Sampler) {
	buf := make([]byte, copyBufferBytes)
	for _, r := range ranges {
		for at := r.Start; at < r.End && !to.Enough(); {
			n, err := p.ReadAt(buf[:min(int64(len(buf)), r.End-at)], at)
			if err != nil && !errors.Is(err, io.EOF) || n == 0 {
				return
			}
			_, _ = to.Write(buf[:n]) // never fails
			at += int64(n)
		}
	}
}

// Write is not used: the content is inflated when it is read.
func (p *partial) Write([]byte) (int, error) { return 0, errSkipped }

func (p *partial) Close() error {
	err := p.head.Close()
	if p.tail != nil {
		err = errors.Join(err, p.tail.Close())
	}
	return err
}
