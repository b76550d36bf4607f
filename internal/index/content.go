package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/stack"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	firstWindow = 128 << 10 // holds the directory of most wheels
	lastWindow  = 8 << 20
	maxFar      = 512 << 20 // read of one wheel by ranges in all
)

// content is a wheel's bytes: a temporary file, or ranges asked for as they are needed.
type content struct {
	io.ReaderAt
	size int64
	far  bool  // by ranges
	err  error // why a range could not be had; the walk only sees that reading failed
	file *temp
}

func (c *content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// openWheel fetches a wheel whole, or opens it for ranges where it is large or only its metadata is wanted.
func (i *Index) openWheel(ctx context.Context, f file, whole bool) (*content, error) {
	if whole && f.size <= i.whole {
		c, err := i.download(ctx, f)
		if !errors.Is(err, errLarge) {
			return c, err
		}
	}
	r := &ranges{i: i, ctx: ctx, f: f}
	// The end first: the directory is there, and the answer tells the size.
	resp, err := i.do(ctx, request{url: f.url, header: map[string]string{"Range": fmt.Sprintf("bytes=-%d", firstWindow), "Accept-Encoding": "identity"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	start, size, ok := contentRange(resp.Header.Get("Content-Range"))
	if resp.StatusCode != http.StatusPartialContent || !ok {
		if resp.ContentLength >= 0 && resp.ContentLength <= i.whole {
			return i.download(ctx, f)
		}
		return nil, i.errorf(stack.ErrUnavailable, "%s has more than %d MB, and %s sends no ranges of it", unpack.Safe(f.name), i.whole>>20, f.url.Host)
	}
	tail, err := io.ReadAll(io.LimitReader(resp.Body, firstWindow))
	if err != nil || start+int64(len(tail)) != size {
		return nil, i.errorf(stack.ErrUnavailable, "%s breaks off in the middle of a range", f.url.Host)
	}
	r.tail, r.size, r.step = window{start, tail}, size, firstWindow
	c := &content{ReaderAt: r, size: size, far: true}
	r.fail = func(err error) { c.err = err }
	return c, nil
}

var errLarge = errors.New("larger than the limit")

// download fetches a wheel to a temporary file and compares its digest with the page's. A body that breaks off is asked for again.
func (i *Index) download(ctx context.Context, f file) (*content, error) {
	for try := 1; ; try++ {
		c, err := i.downloadOnce(ctx, f)
		var broken *retryError
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.As(err, &broken):
			return nil, err
		case try >= attempts:
			return nil, i.errorf(stack.ErrUnavailable, "%s (asked %d times)", broken.why, try)
		}
	}
}

func (i *Index) downloadOnce(ctx context.Context, f file) (*content, error) {
	resp, err := i.do(ctx, request{url: f.url, header: map[string]string{"Accept-Encoding": "identity"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.ContentLength > i.whole {
		return nil, errLarge
	}
	t, err := newTemp(i.tempDir)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(tempErrors{t}, sum), io.LimitReader(resp.Body, i.whole+1))
	var disk *tempError
	switch {
	case errors.As(err, &disk):
		err = fmt.Errorf("room for %s: %w", unpack.Safe(f.name), disk.err)
	case err != nil:
		err = &retryError{why: fmt.Sprintf("%s breaks off after %d bytes of %s: %v", f.url.Host, n, unpack.Safe(f.name), err)}
	case n > i.whole:
		err = errLarge
	case f.sha256 != "" && hex.EncodeToString(sum.Sum(nil)) != f.sha256:
		err = &retryError{why: fmt.Sprintf("the %d bytes of %s are not what its digest on the page says", n, unpack.Safe(f.name))}
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return &content{ReaderAt: t, size: n, file: t}, nil
}

// contentRange reads "bytes 100-199/1000".
func contentRange(s string) (start, size int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(rest, "/")
	first, _, ok3 := strings.Cut(span, "-")
	start, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	return start, size, ok && ok2 && ok3 && err1 == nil && err2 == nil && start >= 0 && start <= size
}

// window is a part of a file.
type window struct {
	at   int64
	data []byte
}

func (w window) read(p []byte, off int64) (int, bool) {
	if off < w.at || off >= w.at+int64(len(w.data)) {
		return 0, false
	}
	return copy(p, w.data[off-w.at:]), true
}

// ranges reads a file by ranges: the end is kept, and one window elsewhere that grows while reading goes on behind it. It serves one reader
// at a time.
type ranges struct {
	i    *Index
	ctx  context.Context
	f    file
	size int64
	tail window
	last window
	step int64
	read int64
	fail func(error)
}

func (r *ranges) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size {
			return n, io.EOF
		}
		m, ok := r.tail.read(p[n:], at)
		if !ok {
			m, ok = r.last.read(p[n:], at)
		}
		if !ok {
			if err := r.fetch(at); err != nil {
				r.fail(err)
				return n, err
			}
			continue
		}
		n += m
	}
	return n, nil
}

func (r *ranges) fetch(at int64) error {
	if at == r.last.at+int64(len(r.last.data)) {
		r.step = min(2*r.step, lastWindow)
	} else {
		r.step = firstWindow
	}
	end := min(at+r.step, r.size)
	if r.tail.at > at {
		end = min(end, r.tail.at)
	}
	if r.read += end - at; r.read > maxFar {
		return r.i.errorf(stack.ErrUnavailable, "%s: more than %d MB would have to be read of it by ranges", unpack.Safe(r.f.name), maxFar>>20)
	}
	resp, err := r.i.do(r.ctx, request{url: r.f.url, header: map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", at, end-1), "Accept-Encoding": "identity"}})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	start, size, ok := contentRange(resp.Header.Get("Content-Range"))
	if resp.StatusCode != http.StatusPartialContent || !ok || start != at || size != r.size {
		return r.i.errorf(stack.ErrUnavailable, "%s answers another range than was asked for", r.f.url.Host)
	}
	data := make([]byte, end-at)
	if _, err := io.ReadFull(resp.Body, data); err != nil {
		return r.i.errorf(stack.ErrUnavailable, "%s breaks off in the middle of a range: %v", r.f.url.Host, err)
	}
	r.last = window{at, data}
	return nil
}

// temp is a temporary file that has lost its name already, so that nothing is left behind.
type temp struct{ *os.File }

func newTemp(dir string) (*temp, error) {
	f, err := os.CreateTemp(dir, "compat-wheel-*")
	if err != nil {
		return nil, fmt.Errorf("a temporary file for a wheel (set TMPDIR to a folder with space): %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &temp{f}, nil
}

// tempErrors tells errors of the disk from those of the connection.
type tempErrors struct{ w io.Writer }

type tempError struct{ err error }

func (e *tempError) Error() string { return e.err.Error() }

func (t tempErrors) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil {
		err = &tempError{err}
	}
	return n, err
}
