package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

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

// sparse returns a zip with some members of a wheel. Each member is downloaded by one range
// request when it is first read. tail is the end of the wheel, if it was downloaded already, or
// nil. most limits the bytes of the members.
func (i *Index) sparse(
	ctx context.Context,
	f file,
	size int64,
	members []unpack.Member,
	tail *window,
	most int64,
) (*content, error) {
	s := &sparse{i: i, ctx: ctx, f: f, size: size, tail: tail}
	var lengths []int64
	all := int64(0)
	for _, m := range members {
		n := min(m.Packed+int64(len(m.Name))+30+slack, size-m.Offset)
		s.spans = append(s.spans, &span{at: all, from: m.Offset, length: n})
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
	directory := unpack.Sparse(members, lengths)
	s.directory = inBytes(all, directory)
	c := &content{ReaderAt: s, size: all + int64(len(directory)), close: s.close}
	s.failed = &c.err
	return c, nil
}

// span is the position of a member in the sparse zip (at) and in the wheel (from).
type span struct {
	at, from, length int64
	mu               sync.Mutex // held during the download
	read             window     // the member, once it was read
}

// sparse may be read by several goroutines, as package unpack reads members.
type sparse struct {
	i         *Index
	ctx       context.Context
	f         file
	size      int64 // of the wheel
	tail      *window
	spans     []*span
	directory window
	mu        sync.Mutex // for failed
	failed    *error
}

func (s *sparse) close() error {
	var err error
	for _, m := range s.spans {
		err = errors.Join(err, m.read.close())
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
	for _, m := range s.spans {
		if at < m.at || at >= m.at+m.length {
			continue
		}
		from := m.from + at - m.at
		p = p[:min(int64(len(p)), m.length-(at-m.at))]
		if s.tail != nil && s.tail.at <= m.from {
			return s.tail.ReadAt(p, from)
		}
		w, err := s.download(m)
		if err != nil {
			return 0, err
		}
		return w.ReadAt(p, from)
	}
	return 0, nil
}

// download returns a member, which it downloads if it is the first to read it.
func (s *sparse) download(m *span) (window, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read.data != nil {
		return m.read, nil
	}
	var err error
	m.read, err = s.i.fetch(s.ctx, s.f, m.from, m.from+m.length, s.size)
	return m.read, err
}
