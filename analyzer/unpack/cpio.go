package unpack

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
)

// The "new ASCII" cpio format of an rpm: headers of 110 hexadecimal characters, names and
// contents padded to four bytes (cpio(5)).
const (
	cpioHeader  = 110
	cpioTrailer = "TRAILER!!!"
)

// cpio walks a cpio archive as a stream.
func (w *walker) cpio(pkg *Package, stream io.Reader, depth int) error {
	fixed := make([]byte, cpioHeader)
	broken := func(format string, args ...any) error {
		w.problem(pkg.Path, "the file is truncated or damaged: its cpio "+format, args...)
		return nil
	}
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(stream, fixed); err != nil {
			return w.fileError(pkg.Path, early(err))
		}
		if string(fixed[:5]) == "07070" && fixed[5] == 'X' {
			w.problem(
				pkg.Path,
				"it contains files of more than 4 GiB in an extended cpio format that compat does not read",
			)
			return nil
		}
		if magic := string(fixed[:6]); magic != "070701" && magic != "070702" {
			return broken("has a header with a wrong magic number")
		}
		var field [13]uint32
		for i := range field {
			var b [4]byte
			if _, err := hex.Decode(b[:], fixed[6+8*i:14+8*i]); err != nil {
				return broken("has a header field that is not a number")
			}
			field[i] = binary.BigEndian.Uint32(b[:])
		}
		mode, size, names := field[1], int64(field[6]), int64(field[11])
		if names == 0 || names > maxName+1 {
			return broken("has a name of %d bytes", names)
		}
		name := make([]byte, names+pad4(cpioHeader+names))
		if _, err := io.ReadFull(stream, name); err != nil {
			return w.fileError(pkg.Path, early(err))
		}
		if string(name[:names-1]) == cpioTrailer {
			return w.drain(pkg, stream)
		}
		if !w.entry(pkg) {
			return nil
		}
		body := &io.LimitedReader{R: stream, N: size}
		if mode&modeType == modeRegular &&
			size > 0 { // of files with several names, all but the last are empty
			shown, odd := member(string(name[:names-1]))
			if odd != "" && string(name[:1]) == "/" {
				shown, odd = member(string(name[1 : names-1])) // names in an rpm start with / or .
			}
			if odd != "" {
				w.problem(pkg.Path+"/"+shown, "%s", odd)
			} else if err := w.member(pkg, &entry{path: shown, size: size, metered: true,
				open: func(*inflater) (io.Reader, error) {
					return whole{body}, nil
				}}, depth); err != nil {
				return err
			}
		}
		if _, err := io.CopyBuffer(io.Discard, onlyReader{body}, w.own.buf); err != nil ||
			body.N > 0 {
			return w.fileError(pkg.Path, early(err))
		}
		if _, err := io.ReadFull(stream, fixed[:pad4(size)]); err != nil {
			return w.fileError(pkg.Path, early(err))
		}
	}
}

// drain reads the data after the last member, to verify the checksum of the compression.
func (w *walker) drain(pkg *Package, stream io.Reader) error {
	if err := w.pump(stream, nil, w.own.buf); err != nil {
		return w.fileError(pkg.Path, err)
	}
	return nil
}

// pad4 returns the padding to a multiple of four.
func pad4(n int64) int64 { return -n & 3 }

// early turns the end of a stream into an error, because more data was expected.
func early(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// whole is content of known length: an earlier end is an error.
type whole struct{ r *io.LimitedReader }

func (w whole) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err == io.EOF && w.r.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// onlyReader hides other methods of a reader, so that io.CopyBuffer uses its buffer.
type onlyReader struct{ io.Reader }
