package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/sleep"
)

// DownloadOptions limit and verify a download.
type DownloadOptions struct {
	Max int64 // bytes; 0 = no limit
	// Accept header of the first request; "" = GitHub's default. Assets need
	// "application/octet-stream"
	Accept string
	Digest string // expected digest "sha256:…"; "" = unknown. Other algorithms are ignored
	// minimum size in bytes; 0 = unknown. If Digest is set, Size only selects the error
	Size int64
}

// Permanent reasons why a download failed. They are wrapped in a *DownloadError.
var (
	ErrTooLarge  = errors.New("larger than the limit")
	ErrDigest    = errors.New("the digest does not match")
	ErrExpired   = errors.New("expired")
	ErrTruncated = errors.New("cut off")
	ErrRefused   = errors.New("the storage refuses access")
	ErrHost      = errors.New("a redirect leads to a host that is not GitHub's storage")
)

// DownloadError reports why a download failed permanently. Err is one of the errors above.
type DownloadError struct {
	Err error
	// bytes. ErrTruncated: received and expected (0 = unknown); ErrTooLarge: size (-1 = unknown)
	// and limit
	Got, Want int64
	GotSum    string // ErrDigest: "sha256:…"
	WantSum   string
	Status    int    // ErrRefused
	Host      string // ErrHost
}

func (e *DownloadError) Error() string {
	switch e.Err {
	case ErrDigest:
		return fmt.Sprintf("github: download: %v: got %s, want %s", e.Err, e.GotSum, e.WantSum)
	case ErrTooLarge:
		return fmt.Sprintf("github: download: %v of %d bytes", e.Err, e.Want)
	case ErrTruncated:
		return fmt.Sprintf("github: download: %v: %d bytes of %d", e.Err, e.Got, e.Want)
	case ErrRefused:
		return fmt.Sprintf("github: download: %v: %d", e.Err, e.Status)
	case ErrHost:
		return fmt.Sprintf("github: download: %v: %s", e.Err, brief(e.Host))
	}
	return fmt.Sprintf("github: download: %v", e.Err)
}

func (e *DownloadError) Unwrap() error { return e.Err }

func (e *DownloadError) class() ErrorClass {
	f := ErrorClass{Kind: Invalid, Reason: sentence(strings.TrimPrefix(e.Error(), "github: "))}
	switch {
	case e.Err == ErrExpired:
		f.Kind = Gone
	case e.Err == ErrRefused && e.Status == http.StatusNotFound:
		f.Kind = Missing
	case e.Err == ErrRefused:
		f.Kind = Forbidden
	}
	return f
}

// Rewinder is a destination that can be restarted, such as *os.File. A failed download to another
// destination can only be resumed, if the server supports ranges.
type Rewinder interface {
	io.Writer
	io.Seeker
	Truncate(size int64) error
}

// Download downloads an artifact, asset or log from an API address, which redirects to another
// host. It replaces go-github's downloads, which send the token after the redirect or change
// their shared client.
//
// Only requests to the API carry the token. After a connection error, 404 (GitHub may be late) or
// 5xx it retries, five tries in all, and resumes where that is safe. It returns the size and the
// SHA-256 in hex. Errors are *DownloadError for permanent failures, *LimitError, and others that
// Classify knows. No error contains a signed address.
func (c *Client) Download(
	ctx context.Context,
	address string,
	dst io.Writer,
	o DownloadOptions,
) (size int64, sum string, err error) {
	u, err := c.BaseURL.Parse(address)
	if err != nil || !c.api.contains(u) {
		return 0, "", fmt.Errorf("github: download: the address is outside of the API %s", c.api.rest)
	}
	d := &download{c: c, url: u, dst: dst, o: o, hash: sha256.New()}
	if alg, hex, ok := strings.Cut(strings.ToLower(o.Digest), ":"); ok && alg == "sha256" {
		d.want = hex
	}
	for try, short := 1, 0; ; try++ {
		err := d.once(ctx)
		if err == nil {
			return d.n, hex.EncodeToString(d.hash.Sum(nil)), nil
		}
		if ctx.Err() != nil {
			return 0, "", fmt.Errorf("github: download: %w", context.Cause(ctx))
		}
		var again *retryableError
		if !errors.As(err, &again) {
			return 0, "", err
		}
		if errors.Is(err, ErrTruncated) {
			short++
		}
		if try == downloadTries || short == shortTries {
			return 0, "", d.finalError(again)
		}
		c.api.log.DebugContext(ctx, "download interrupted",
			"try", try, "bytes", d.n, "because", again.Error())
		if sleep.For(ctx, c.api.wait(try)) != nil {
			return 0, "", fmt.Errorf("github: download: %w", context.Cause(ctx))
		}
	}
}

const (
	downloadTries = 5
	// tries that end without a connection error, but too early: retries seldom help, and each
	// costs a whole download
	shortTries = 3
)

type download struct {
	c    *Client
	url  *url.URL
	dst  io.Writer
	o    DownloadOptions
	want string // SHA-256 in hex; "" = unknown

	n      int64 // bytes in dst
	hash   hash.Hash
	etag   string
	pieces bool    // dst has bytes of more than one response
	ends   []int64 // sizes at which complete tries were truncated
	total  int64   // announced by the server; -1 = unknown
}

// retryableError is a failure that may not occur in another try.
type retryableError struct{ err error }

func (e *retryableError) Error() string { return e.err.Error() }
func (e *retryableError) Unwrap() error { return e.err }

func retryable(format string, args ...any) error {
	return &retryableError{fmt.Errorf(format,
		args...)}
}

// once makes one try: it follows redirects and copies the body.
func (d *download) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(d.c.api.idle, func() { cancel(errStalled) })
	defer idle.Stop()
	if d.n > 0 && d.want == "" && d.etag == "" { // nothing verifies that the parts belong together
		if err := d.restart(); err != nil {
			return err
		}
	}
	resp, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := d.start(resp); err != nil {
		return err
	}
	whole := d.n == 0
	if err := d.copy(resp.Body, func() { idle.Reset(d.c.api.idle) }); err != nil {
		if whole {
			d.ends = append(d.ends, d.n)
		}
		if cause := context.Cause(ctx); cause == errStalled {
			err = retryable("github: download: %w", cause)
		}
		return err
	}
	return d.check()
}

var errStalled = errors.New("the transfer stalled")

// start checks the status and prepares dst for the body.
func (d *download) start(resp *http.Response) error {
	d.total = resp.ContentLength
	switch code := resp.StatusCode; {
	case code == http.StatusPartialContent:
		var from, to, total int64
		if _, err := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to,
			&total); err != nil ||
			from != d.n {
			return d.restartAfter(retryable(
				"github: download: the storage returned a range that was not requested"))
		}
		d.total, d.pieces = total, true
	case code == http.StatusOK:
		if d.n > 0 {
			if err := d.restart(); err != nil {
				return err
			}
		}
	case code == http.StatusRequestedRangeNotSatisfiable && d.n > 0:
		return d.restartAfter(retryable("github: download: the storage rejected the requested range"))
	case code == http.StatusGone:
		return &DownloadError{Err: ErrExpired}
	case code == http.StatusNotFound,
		code == http.StatusForbidden: // too early, or the link has expired
		return &retryableError{&DownloadError{Err: ErrRefused, Status: code}}
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return retryable("github: download: the storage answered %d", code)
	default:
		return &DownloadError{Err: ErrRefused, Status: code}
	}
	if d.o.Max > 0 && d.total > d.o.Max {
		return &DownloadError{Err: ErrTooLarge, Got: d.total, Want: d.o.Max}
	}
	if resp.StatusCode == http.StatusOK {
		d.etag = ""
		if tag := resp.Header.Get("ETag"); strings.HasPrefix(
			tag,
			`"`,
		) { // a weak ETag does not identify bytes
			d.etag = tag
		}
	}
	return nil
}

// copy copies the body to dst, at most Max bytes in total.
func (d *download) copy(body io.Reader, alive func()) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		alive()
		if d.o.Max > 0 && d.n+int64(n) > d.o.Max {
			return &DownloadError{Err: ErrTooLarge, Got: -1, Want: d.o.Max}
		}
		if n > 0 {
			w, err := d.dst.Write(buf[:n])
			d.hash.Write(buf[:w])
			d.n += int64(w)
			if err != nil {
				return fmt.Errorf("github: download: write: %w", err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return retryable("github: download: the connection broke after %d bytes: %w", d.n, bare(err))
		}
	}
}

// check verifies a body that was received without error.
func (d *download) check() error {
	switch got := hex.EncodeToString(d.hash.Sum(nil)); {
	case d.want != "" && got == d.want:
		return nil
	case d.n < d.o.Size || d.n < d.total:
		err := &DownloadError{Err: ErrTruncated, Got: d.n, Want: max(d.o.Size, d.total)}
		return d.restartAfter(&retryableError{err})
	case d.want == "":
		return nil
	case d.pieces:
		return d.restartAfter(retryable("github: download: the downloaded ranges are not contiguous"))
	default:
		return &DownloadError{Err: ErrDigest, GotSum: "sha256:" + got, WantSum: "sha256:" + d.want}
	}
}

// restart empties dst.
func (d *download) restart() error {
	if d.n > 0 {
		r, ok := d.dst.(Rewinder)
		if !ok {
			return fmt.Errorf(
				"github: download: the connection broke after %d bytes, and %T can't be rewound",
				d.n,
				d.dst,
			)
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("github: download: discard what was read: %w", err)
		}
		if err := r.Truncate(0); err != nil {
			return fmt.Errorf("github: download: discard what was read: %w", err)
		}
	}
	d.n, d.etag, d.pieces = 0, "", false
	d.hash.Reset()
	return nil
}

// restartAfter empties dst and returns err.
func (d *download) restartAfter(err error) error {
	if e := d.restart(); e != nil {
		return e
	}
	return err
}

// finalError returns the error after the last try. A body that always ends at the same place is
// truncated at its source, not by the network.
func (d *download) finalError(last *retryableError) error {
	if len(d.ends) == downloadTries && d.ends[0] > 0 {
		same := true
		for _, n := range d.ends {
			same = same && n == d.ends[0]
		}
		if same {
			return &DownloadError{
				Err:  ErrTruncated,
				Got:  d.ends[0],
				Want: max(d.o.Size, d.total, 0),
			}
		}
	}
	var resp *gh.ErrorResponse
	if errors.As(last.err, &resp) {
		return fmt.Errorf("github: download: %w", last.err)
	}
	return last.err
}
