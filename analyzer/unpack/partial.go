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
	// A part in the middle is searched if more compressed bytes than leastSaved would be read
	// instead, at first in leastMiddle of them, and at last in mostMiddle or half of what would be
	// read.
	leastSaved              = 16 << 20
	leastMiddle, mostMiddle = 1 << 20, 16 << 20
	// How far after what a Locator finds the next bytes are read in the middle too.
	nearLocated = 1 << 20
)

// partial is a deflated member of which only what is read is inflated: from its beginning, from a
// block near its end, and what a Locator finds from one in the middle. What is between them is not.
// If so much is needed that all of it may as
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

	end  []byte // the last compressed bytes
	tail region // what they contain; up to the end of the member
	// The compressed bytes that were added to the end last, and how many more bytes they contain.
	added, gained int64

	locator Locator // nil if there is none, or if it has found all that it can
	middle  region
	span    int64 // compressed bytes in which it was searched last
	center  int64 // of them, where it is expected
}

// region is a part of a member that was inflated without what is before it.
type region struct {
	Scratch                 // nil = nothing yet
	from, to int64          // in the member
	unknown  []inflate.Span // from its beginning
}

// has reports whether the bytes from off to end are in the region and known.
func (g *region) has(off, end int64) bool {
	return g.Scratch != nil && off >= g.from && end <= g.to &&
		known(g.unknown, off-g.from, end-g.from)
}

// known reports whether no bytes from off to end are unknown.
func known(unknown []inflate.Span, off, end int64) bool {
	i, _ := slices.BinarySearchFunc(unknown, off, func(s inflate.Span, at int64) int {
		if s.End <= at {
			return -1
		}
		return 1
	})
	return i == len(unknown) || unknown[i].Start >= end
}

func (g *region) close() error {
	if g.Scratch == nil {
		return nil
	}
	return g.Close()
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
		rd: rd, taken: e.taken, head: head, tail: region{from: e.size, to: e.size},
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
		case p.tail.has(off, end):
			_, err = p.tail.ReadAt(want, off-p.tail.from)
		case p.middle.has(off, end):
			_, err = p.middle.ReadAt(want, off-p.middle.from)
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

// more inflates more on the side from which some bytes are reached with less, as far as is known:
// as if all that was not read were compressed equally.
func (p *partial) more(off, end int64) {
	between := max(p.tail.from-p.done, 1)
	rest := max(p.length-*p.taken-int64(len(p.end)), 0)
	forward, backward := end-p.done, max(p.tail.from-off, 0)
	grown := p.ending(off)
	if p.search(off, rest, between, min(forward, backward)) {
		return
	}
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
	case p.tail.Scratch != nil && off >= p.tail.from: // a byte is copied from a little before
		n = have + max(leastEnd, have/8)
	default:
		most := 2 * have
		if have < near {
			most += have
		}
		n = most
		if p.gained > 0 {
			n = min(max(have+(p.tail.from-off)*p.added/p.gained+leastEnd, have+have/8), most)
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
	size, unknown, err := p.in.ending().End(p.end, p.size, p.scratch(&to))
	switch {
	case err == nil:
		_ = p.tail.close()
		p.added, p.gained = fresh, p.tail.from-(p.size-size)
		p.tail = region{to, p.size - size, p.size, unknown}
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

// scratch returns a function that replaces a Scratch by a new one.
func (p *partial) scratch(to *Scratch) func() (io.Writer, error) {
	return func() (io.Writer, error) {
		if *to != nil {
			(*to).Close()
		}
		var err error
		*to, err = p.w.scratch(-1)
		return *to, err
	}
}

// search inflates a part in the middle if bytes at an offset are near what the Locator finds, and
// if that is less than what would be inflated on the nearer side. rest is how many compressed bytes
// between the beginning and the end were not read; between is how many bytes they contain. It
// reports whether it did. Each time the part is larger, until it has the bytes.
func (p *partial) search(off, rest, between, nearer int64) bool {
	if p.locator == nil {
		return false
	}
	at := p.locator.Offset()
	if off < at || off > at+nearLocated || p.tail.Scratch == nil {
		return false
	}
	// As if all that was not read were compressed equally, or like the end.
	saved := min(rest*min(nearer, between)/between,
		max(p.tail.from-off, 0)*int64(len(p.end))/max(p.size-p.tail.from, 1))
	if saved < leastSaved {
		return false
	}
	if p.span == 0 {
		p.span, p.center = leastMiddle/2, *p.taken+rest*(at-p.done)/between
	}
	p.span *= 2
	if from, to := *p.taken, p.length-int64(len(p.end)); p.span > min(saved/2, mostMiddle, to-from) {
		p.locator = nil
	} else {
		from = max(min(p.center-p.span/2, to-p.span), from)
		p.inflateMiddle(from, p.span)
	}
	return true
}

// inflateMiddle inflates n compressed bytes and locates what they contain.
func (p *partial) inflateMiddle(from, n int64) {
	packed := make([]byte, n)
	if _, err := p.packed.ReadAt(packed, from); err != nil && !errors.Is(err, io.EOF) {
		p.missed = true
		return
	}
	var to Scratch
	size, unknown, err := p.in.ending().Part(packed, p.size, p.scratch(&to))
	if err == nil {
		at, ok := p.locator.Find(to, size, func(from, end int64) bool {
			return end <= size && known(unknown, from, end)
		})
		p.missed = !p.spend(size)
		if ok && at >= 0 && at <= p.size-size {
			_ = p.middle.close()
			p.middle = region{to, at, at + size, unknown}
			p.center = from + n*(p.locator.Offset()-at)/size
			return
		}
	}
	if to != nil {
		to.Close()
	}
	p.missed = p.missed || err != nil && !errors.Is(err, inflate.ErrNoBlock)
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
	return errors.Join(p.head.Close(), p.tail.close(), p.middle.close())
}
