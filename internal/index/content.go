package index

import (
	"cmp"
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

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	firstWindow = 128 << 10 // bytes; contains the directory of most wheels
	lastWindow  = 8 << 20
)

// content is the content of a wheel: a temporary file, or ranges that are requested when needed.
type content struct {
	io.ReaderAt
	size  int64
	tail  *window // the end of the wheel; nil = not read by ranges
	err   error   // why a range could not be read, which the zip reader does not report
	close func() error
	// sparse is the zip of some members that it is; nil if it has the whole wheel or is in memory.
	sparse *sparse
	// partial means that it has large members, of which only what is read is downloaded.
	partial bool
}

// ErrLimit is the error of reading more than Wheel.Charge allows.
var ErrLimit = errors.New("the limit for all wheels together was reached")

// cause returns the error of a range request if there was one, or else err.
func (c *content) cause(err error) error { return cmp.Or(c.err, err) }

func (c *content) Close() error { return c.close() }

// openWheel opens a wheel to be read by ranges. It downloads the whole wheel if it is small or
// the index does not support ranges.
func (i *Index) openWheel(ctx context.Context, f file) (*content, error) {
	if f.size > 0 && f.size <= firstWindow {
		return i.download(ctx, f, i.whole)
	}
	// The end contains the directory, and the response contains the size.
	resp, err := i.do(
		ctx,
		request{
			url: f.url,
			header: map[string]string{
				"Range":           fmt.Sprintf("bytes=-%d", firstWindow),
				"Accept-Encoding": "identity",
			},
		},
	)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	start, size, ok := contentRange(resp.Header.Get("Content-Range"))
	if resp.StatusCode != http.StatusPartialContent || !ok {
		if resp.ContentLength <= i.whole {
			resp.Body.Close()
			c, err := i.download(ctx, f, i.whole)
			if !errors.Is(err, errLarge) {
				return c, err
			}
		}
		return nil, i.errorf(
			packages.ErrUnavailable,
			"%s has more than %d MB, and %s does not support range requests",
			unpack.Safe(f.name),
			i.whole>>20,
			f.url.Host,
		)
	}
	tail, err := io.ReadAll(io.LimitReader(resp.Body, firstWindow))
	if err != nil || start+int64(len(tail)) != size {
		return nil, i.errorf(packages.ErrUnavailable, "%s ended in the middle of a range", f.url.Host)
	}
	sum := sha256.Sum256(tail)
	if found := hex.EncodeToString(sum[:]); start == 0 && f.sha256 != "" && found != f.sha256 {
		return nil, i.digestError(f, size, found)
	}
	end := inBytes(start, tail)
	if start == 0 {
		return &content{ReaderAt: end, size: size, close: end.close}, nil
	}
	c := &content{size: size, tail: &end}
	r := &rangeReader{i: i, ctx: ctx, f: f, size: size, tail: end, failed: &c.err}
	c.ReaderAt, c.close = r, func() error { return r.last.close() }
	return c, nil
}

// digestError is the error for a file with another digest than that on the page or in the lock
// file.
func (i *Index) digestError(f file, n int64, found string) error {
	if f.locked {
		return &packages.HashError{
			Name: f.project, Version: f.version.String(), File: f.name, SHA256: found,
		}
	}
	return i.errorf(packages.ErrUnavailable, "%s", mismatch(f, n))
}

func mismatch(f file, n int64) string {
	return fmt.Sprintf("the %d bytes of %s do not match its digest on the page", n,
		unpack.Safe(f.name))
}

var errLarge = errors.New("larger than the limit")

// download downloads a wheel of at most limit bytes to a temporary file and verifies the digest on
// the page. It retries interrupted downloads. Of a larger wheel the error is errLarge.
func (i *Index) download(ctx context.Context, f file, limit int64) (*content, error) {
	for try := 1; ; try++ {
		c, err := i.downloadOnce(ctx, f, limit)
		var broken *retryError
		switch {
		case err == nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.As(err, &broken):
			return nil, err
		case try >= attempts && broken.sha256 != "" && f.locked:
			return nil, i.digestError(f, 0, broken.sha256)
		case try >= attempts:
			return nil, i.errorf(packages.ErrUnavailable, "%s (attempts: %d)", broken.why, try)
		}
	}
}

func (i *Index) downloadOnce(ctx context.Context, f file, limit int64) (*content, error) {
	resp, err := i.do(
		ctx,
		request{url: f.url, header: map[string]string{"Accept-Encoding": "identity"}},
	)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.ContentLength > limit {
		return nil, errLarge
	}
	t, err := newTemp(i.tempDir)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(tempErrors{t}, sum), io.LimitReader(resp.Body, limit+1))
	var disk *tempError
	switch {
	case errors.As(err, &disk):
		err = fmt.Errorf("store %s: %w", unpack.Safe(f.name), disk.err)
	case err != nil:
		err = &retryError{
			why: fmt.Sprintf(
				"%s ended the response after %d bytes of %s: %v",
				f.url.Host,
				n,
				unpack.Safe(f.name),
				err,
			),
		}
	case n > limit:
		err = errLarge
	case f.sha256 != "" && hex.EncodeToString(sum.Sum(nil)) != f.sha256:
		err = &retryError{why: mismatch(f, n), sha256: hex.EncodeToString(sum.Sum(nil))}
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return &content{ReaderAt: t, size: n, close: t.Close}, nil
}

// contentRange parses "bytes 100-199/1000".
func contentRange(s string) (start, size int64, ok bool) {
	rest, ok := strings.CutPrefix(s, "bytes ")
	span, total, ok2 := strings.Cut(rest, "/")
	first, _, ok3 := strings.Cut(span, "-")
	start, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	return start, size, ok && ok2 && ok3 && err1 == nil && err2 == nil && start >= 0 &&
		start <= size
}

// temp is an unlinked temporary file, so it disappears with the process.
type temp struct{ *os.File }

func newTemp(dir string) (*temp, error) {
	f, err := os.CreateTemp(dir, "compat-wheel-*")
	if err != nil {
		return nil, fmt.Errorf(
			"a temporary file for a wheel (set TMPDIR to a folder with space): %w",
			err,
		)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return &temp{f}, nil
}

// tempErrors marks errors of the disk, to distinguish them from those of the connection.
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
