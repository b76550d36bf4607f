package unpack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"strings"
)

// walker is the state of one Walk.
type walker struct {
	ctx      context.Context
	o        Options
	visit    func(*File) error
	budget   budget
	packages []*Package
	problems []Problem
	dropped  int // number of problems beyond maxProblems
	own      *inflater
	line     line
}

// entry is a regular file of an archive.
type entry struct {
	path string
	size int64 // declared size, -1 if unknown
	// declared compressed size; 0 if the member is not compressed separately
	packed int64
	// compressed bytes read so far; nil if the member is not compressed separately
	taken *int64
	// it can be read concurrently with others, because it is stored separately
	alone bool
	crc   uint32 // its declared checksum, if it is one of a zip archive
	// its bytes are counted while reading the surrounding stream
	metered bool
	// Returns the content, or the reason why it cannot be read.
	open func(*inflater) (io.Reader, error)
	// the content itself if it is not compressed, otherwise nil
	stored io.ReaderAt
	// the compressed content of a deflated member of a zip, otherwise nil
	deflated io.ReaderAt
	// Called after everything was read; nil if there is no checksum.
	verify func(size int64, crc uint32) error
}

func newWalker(ctx context.Context, o Options, visit func(*File) error) *walker {
	l := o.Limits.withDefaults()
	w := &walker{
		ctx:    ctx,
		o:      o,
		visit:  visit,
		budget: budget{limits: l, entries: l.Entries, bytes: l.Bytes},
		own:    newInflater(),
	}
	w.line.start(o.Workers)
	return w
}

// problem reports a Problem, in the order in which files were started.
func (w *walker) problem(path, format string, args ...any) {
	p := Problem{Path: path, Reason: Safe(fmt.Sprintf(format, args...))}
	if len(w.line.waiting) > 0 {
		w.line.put(outcome{path: p.Path, problem: p.Reason})
		return
	}
	w.addProblem(p)
}

func (w *walker) addProblem(p Problem) {
	if len(w.problems) >= maxProblems {
		w.dropped++
		return
	}
	w.problems = append(w.problems, p)
}

func (w *walker) allProblems() []Problem {
	if w.dropped > 0 {
		return append(
			w.problems,
			Problem{
				Path:   w.packages[0].Path,
				Reason: fmt.Sprintf("%d more files could not be read completely", w.dropped),
			},
		)
	}
	return w.problems
}

// file walks the file that was passed to Walk.
func (w *walker) file(name string, r io.ReaderAt, size int64) error {
	path := Safe(name)
	if size <= 0 {
		w.problem(path, "the file is empty")
		return nil
	}
	format, head, err := sniffed(name, r, size)
	if err != nil {
		w.problem(path, "the file cannot be read: %v", err)
		return nil
	}
	if why := format.unreadable(); why != "" {
		w.problem(path, "%s", why)
		return nil
	}
	kind := KindArchive
	switch {
	case format == formatNone && !w.want(
		&Package{Path: path, Kind: KindObject, Size: size},
		path,
		size,
		head[:min(len(head), headSize)],
	):
		w.problem(path, "not a wheel, package, archive or binary that compat can read")
		return nil
	case format == formatNone:
		kind = KindObject
	case isWheel(name):
		kind = KindWheel
	}
	pkg := &Package{
		Path:   path,
		Kind:   kind,
		Format: layout(format, name),
		Size:   size,
		SHA256: w.o.SHA256,
	}
	if !w.o.NoDigest && pkg.SHA256 == "" {
		sum := sha256.New()
		if err := w.pump(io.NewSectionReader(r, 0, size), nil, w.own.buf, sum); err != nil {
			if w.ctx.Err() != nil {
				return w.ctx.Err()
			}
			w.problem(path, "the file cannot be read: %v", err)
			return nil
		}
		pkg.SHA256 = hex.EncodeToString(sum.Sum(nil))
	}
	w.packages = append(w.packages, pkg)
	if kind == KindObject {
		f := &File{
			Package: pkg,
			Path:    path[strings.LastIndexByte(path, '/')+1:],
			Size:    size,
			Content: r,
		}
		w.prepare(f)
		return w.visit(f)
	}
	err = w.archive(pkg, format, r, size, 0)
	if err == nil {
		err = w.line.flush(w)
	}
	w.line.drop()
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// archive walks the members of a package. Like all functions that it calls, it returns an error
// only to end the walk.
func (w *walker) archive(pkg *Package, format format, r io.ReaderAt, size int64, depth int) error {
	switch format {
	case formatZip:
		return w.zip(pkg, r, size, depth)
	case formatDeb:
		return w.deb(pkg, r, size, depth)
	case formatRPM:
		return w.rpm(pkg, r, size, depth)
	}
	if w.isImage(r, size) {
		if done, err := w.image(pkg, r, size, format, depth); done || err != nil {
			return err
		}
	}
	return w.tar(pkg, "", r, size, depth)
}

func (w *walker) want(pkg *Package, path string, size int64, head []byte) bool {
	return w.o.Want == nil || w.o.Want(pkg, path, size, head)
}

func (w *walker) prepare(f *File) {
	if w.o.Prepare != nil {
		f.Prepared = w.o.Prepare(f)
	}
}

// member visits a regular file if it is wanted, or walks it if it is an archive.
func (w *walker) member(pkg *Package, e *entry, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.o.Skip != nil && w.o.Skip(e.path, e.size) {
		return nil
	}
	part := pkg.Format == FormatConda && condaPart(e.path)
	if part || pkg.nested(e.path) {
		if err := w.line.flush(w); err != nil {
			return err
		}
		return w.inner(pkg, e, depth, part)
	}
	if e.alone && w.o.Known != nil {
		if known := w.o.Known(pkg, e.path, e.size, e.crc); known != nil {
			f := &File{Package: pkg, Path: e.path, Size: e.size, CRC32: e.crc, Prepared: known}
			return w.line.run(w, 0, func(*inflater) outcome {
				return outcome{path: pkg.Path + "/" + e.path, file: f}
			})
		}
	}
	if e.alone {
		left := w.budget.bytes
		return w.line.run(w, e.size, func(in *inflater) outcome {
			first := asWhole
			switch {
			case w.o.Prepare == nil:
			case w.o.Partial:
				first = asPart
			case w.o.Skim != nil:
				first = asSkimmed
			}
			for as := first; ; as++ {
				mine := left
				out := w.finish(w.read(pkg, e, in, &mine, as))
				if out.missed {
					continue
				}
				out.inflated = left - mine
				return out
			}
		})
	}
	// The next file of a stream can only be read after this one, but Prepare can run meanwhile.
	out := w.read(pkg, e, w.own, &w.budget.bytes, asWhole)
	if out.file == nil {
		return w.handle(out)
	}
	return w.line.run(w, out.file.Size, func(*inflater) outcome { return w.finish(out) })
}

// How a member is read.
const (
	asPart    = iota // see Options.Partial
	asSkimmed        // without the ranges of Options.Skim
	asWhole
)

// read inflates a wanted file.
func (w *walker) read(pkg *Package, e *entry, in *inflater, left *int64, as int) outcome {
	out := outcome{path: pkg.Path + "/" + e.path}
	if e.taken != nil {
		*e.taken = 0
	}
	rd, err := e.open(in)
	var head []byte
	if err == nil {
		head, err = readHead(rd)
	}
	var known *memberError
	if !(errors.As(err, &known) && known.always) && !w.want(pkg, e.path, e.size, head) {
		l := w.budget.limits
		if e.size > l.FileBytes && e.packed > 0 && e.size/e.packed >= l.Ratio {
			out.problem = fmt.Sprintf(
				"it declares %s, more than the limits of %s for one file and of %d times its compressed size",
				human(e.size),
				human(l.FileBytes),
				l.Ratio,
			)
		}
		return out
	}
	if err != nil {
		out.err = err
		return out
	}
	hashed := w.o.Digest != nil && w.o.Digest(pkg, e.size, head)
	rd = io.MultiReader(bytes.NewReader(head), rd)
	if as == asPart && !hashed {
		content, err := w.partially(e, rd, in, left)
		if err != nil {
			out.err = err
			return out
		}
		if content != nil {
			out.file = &File{
				Package: pkg, Path: e.path, Size: e.size, Content: content, CRC32: e.crc, Partial: true,
			}
			out.content = content
			w.sample(content, out.file)
			return out
		}
	}
	content, size, sum, err := w.inflateAll(
		e, rd, in, left, hashed, as < asWhole && w.o.Skim != nil)
	if err != nil {
		out.err = err
		return out
	}
	out.file = &File{
		Package: pkg, Path: e.path, Size: size, Content: content, SHA256: sum, CRC32: e.crc,
	}
	if s, ok := content.(*skimmed); ok {
		out.file.Skimmed = s.rest
	}
	out.content = content
	return out
}

// sample sets File.Sample of a member that is read partially, and its Locator.
func (w *walker) sample(content *partial, f *File) {
	if w.o.Skim == nil && w.o.Locate == nil {
		return
	}
	head := make([]byte, skimHead)
	n, err := content.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return // and so does the next read
	}
	if w.o.Locate != nil {
		content.locator = w.o.Locate(head[:n], content.size)
	}
	if w.o.Skim == nil {
		return
	}
	holes, rest := w.holes(head[:n], content.size)
	if len(holes) == 0 || rest == nil {
		return
	}
	f.Sample = func(to Sampler) { content.sample(holes, to) }
}

// finish calls Prepare and frees the content.
func (w *walker) finish(out outcome) outcome {
	if out.file != nil && w.o.Prepare != nil {
		w.prepare(out.file)
		switch c := out.content.(type) {
		case *skimmed:
			out.missed = c.missed
		case *partial:
			out.missed = c.missed
		}
		out.file.Content = nil
		out.content.Close()
		out.content = nil
	}
	return out
}

// inner walks a nested archive. If part is set, its members belong to the surrounding package.
func (w *walker) inner(pkg *Package, e *entry, depth int, part bool) error {
	full := pkg.Path + "/" + e.path
	rd, err := e.open(w.own)
	var head []byte
	if err == nil {
		head, err = readHead(rd)
	}
	if err != nil {
		return w.fileError(full, err)
	}
	if depth >= w.budget.limits.Depth {
		w.problem(full, "it exceeds the limit of %d nested archives", w.budget.limits.Depth)
		return nil
	}
	content, size, sum, err := w.inflateAll(
		e,
		io.MultiReader(bytes.NewReader(head), rd),
		w.own,
		&w.budget.bytes,
		!part,
		false,
	)
	if err != nil {
		return w.fileError(full, err)
	}
	defer content.Close()
	if part {
		err = w.tar(pkg, "", content, size, depth+1)
	} else {
		err = w.found(pkg, e.path, content, size, sum, depth)
	}
	if err == nil {
		err = w.line.flush(w) // before the content is freed
	}
	if err != nil {
		w.line.drop() // running jobs still read the content
	}
	return err
}

// found walks a package in a package.
func (w *walker) found(
	parent *Package,
	name string,
	content io.ReaderAt,
	size int64,
	sum string,
	depth int,
) error {
	full := parent.Path + "/" + name
	format, _, err := sniffed(name, content, size)
	if err != nil {
		return w.fileError(full, err)
	}
	if why := format.unreadable(); why != "" {
		w.problem(full, "%s", why)
		return nil
	}
	if format == formatNone {
		w.problem(full, "it is named like an archive, but is not one")
		return nil
	}
	inner := &Package{
		Path:   full,
		Kind:   KindArchive,
		Format: layout(format, name),
		SHA256: sum,
		Size:   size,
		Parent: parent,
	}
	if isWheel(name) {
		inner.Kind = KindWheel
	}
	w.packages = append(w.packages, inner)
	return w.archive(inner, format, content, size, depth+1)
}

// readHead returns the first bytes: fewer than headSize if the content is shorter, nil if it
// cannot be read.
func readHead(rd io.Reader) ([]byte, error) {
	head := make([]byte, headSize)
	n := 0
	for n < len(head) {
		m, err := rd.Read(head[n:])
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return head[:n], nil
}

// fileError reports an error of one file as a Problem, unless it ends the walk.
func (w *walker) fileError(path string, err error) error {
	end := w.ends(path, err)
	if end != nil {
		if !errors.Is(end, errStop) {
			return end
		}
		if err := w.line.flush(w); err != nil { // files that were started earlier precede the limit
			return err
		}
	}
	w.problem(path, "%s", reason(err))
	return end
}

// ends returns the error that ends the walk, or nil if the next file can be read.
func (w *walker) ends(path string, err error) error {
	if w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	var scratch *scratchError
	if errors.As(err, &scratch) {
		return fmt.Errorf("unpack %s: %w", path, scratch.err)
	}
	var limit *limitError
	if errors.As(err, &limit) && limit.all {
		return errStop
	}
	return nil
}

// reason returns the sentence for an error of reading a member.
func reason(err error) string {
	var known *memberError
	var limit *limitError
	var source *SourceError
	switch {
	case errors.As(err, &source):
		return source.Error()
	case errors.As(err, &known):
		return known.text
	case errors.As(err, &limit):
		return limit.text
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the file is truncated or damaged: its data ends too early"
	}
	return "the file is truncated or damaged: " + err.Error()
}

// SourceError is an error of the io.ReaderAt that is not due to the archive.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// memberError is an error whose text is a complete sentence.
type memberError struct {
	text string
	// Report it even if the file is not wanted, because no archiver writes such a member.
	always bool
}

func (e *memberError) Error() string { return e.text }

// scratchError is an error of the caller's Scratch, not of the archive.
type scratchError struct{ err error }

func (e *scratchError) Error() string { return e.err.Error() }

// inflateAll inflates a member completely into a Scratch, and verifies it. sum is "" unless it
// was hashed. If skim is set, the ranges of Options.Skim are not stored.
func (w *walker) inflateAll(
	e *entry,
	rd io.Reader,
	in *inflater,
	left *int64,
	hashed, skim bool,
) (content Scratch, size int64, sum string, err error) {
	limits := w.budget.limits
	if e.size > limits.FileBytes {
		return nil, 0, "", &limitError{
			text: fmt.Sprintf(
				"it declares %s, more than the limit of %s for one file",
				human(e.size),
				human(limits.FileBytes),
			),
		}
	}
	m := &meter{limits: limits, left: left, packed: e.taken}
	if e.metered {
		m.left = &[]int64{math.MaxInt64}[0]
	}
	rd = metered{rd, m}
	var sink io.Writer
	if e.stored != nil {
		content = inPlace{e.stored}
	} else {
		if content, err = w.scratch(e.size); err != nil {
			return nil, 0, "", &scratchError{err}
		}
		if skim {
			content, rd = w.skim(content, rd, e.size, in.head[:])
		}
		sink = content
	}
	var hashes []hash.Hash
	crc, digest := crc32.NewIEEE(), sha256.New()
	if e.verify != nil {
		hashes = append(hashes, crc)
	}
	if hashed {
		hashes = append(hashes, digest)
	}
	if e.stored != nil && len(hashes) == 0 {
		err = m.add(int(e.size))
	} else {
		err = w.pump(rd, sink, in.buf, hashes...)
	}
	if err == nil && e.verify != nil {
		err = e.verify(m.got, crc.Sum32())
	}
	if err != nil {
		content.Close()
		return nil, 0, "", err
	}
	if hashed {
		sum = hex.EncodeToString(digest.Sum(nil))
	}
	return content, m.got, sum, nil
}

func (w *walker) scratch(size int64) (Scratch, error) {
	if w.o.Scratch == nil {
		return newMemory(size), nil
	}
	return w.o.Scratch(size)
}

// pump copies to sink (nil: nowhere) and to the hashes until the end. It checks ctx between
// blocks.
func (w *walker) pump(rd io.Reader, sink io.Writer, buf []byte, hashes ...hash.Hash) error {
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		n, err := rd.Read(buf)
		for _, h := range hashes {
			h.Write(buf[:n])
		}
		if sink != nil && n > 0 {
			if _, werr := sink.Write(buf[:n]); werr != nil {
				return &scratchError{werr}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// metered counts inflated bytes.
type metered struct {
	r io.Reader
	m *meter
}

func (r metered) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if over := r.m.add(n); over != nil {
		return n, over
	}
	return n, err
}

// counted counts the bytes that are read from a compressed stream.
type counted struct {
	r io.Reader
	n *int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// inPlace is uncompressed content, which is not copied.
type inPlace struct{ io.ReaderAt }

func (inPlace) Write(p []byte) (int, error) { return len(p), nil }
func (inPlace) Close() error                { return nil }
