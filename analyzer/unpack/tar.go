package unpack

import (
	"archive/tar"
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// tar walks a tar as a stream. A name that comes again is visited each time and listed in Duplicates: which one counts is only known
// at the end, and nobody should have to read a stream twice for it.
func (w *walker) tar(pkg *Package, f format, r io.ReaderAt, size int64, depth int) error {
	stream, done, err := w.decompress(f, io.NewSectionReader(r, 0, size))
	if err != nil {
		w.problem(pkg.Path, "%s", reason(err))
		return nil
	}
	defer done()
	tr := tar.NewReader(stream)
	seen := map[string]bool{}
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return w.fate(pkg.Path, err)
		}
		if w.budget.entries <= 0 {
			w.problem(pkg.Path, "it takes the number of entries over the limit of %d; those behind it were not read", w.budget.limits.Entries)
			return nil
		}
		w.budget.entries--
		pkg.Entries++
		shown, odd := member(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir && (odd == "" || h.Name == "./" || h.Name == "."):
			continue
		case odd != "":
			w.problem(pkg.Path+"/"+shown, "%s", odd)
			continue
		case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse:
			continue // links, devices and the like: never followed
		}
		if seen[shown] && len(pkg.Duplicates) < maxDuplicates {
			pkg.Duplicates = append(pkg.Duplicates, shown)
		}
		seen[shown] = true
		m := &entry{path: shown, size: h.Size, open: func() (io.Reader, error) { return tr, nil }}
		if err := w.member(pkg, m, depth); err != nil {
			return err
		}
	}
	// What stands behind the last member has to be whole as well: the checksum of gzip and zstd is there.
	if f != formatTar {
		if err := w.pump(stream, nil); err != nil {
			return w.fate(pkg.Path, err)
		}
	}
	if pkg.Entries == 0 {
		w.problem(pkg.Path, "the archive holds no files")
	}
	return nil
}

// decompress gives the tar in a compressed one; what it inflates counts against the limits, read or skipped.
func (w *walker) decompress(f format, packed io.Reader) (io.Reader, func(), error) {
	m := &meter{b: &w.budget, packed: new(int64), whole: true}
	in := bufio.NewReaderSize(counted{packed, m.packed}, 64<<10)
	nothing := func() {}
	switch f {
	case formatTarGzip:
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return metered{z, m}, nothing, nil
	case formatTarBzip2:
		return metered{bzip2.NewReader(in), m}, nothing, nil
	case formatTarZstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return metered{z, m}, z.Close, nil
	}
	return in, nothing, nil
}
