package unpack

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"
)

// tar walks a tar as a stream. under is prepended to the names ("DEBIAN/"). A name that occurs
// several times is visited each time and listed in Duplicates: the last one is known only at
// the end, and reading a stream twice would be too slow.
func (w *walker) tar(pkg *Package, under string, r io.ReaderAt, size int64, depth int) error {
	return w.tarOf(
		&tarWalk{walker: w, pkg: pkg, under: under, depth: depth},
		io.NewSectionReader(r, 0, size),
	)
}

func (w *walker) tarOf(t *tarWalk, whole *io.SectionReader) error {
	stream, done, err := w.decompress(whole)
	if err != nil {
		return w.fileError(t.pkg.Path, err)
	}
	defer done()
	t.packed, t.raw, t.seen = stream != io.Reader(whole), whole, map[string]bool{}
	if err := t.walk(tar.NewReader(stream)); err != nil || t.cut {
		return err
	}
	// Read the data after the last member too, to verify the checksum of gzip, xz and zstd.
	if t.packed {
		if err := w.pump(stream, nil, w.own.buf); err != nil {
			return w.fileError(t.pkg.Path, err)
		}
	}
	if t.entries == 0 && t.over == nil {
		w.problem(t.pkg.Path, "the archive contains no files")
	}
	return nil
}

// tarWalk is the state of walking one tar.
type tarWalk struct {
	*walker
	pkg     *Package
	under   string
	depth   int
	seen    map[string]bool
	entries int
	cut     bool // nothing after this can be read; a Problem reports the reason
	packed  bool
	raw     *io.SectionReader // the tar itself if it is not compressed
	hidden  tree              // in a layer: paths that higher layers hide
	// In a layer of an image: paths that higher layers hide.
	over tree
}

func (t *tarWalk) walk(tr *tar.Reader) error {
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			t.cut = true
			return t.fileError(t.pkg.Path, err)
		}
		if !t.entry(t.pkg) {
			t.cut = true
			return nil
		}
		t.entries++
		if err := t.file(h, tr); err != nil {
			return err
		}
	}
}

// entry counts a member. It returns false and reports a Problem if the limit is exceeded.
func (w *walker) entry(pkg *Package) bool {
	if w.budget.entries <= 0 {
		w.problem(
			pkg.Path,
			"it exceeds the limit of %d entries; the rest was not read",
			w.budget.limits.Entries,
		)
		return false
	}
	w.budget.entries--
	pkg.Entries++
	return true
}

func (t *tarWalk) file(h *tar.Header, tr *tar.Reader) error {
	shown, odd := member(h.Name)
	switch {
	case h.Typeflag == tar.TypeDir && (odd == "" || h.Name == "./" || h.Name == "."):
		return nil
	case odd != "":
		t.problem(t.pkg.Path+"/"+shown, "%s", odd)
		return nil
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse:
		if t.over != nil && (t.over.add(shown) || t.hidden.hides(shown)) {
			return nil
		}
		if t.o.Link != nil {
			if to := linked(shown, h); to != "" {
				t.o.Link(t.pkg, t.under+shown, t.under+to)
			}
		}
		return nil // links, devices and others are never followed
	}
	if t.over != nil && (t.over.add(shown) || t.hidden.hides(shown)) {
		return nil
	}
	shown = t.under + shown
	if t.entries == 1 && t.pkg.Format == FormatTar && t.packed && t.over == nil &&
		strings.HasPrefix(shown, "package/") {
		t.pkg.Format = FormatNPM // npm packs its files in a folder "package"
	}
	if t.seen[shown] && len(t.pkg.Duplicates) < maxDuplicates {
		t.pkg.Duplicates = append(t.pkg.Duplicates, shown)
	}
	t.seen[shown] = true
	e := &entry{
		path:    shown,
		size:    h.Size,
		metered: t.packed,
		open:    func(*inflater) (io.Reader, error) { return tr, nil },
	}
	if !t.packed && !sparse(h) {
		if at, err := t.raw.Seek(0, io.SeekCurrent); err == nil && h.Size <= t.raw.Size()-at {
			e.stored = io.NewSectionReader(t.raw, at, h.Size)
		}
	}
	return t.member(t.pkg, e, t.depth)
}

// linked returns the path in the archive that the link at a path leads to, or "". An absolute path
// is one of the system in which the archive is unpacked.
func linked(at string, h *tar.Header) string {
	to := h.Linkname
	if h.Typeflag == tar.TypeSymlink && !path.IsAbs(to) {
		to = path.Join(path.Dir(at), to) //nolint:gosec // a name in the archive, which opens nothing
	} else if h.Typeflag != tar.TypeSymlink && h.Typeflag != tar.TypeLink {
		return ""
	}
	shown, odd := member(strings.TrimPrefix(to, "/"))
	if odd != "" {
		return ""
	}
	return shown
}

// sparse reports whether a file has holes, so that its content is not contiguous in the tar.
func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}
