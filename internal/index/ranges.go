package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	// size limit in bytes of a range in memory; larger ones use a temporary file
	inMemory = 1 << 20
	maxFar   = 512 << 20 // limit in bytes for all ranges of one wheel
	// bytes for the extra field of a local header, whose length is only in the header
	slack = 512
)

// window is a part of a file.
type window struct {
	at, size int64
	data     io.ReaderAt
	file     *temp // nil = in memory
}

func inBytes(at int64, data []byte) window {
	return window{at: at, size: int64(len(data)), data: bytes.NewReader(data)}
}

// contains reports whether an offset is in the window.
func (w window) contains(off int64) bool {
	return w.data != nil && off >= w.at && off < w.at+w.size
}

// ReadAt reads at an offset of the file, up to the end of the window.
func (w window) ReadAt(p []byte, off int64) (int, error) {
	if !w.contains(off) {
		return 0, io.EOF
	}
	return w.data.ReadAt(p, off-w.at)
}

func (w window) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// fetch downloads the bytes from at to end of a file of size bytes. It retries interrupted
// downloads.
func (i *Index) fetch(ctx context.Context, f file, at, end, size int64) (window, error) {
	for try := 1; ; try++ {
		w, err := i.fetchOnce(ctx, f, at, end, size)
		var broken *retryError
		switch {
		case err == nil || !errors.As(err, &broken):
			return w, err
		case ctx.Err() != nil:
			return w, ctx.Err()
		case try >= attempts:
			return w, i.errorf(packages.ErrUnavailable, "%s (attempts: %d)", broken.why, try)
		}
	}
}

func (i *Index) fetchOnce(ctx context.Context, f file, at, end, size int64) (window, error) {
	resp, err := i.do(
		ctx,
		request{
			url: f.url,
			header: map[string]string{
				"Range":           fmt.Sprintf("bytes=%d-%d", at, end-1),
				"Accept-Encoding": "identity",
			},
		},
	)
	if err != nil {
		return window{}, err
	}
	defer resp.Body.Close()
	start, now, ok := contentRange(resp.Header.Get("Content-Range"))
	switch {
	case resp.StatusCode != http.StatusPartialContent || !ok || start != at:
		return window{}, i.errorf(
			packages.ErrUnavailable,
			"%s returned a different range from the one requested",
			f.url.Host,
		)
	case now != size:
		return window{}, i.errorf(
			packages.ErrUnavailable,
			"%s had %d bytes, but now it has %d",
			unpack.Safe(f.name),
			size,
			now,
		)
	}
	broken := func(err error) error {
		return &retryError{
			why: fmt.Sprintf("%s ended in the middle of a range: %v", f.url.Host, err),
		}
	}
	if end-at <= inMemory {
		data := make([]byte, end-at)
		if _, err := io.ReadFull(resp.Body, data); err != nil {
			return window{}, broken(err)
		}
		return inBytes(at, data), nil
	}
	t, err := newTemp(i.tempDir)
	if err != nil {
		return window{}, err
	}
	n, err := io.Copy(tempErrors{t}, io.LimitReader(resp.Body, end-at))
	if err == nil && n == end-at {
		return window{at: at, size: n, data: t, file: t}, nil
	}
	t.Close()
	var disk *tempError
	if errors.As(err, &disk) {
		return window{}, fmt.Errorf("store %s: %w", unpack.Safe(f.name), disk.err)
	}
	return window{}, broken(cmp.Or(err, io.ErrUnexpectedEOF))
}

// rangeReader reads a file by ranges. It keeps the end of the file and one other window. It is used
// for the directory of a zip, by one reader at a time. The directory extends to the end, so a
// window does too, up to lastWindow.
type rangeReader struct {
	i          *Index
	ctx        context.Context
	f          file
	size       int64
	tail, last window
	read       int64
	failed     *error
}

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		w := r.tail
		if !w.contains(at) {
			if !r.last.contains(at) {
				if err := r.fetch(at); err != nil {
					*r.failed = err
					return n, err
				}
			}
			w = r.last
		}
		m, err := w.ReadAt(p[n:], at)
		if n += m; err != nil && !errors.Is(err, io.EOF) {
			*r.failed = err
			return n, err
		}
	}
	return n, nil
}

// fetch moves the window to an offset.
func (r *rangeReader) fetch(at int64) error {
	end := min(at+lastWindow, r.size)
	if r.tail.at > at {
		end = min(end, r.tail.at)
	}
	if r.read += end - at; r.read > maxFar {
		return r.i.errorf(
			packages.ErrUnavailable,
			"%s: more than %d MB would have to be read by range requests",
			unpack.Safe(r.f.name),
			maxFar>>20,
		)
	}
	err := r.last.close()
	r.last = window{}
	if err == nil {
		r.last, err = r.i.fetch(r.ctx, r.f, at, end, r.size)
	}
	return err
}

// sparse returns a zip with some members of a wheel. Each member is downloaded when it is first
// read, together with small ones that are next to it; if sparse.parts is set, only what is read of
// large ones is. tail is the end of the wheel, if it was downloaded already, or nil. most limits
// the bytes of the members.
func (i *Index) sparse(
	ctx context.Context,
	f file,
	size int64,
	members []unpack.Member,
	tail *window,
	most int64,
) (*content, error) {
	s := &sparse{i: i, ctx: ctx, f: f, size: size}
	var lengths []int64
	all := int64(0)
	first := map[content32]*span{}
	for _, m := range members {
		n := min(m.Packed+int64(len(m.Name))+localSize+slack, size-m.Offset)
		part := &span{at: all, from: m.Offset, length: n}
		key := content32{m.CRC, m.Size, m.Packed, m.Method}
		if same := first[key]; same != nil && m.Packed > slack {
			part.copyOf, part.header = same, unpack.LocalHeader(m)
			n = int64(len(part.header)) + m.Packed
			part.length = n
		} else {
			first[key] = part
		}
		s.spans = append(s.spans, part)
		lengths = append(lengths, n)
		all += n
	}
	if all > most {
		return nil, i.errorf(
			packages.ErrUnavailable,
			"%s: more than %d MB would have to be read by range requests",
			unpack.Safe(f.name),
			most>>20,
		)
	}
	s.group(tail)
	directory := unpack.Sparse(members, lengths)
	s.directory = inBytes(all, directory)
	c := &content{
		ReaderAt: s, size: all + int64(len(directory)), close: s.close, sparse: s,
		partial: slices.ContainsFunc(members, inParts),
	}
	s.failed = &c.err
	return c, nil
}

const (
	// largeMember is the size in compressed bytes of the smallest member that is read in parts.
	largeMember = 2 << 20
	// Small members with at most gap bytes between them are read together, up to together bytes.
	gap, together = 64 << 10, 8 << 20
	// The bytes that are requested of a large member at least, and at most.
	leastPart, mostPart = 128 << 10, 1 << 20
)

// inParts reports whether a member is read in parts.
func inParts(m unpack.Member) bool { return m.Packed >= largeMember }

// content32 identifies the content of a member, as the directory describes it. Wheels cannot have
// links, so many have a library under several names.
type content32 struct {
	crc          uint32
	size, packed int64
	method       uint16
}

// span is the position of a member in the sparse zip (at) and in the wheel (from).
type span struct {
	at, from, length int64
	// copyOf is an earlier member with the same content, which is read instead; nil = there is none.
	// header is then the local header of this one.
	copyOf *span
	header []byte
	*source
}

// localSize is the size of a local header without its variable part.
const localSize = 30

// source is a part of a wheel that is downloaded when it is read: at once, or a large member in
// parts.
type source struct {
	from, end int64
	large     bool
	mu        sync.Mutex // held during a download
	read      []window   // what was downloaded, in the order of the wheel
}

// group sets the sources of the members. What is in tail is not downloaded again.
func (s *sparse) group(tail *window) {
	order := slices.DeleteFunc(slices.Clone(s.spans), func(m *span) bool { return m.copyOf != nil })
	slices.SortFunc(order, func(a, b *span) int { return cmp.Compare(a.from, b.from) })
	var last *source
	for _, m := range order {
		end := m.from + m.length
		switch large := m.length >= largeMember; {
		case tail != nil && tail.at <= m.from:
			m.source = &source{from: tail.at, end: s.size, read: []window{*tail}}
			continue
		case last == nil || large || last.large || m.from-last.end > gap || end-last.from > together:
			last = &source{from: m.from, end: end, large: large}
		}
		m.source = last
		last.end = max(last.end, end)
	}
}

// sparse may be read by several goroutines, as package unpack reads members.
type sparse struct {
	i         *Index
	ctx       context.Context
	f         file
	size      int64         // of the wheel
	left      *atomic.Int64 // bytes that may be downloaded; nil = no limit
	parts     bool          // large members are read in parts; set before the first read
	spans     []*span
	directory window
	mu        sync.Mutex // for failed
	failed    *error
}

func (s *sparse) close() error {
	var err error
	for _, m := range s.spans {
		if m.source == nil {
			continue
		}
		for _, w := range m.read {
			err = errors.Join(err, w.close())
		}
		m.read = nil
	}
	return err
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		m, err := s.directory.ReadAt(p[n:], at)
		if !s.directory.contains(at) {
			if m, err = s.member(p[n:], at); m == 0 && err == nil {
				return n, io.EOF
			}
		}
		if n += m; err != nil && !errors.Is(err, io.EOF) {
			s.mu.Lock()
			*s.failed = err
			s.mu.Unlock()
			return n, err
		}
	}
	return n, nil
}

// member reads from the member at an offset of the sparse zip. It returns 0, nil if there is
// none.
func (s *sparse) member(p []byte, at int64) (int, error) {
	i, found := slices.BinarySearchFunc(s.spans, at, func(m *span, at int64) int {
		return cmp.Compare(m.at, at)
	})
	if !found {
		i--
	}
	if i < 0 || at >= s.spans[i].at+s.spans[i].length {
		return 0, nil
	}
	m := s.spans[i]
	at -= m.at
	p = p[:min(int64(len(p)), m.length-at)]
	if m.copyOf == nil {
		return s.read(m.source, p, m.from+at)
	}
	if at < int64(len(m.header)) {
		return copy(p, m.header[at:]), nil
	}
	of := m.copyOf
	local := make([]byte, localSize)
	for n := 0; n < len(local); {
		got, err := s.read(of.source, local[n:], of.from+int64(n))
		if err != nil {
			return 0, err
		}
		n += got
	}
	variable := int64(binary.LittleEndian.Uint16(local[26:])) +
		int64(binary.LittleEndian.Uint16(local[28:]))
	return s.read(of.source, p, of.from+localSize+variable+at-int64(len(m.header)))
}

// read reads bytes at an offset of the wheel, which it downloads if it is the first to read them.
func (s *sparse) read(from *source, p []byte, off int64) (int, error) {
	from.mu.Lock()
	defer from.mu.Unlock()
	i, _ := slices.BinarySearchFunc(from.read, off, func(w window, off int64) int {
		if w.at+w.size <= off {
			return -1
		}
		return 1
	})
	if i == len(from.read) || !from.read[i].contains(off) {
		at, end := from.from, from.end
		if from.large && s.parts {
			at, end = from.next(i, off, off+int64(len(p)))
		}
		if s.left != nil && s.left.Add(at-end) < 0 {
			return 0, &unpack.SourceError{Err: ErrLimit}
		}
		w, err := s.i.fetch(s.ctx, s.f, at, end, s.size)
		if err != nil {
			return 0, &unpack.SourceError{Err: err}
		}
		from.read = slices.Insert(from.read, i, w)
	}
	return from.read[i].ReadAt(p, off)
}

// next returns what to download of a large member before the window i, so that bytes from off to
// end can be read: an eighth of what was read directly before, because the next bytes are probably
// read too. Whoever knows that reads them at once.
func (f *source) next(i int, off, end int64) (from, to int64) {
	before := int64(0)
	for n, at := i-1, off; n >= 0 && f.read[n].at+f.read[n].size == at; n-- {
		before += f.read[n].size
		at = f.read[n].at
	}
	to = max(end, off+min(max(before/8, leastPart), mostPart))
	if i < len(f.read) {
		to = min(to, f.read[i].at)
	}
	return off, min(to, f.end)
}
