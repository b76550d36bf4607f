package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	// smallWheel is the size in bytes up to which the whole wheel is downloaded: one request is
	// faster than one per member.
	smallWheel = 8 << 20
	// maxMember limits members other than shared objects in an opened wheel, in compressed bytes.
	maxMember = 64 << 10
	// keptWheel is the size limit in bytes of an opened wheel in the cache. Of larger ones only the
	// facts are cached, once they were read.
	keptWheel = 32 << 20
)

// Wheel is a wheel opened for the analyzer. Of a large wheel it contains only the metadata and
// the shared objects, as a smaller zip whose members are downloaded when they are first read.
type Wheel struct {
	io.ReaderAt
	// "numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"; "" if Locked.Without
	// has it and the lock files list no file
	File   string
	SHA256 string // of the whole wheel, from the index; "" = unknown
	Size   int64  // bytes that ReaderAt can read
	// Stored means that ReaderAt has facts of the wheel from Options.Facts, see analyzer.Input.Stored.
	Stored bool
	// Pure means that the tags of the wheel have no platform, or that Locked.Without has it. Then it
	// is not opened.
	Pure bool
	// Portable means that the tags of the wheel have no platform.
	Portable bool
	// Recorded means that the wheel is known from the built-in history, and that its libraries and
	// modules need only each other, the interpreter, and the C and the C++ library. Then no other
	// package can break them, and it is not opened either.
	Recorded bool
	// Shares is set for a Recorded wheel that may have libraries that other packages load.
	Shares bool
	// Together is set for a Recorded wheel that needs packages of the versions that the lock files
	// pin.
	Together bool
	close    func() error
	keep     func(stored []byte, whole bool)           // see analyzer.Input.Keep
	reopen   func(ctx context.Context) (*Wheel, error) // see analyzer.Input.Reopen
	reopened *Wheel                                    // what reopen returned
	left     *atomic.Int64                             // see Charge
	sparse   *sparse                                   // see content
	partial  bool
}

// Charge subtracts the bytes of the wheel from what may be downloaded: those of a large wheel when
// they are read. Then reading more is ErrLimit.
func (w *Wheel) Charge(left *atomic.Int64) {
	w.left = left
	if w.sparse == nil {
		left.Add(-w.Size)
		return
	}
	w.sparse.left = left
}

// Close releases the temporary files.
func (w *Wheel) Close() error {
	var err error
	if w.reopened != nil {
		err = w.reopened.Close()
	}
	if w.close == nil {
		return err
	}
	return errors.Join(err, w.close())
}

// TooLargeError reports that the shared objects of a wheel exceed the limit of Open.
type TooLargeError struct {
	File   string
	Packed int64 // total compressed size in bytes of the shared objects, or of the whole wheel
	Parts  bool  // much less is downloaded, see Wheel.Charge
	// Known is what the built-in history has of the wheel; nil if it does not describe it.
	Known *packages.Release
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the shared objects of %s have %d MB", e.File, e.Packed>>20)
}

// NoWheelError reports that a version has no compatible wheel. It wraps packages.ErrUnknown.
type NoWheelError struct {
	Name, Version string
	// tags of the existing wheels, such as "cp312-win_amd64"; nil = there is no wheel
	Tags []string
	// RequiresPython is set if wheels for the platform exist but all require other interpreters.
	RequiresPython string
	On             packages.Target
	Source         bool // there is a source archive
	// Misfit is what the closest wheels miss; its zero value if that is not one property.
	Misfit packages.Misfit
	// Others are the final versions with a compatible wheel, the closest first: newer ones from the
	// oldest on, then older ones from the newest on.
	Others []string
}

func (e *NoWheelError) Error() string {
	if detail := e.Detail(); detail != "" {
		return e.Reason() + "; " + detail
	}
	return e.Reason()
}

// Reason is what the version lacks; Detail has the wheels that exist.
func (e *NoWheelError) Reason() string {
	id := e.Name + "==" + e.Version
	switch {
	case e.Tags == nil:
		return id + " is published as source only"
	case e.RequiresPython != "":
		return fmt.Sprintf("%s requires Python %s", id, e.RequiresPython)
	}
	if m := e.Misfit; m.Lacks != "" {
		return fmt.Sprintf("%s has no wheel for %s", id, m.Lacks)
	}
	return fmt.Sprintf("%s has no wheel for %s on %s", id, e.On.Interpreter(), e.On.Place())
}

// Detail says for what there are wheels; "" if there are none, or if all require another Python.
func (e *NoWheelError) Detail() string {
	switch m := e.Misfit; {
	case e.Tags == nil, e.RequiresPython != "":
		return ""
	case m.Lacks != "":
		return "there are wheels for " + analyzer.List(m.Have, 6, len(m.Have), "other")
	}
	return "there are wheels for " + analyzer.List(e.Tags, 6, len(e.Tags), "tag")
}

func (e *NoWheelError) Unwrap() error { return packages.ErrUnknown }

// Open opens the wheel of a version that pip would install. limit is the maximum total size of
// its shared objects, in compressed bytes. Errors are a *TooLargeError, *NoWheelError or
// *packages.HashError, or wrap packages.ErrUnknown or packages.ErrUnavailable.
func (i *Index) Open(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*Wheel, error) {
	if i.locked.unlisted(name, version) {
		return &Wheel{Pure: true}, nil
	}
	if v, err := pkgmeta.ParseVersion(version); err == nil {
		if best, _ := i.inLock(name, v, on); best != nil {
			if w := i.listed(best); w != nil { // nothing of it is read, wherever it is
				return w, nil
			}
		}
	}
	best, all, err := i.installable(ctx, name, version, on)
	if err != nil {
		return nil, err
	}
	w := &Wheel{
		File: best.name, SHA256: best.sha256, Pure: best.pure() || i.locked.without(best),
		Portable: best.pure(),
	}
	if !w.Pure {
		if l := i.listed(best); l != nil {
			return l, nil
		}
		if i.standsAlone(ctx, *best, all, on) {
			w.Recorded, w.Shares = true, true
		}
	}
	if w.Pure || w.Recorded {
		return w, nil
	}
	var large *TooLargeError
	if best.size > 2*limit && i.recorded(ctx, *best, all, on) { // its size is that of its libraries
		return nil, &TooLargeError{
			File: best.name, Packed: best.size, Known: i.known(ctx, *best, all, on),
		}
	}
	// Not before, so that the same wheels are read with a store as without.
	if s := i.openStored(ctx, *best); s != nil {
		return s, nil
	}
	opened, err := i.openWhole(ctx, *best, limit)
	switch {
	case errors.As(err, &large):
		large.Known = i.known(ctx, *best, all, on)
		return nil, large
	case err != nil:
		return nil, i.failed(ctx, *best, err)
	}
	opened.Pure, opened.Portable = w.Pure, w.Portable
	return opened, nil
}

// openWhole opens a wheel itself, and not its facts. Errors are those of openFor.
func (i *Index) openWhole(ctx context.Context, f file, limit int64) (*Wheel, error) {
	c, err := i.openFor(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	w := &Wheel{
		File: f.name, SHA256: f.sha256, ReaderAt: c, Size: c.size, close: c.close, sparse: c.sparse,
		partial: c.partial,
		keep:    func(stored []byte, whole bool) { i.keepFacts(ctx, f, stored, whole) },
	}
	if w.partial {
		w.sparse.parts = true
	}
	return w, nil
}

// Which returns the wheel of a version that pip would install, without its content. Errors are
// those of Download.
func (i *Index) Which(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*Wheel, error) {
	best, _, err := i.installable(ctx, name, version, on)
	if err != nil {
		return nil, err
	}
	return &Wheel{File: best.name, SHA256: best.sha256, Pure: best.pure()}, nil
}

// Download downloads the wheel of a version that pip would install, and compares it with the digest
// on the page. Wheels of more than limit bytes are refused. Errors are a *NoWheelError, or wrap
// packages.ErrUnknown or packages.ErrUnavailable.
func (i *Index) Download(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*Wheel, error) {
	best, _, err := i.installable(ctx, name, version, on)
	if err != nil {
		return nil, err
	}
	return i.downloadWhole(ctx, *best, limit)
}

// DownloadFile is like Download for a wheel that Wheels lists.
func (i *Index) DownloadFile(
	ctx context.Context,
	name, wheel string,
	limit int64,
) (*Wheel, error) {
	p, err := i.page(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, f := range p.files {
		if f.name == wheel && f.tags != nil {
			return i.downloadWhole(ctx, f, limit)
		}
	}
	return nil, i.errorf(packages.ErrUnknown, "no file %s", unpack.Safe(wheel))
}

// downloadWhole downloads a wheel of at most limit bytes.
func (i *Index) downloadWhole(ctx context.Context, f file, limit int64) (*Wheel, error) {
	c, err := i.download(ctx, f, limit)
	switch {
	case errors.Is(err, errLarge):
		return nil, i.errorf(packages.ErrUnavailable, "%s has more than %d MB",
			unpack.Safe(f.name), limit>>20)
	case err != nil:
		return nil, i.failed(ctx, f, err)
	}
	w := &Wheel{File: f.name, SHA256: f.sha256, Pure: f.pure()}
	w.ReaderAt, w.Size, w.close = c, c.size, c.close
	return w, nil
}

// installable returns the wheel of a version that pip would install, and all files of the version.
// The error is a *NoWheelError or a *packages.HashError, or wraps packages.ErrUnknown or
// packages.ErrUnavailable.
func (i *Index) installable(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*file, []file, error) {
	best, fits, all, err := i.choose(ctx, name, version, on)
	switch {
	case err != nil && len(all) == 0:
		return nil, nil, err
	case err != nil || !fits:
		return nil, nil, i.noWheel(ctx, normal(version), all, on)
	}
	if refused := i.locked.refused(best, all, version, on); refused != nil {
		return nil, nil, refused
	}
	return best, all, nil
}

// listed returns a wheel that the history lists as needing no other package, or nil.
func (i *Index) listed(best *file) *Wheel {
	l := i.alone(best)
	if !l.Alone {
		return nil
	}
	return &Wheel{
		File: best.name, SHA256: best.sha256, Recorded: true, Shares: l.Shares,
		Together: len(l.With) > 0,
	}
}

// alone returns what the history lists of a wheel. Alone is only set if the lock files pin the
// packages that it needs as listed.
func (i *Index) alone(f *file) packages.Listed {
	if i.history == nil || i.locked != nil && i.locked.ReadAll {
		return packages.Listed{}
	}
	l, _ := i.history.Listed(f.name, f.sha256)
	l.Alone = l.Alone && i.locked.pins(l.With)
	return l
}

// standsAlone reports Wheel.Recorded for a package of which the history has the libraries.
// Extension modules are not in it, but a wheel for any interpreter has none.
func (i *Index) standsAlone(
	ctx context.Context,
	f file,
	all []file,
	on packages.Target,
) bool {
	version := f.version.String()
	if slices.ContainsFunc(f.tags, func(t pkgmeta.Tag) bool { return t.ABI != "none" }) ||
		!i.recorded(ctx, f, all, on) {
		return false
	}
	r, err := i.history.Release(ctx, f.project, version, on)
	if err != nil || !r.Known || len(r.Libraries) == 0 {
		return false
	}
	own := map[string]bool{}
	for _, l := range r.Libraries {
		own[path.Base(l.Path)], own[l.SONAME] = true, true
	}
	return !slices.ContainsFunc(r.Libraries, func(l packages.Library) bool {
		return l.Unread || slices.ContainsFunc(l.Needed, func(n string) bool {
			return !own[n] && !ofRuntime.MatchString(n)
		})
	})
}

// known returns what the history has of a wheel, or nil. Arguments are those of recorded.
func (i *Index) known(
	ctx context.Context,
	f file,
	all []file,
	on packages.Target,
) *packages.Release {
	if !i.recorded(ctx, f, all, on) {
		return nil
	}
	r, err := i.history.Release(ctx, f.project, f.version.String(), on)
	if err != nil {
		return nil
	}
	return r
}

// ofRuntime matches the libraries of glibc and GCC, which every system with Python has.
var ofRuntime = lazyregexp.New(
	`^(lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+)\.so\.[0126]|ld-linux.*\.so\.[12])$`)

// Pure reports whether the wheel of a version that pip would install has only platform tags
// "any". It downloads no wheel. Errors are those of Open.
func (i *Index) Pure(ctx context.Context, name, version string, on packages.Target) (bool, error) {
	best, _, err := i.installable(ctx, name, version, on)
	if err != nil {
		return false, err
	}
	return best.pure(), nil
}

// pure reports whether a wheel has only platform tags "any".
func (f *file) pure() bool {
	return !slices.ContainsFunc(f.tags, func(t pkgmeta.Tag) bool { return t.Platform != "any" })
}

// Spool copies the wheel to an unlinked temporary file in dir. ReaderAt is then an *os.File.
func (w *Wheel) Spool(dir string) error {
	f, err := os.CreateTemp(dir, "wheel-*")
	if err != nil {
		return err
	}
	if w.partial {
		w.sparse.parts, w.partial = false, false
	}
	_, err = io.Copy(f, io.NewSectionReader(w, 0, w.Size))
	if err = errors.Join(err, os.Remove(f.Name()), w.Close()); err != nil {
		return errors.Join(err, f.Close())
	}
	w.ReaderAt, w.close = f, f.Close
	return nil
}

// openFor returns the content of a wheel, from the cache if possible.
func (i *Index) openFor(ctx context.Context, f file, limit int64) (*content, error) {
	if known := i.opened(ctx, f); known != nil {
		return known, nil
	}
	key, keep := openedKey(f)
	c, err := i.openMembers(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	if c.size > i.kept || c.partial {
		return c, nil
	}
	defer c.Close()
	data := make([]byte, c.size)
	if _, err := c.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, c.cause(err)
	}
	if err := i.cache.Put(ctx, key, data, keep); err != nil {
		i.log.WarnContext(ctx, "caching a wheel", "err", err)
	}
	w := inBytes(0, data)
	return &content{ReaderAt: w, size: w.size, close: w.close}, nil
}

// opened returns what openFor cached of a wheel, or nil.
func (i *Index) opened(ctx context.Context, f file) *content {
	key, _ := openedKey(f)
	known, err := i.cache.Get(ctx, key)
	if err != nil {
		i.log.WarnContext(ctx, "reading a cached wheel", "err", err)
	}
	if known != nil {
		i.meter.cached.Add(1)
		w := inBytes(0, known)
		return &content{ReaderAt: w, size: w.size, close: w.close}
	}
	return nil
}

func openedKey(f file) (key string, keep time.Duration) {
	key, keep = factsKey(f)
	return key + "/opened", keep
}

// openMembers opens a small wheel as a whole, and only the members that the analyzer reads of
// others.
func (i *Index) openMembers(ctx context.Context, f file, limit int64) (*content, error) {
	if f.size > 0 && f.size <= smallWheel {
		return i.download(ctx, f, i.whole)
	}
	w, err := i.openWheel(ctx, f)
	if err != nil {
		return nil, err
	}
	members, err := unpack.Directory(w, w.size, maxMembers)
	if err != nil {
		return nil, errors.Join(w.cause(err), w.Close())
	}
	wanted, packed, whole := f.wanted(members, w.size, i.whole)
	switch {
	case packed > limit:
		parts := w.tail != nil && slices.ContainsFunc(wanted, inParts)
		return nil, errors.Join(
			&TooLargeError{File: f.name, Packed: packed, Parts: parts}, w.Close())
	case w.tail == nil: // the whole wheel was downloaded
		return w, nil
	case whole:
		if err := w.Close(); err != nil {
			return nil, err
		}
		return i.download(ctx, f, i.whole)
	}
	s, err := i.sparse(ctx, f, w.size, wanted, w.tail, math.MaxInt64) // packed is limited
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return s, nil
}

// wanted returns the members of a wheel that the analyzer reads, and the compressed bytes of its
// shared objects. whole means that the whole wheel is downloaded; limit is for that.
func (f *file) wanted(
	members []unpack.Member, size, limit int64,
) (wanted []unpack.Member, packed int64, whole bool) {
	objects, sources := f.loaded()
	parts := false
	for _, m := range members {
		object := objects.MatchString(m.Path)
		if object {
			packed += m.Packed
			parts = parts || inParts(m)
		}
		if object || metadataName.MatchString(m.Path) || m.Packed <= maxMember &&
			(strings.Contains(m.Path, ".dist-info/") || sources != nil && sources.MatchString(m.Path)) {
			wanted = append(wanted, m)
		}
	}
	whole = packed > size/2 && size <= limit || len(wanted) > maxRanges
	if whole && parts && size > smallWheel {
		// Much of the large objects is not needed, but all else that is read of a whole wheel is.
		return f.read(members), packed, false
	}
	return wanted, packed, whole
}

// read returns the members of a whole wheel that the analyzer reads: also sources, programs, which
// are executable or have no extension, and a header, which shows that there are some.
func (f *file) read(members []unpack.Member) (out []unpack.Member) {
	objects, _ := f.loaded()
	headers := false
	for _, m := range members {
		ext := path.Ext(m.Path)
		header := strings.HasPrefix(ext, ".h") || ext == ".cuh"
		switch {
		case objects.MatchString(m.Path), strings.Contains(m.Path, ".dist-info/"),
			anySource.MatchString(m.Path), m.Executable && !header, ext == "":
		case header && !headers:
			headers = true
		default:
			continue
		}
		out = append(out, m)
	}
	return out
}

// Part returns the part of a wheel on this machine that Open makes of the wheel in an index, so
// that the same facts are read of both.
func Part(name string, r io.ReaderAt, size int64) (part io.ReaderAt, length int64, err error) {
	if size <= smallWheel {
		return r, size, nil
	}
	members, err := unpack.Directory(r, size, maxMembers)
	if err != nil {
		return nil, 0, err
	}
	parsed, err := pkgmeta.ParseWheelName(name)
	if err != nil {
		return nil, 0, err
	}
	f := file{name: name, tags: parsed.Tags}
	wanted, _, whole := f.wanted(members, size, maxWheel)
	if whole {
		return r, size, nil
	}
	here := &Index{state: &state{}} // all of it is in the window, so nothing is requested
	c, err := here.sparse(
		context.Background(), f, size, wanted, &window{size: size, data: r}, math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	return c, c.size, nil
}

// loaded returns patterns of the files that a loader reads of a wheel, and of the sources that may
// change where it searches; nil: those of Linux are not needed.
func (f *file) loaded() (objects, sources *lazyregexp.Regexp) {
	for _, t := range f.tags {
		switch platform.ParseTag(t.Platform).System {
		case platform.TagLinux:
			return sharedObject, nil
		case platform.TagMacOS:
			return objectName, startupSource
		}
	}
	return objectName, anySource
}

// noWheel returns the error for a version whose files are all incompatible.
func (i *Index) noWheel(ctx context.Context, version string, all []file, on packages.Target) error {
	e := &NoWheelError{Name: all[0].project, Version: version, On: on}
	var tags []pkgmeta.Tag
	var digests []string // of which a source archive that is built has one
	if v, err := pkgmeta.ParseVersion(version); err == nil {
		digests = i.locked.digests(e.Name, v)
	}
	for _, f := range all {
		if f.tags == nil && (digests == nil || f.sha256 == "" || slices.Contains(digests, f.sha256)) {
			e.Source = true
		}
		tags = append(tags, f.tags...)
		for _, t := range f.tags {
			e.Tags = append(e.Tags, t.Python+"-"+t.Platform)
			if _, ok := packages.Rate(t, on); ok && !packages.AdmitsPython(f.requiresPython, on.Python) {
				e.RequiresPython = f.requiresPython
			}
		}
	}
	slices.Sort(e.Tags)
	e.Tags = slices.Compact(e.Tags)
	e.Misfit, _ = packages.MisfitOf(tags, on)
	p, err := i.page(ctx, e.Name)
	if err != nil {
		return err
	}
	var newer, older []pkgmeta.Version
	for n, f := range p.files {
		if f.yanked || f.version.IsPreRelease() {
			continue
		}
		if _, fits := pick(p.files[n:n+1], on); !fits {
			continue
		}
		if f.version.Compare(all[0].version) > 0 {
			newer = append(newer, f.version)
		} else {
			older = append(older, f.version)
		}
	}
	slices.SortFunc(newer, pkgmeta.Version.Compare)
	slices.SortFunc(older, func(a, b pkgmeta.Version) int { return b.Compare(a) })
	for _, v := range append(newer, older...) {
		if text := v.String(); len(e.Others) == 0 || e.Others[len(e.Others)-1] != text {
			e.Others = append(e.Others, text)
		}
	}
	return e
}

// Open opens the wheel on the first index that has a compatible wheel of the version.
func (s Several) Open(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*Wheel, error) {
	return s.first(func(i *Index) (*Wheel, error) { return i.Open(ctx, name, version, on, limit) })
}

// Which is like Index.Which, for the first index that has a compatible wheel of the version.
func (s Several) Which(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*Wheel, error) {
	return s.first(func(i *Index) (*Wheel, error) { return i.Which(ctx, name, version, on) })
}

// Download downloads the wheel from the first index that has a compatible wheel of the version.
func (s Several) Download(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*Wheel, error) {
	return s.first(func(i *Index) (*Wheel, error) {
		return i.Download(ctx, name, version, on, limit)
	})
}

// DownloadFile is like Index.DownloadFile, for the first index that has the wheel.
func (s Several) DownloadFile(
	ctx context.Context,
	name, wheel string,
	limit int64,
) (*Wheel, error) {
	return s.first(func(i *Index) (*Wheel, error) { return i.DownloadFile(ctx, name, wheel, limit) })
}

// first returns the first wheel that get finds.
func (s Several) first(get func(*Index) (*Wheel, error)) (*Wheel, error) {
	var unknown error
	for _, i := range s {
		w, err := get(i)
		if err == nil || !errors.Is(err, packages.ErrUnknown) {
			return w, err
		}
		unknown = joinErrors(unknown, err)
	}
	return nil, unknown
}
