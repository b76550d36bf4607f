package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/cython"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/peobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	// bytes; a whole download has 100 MB/s and more, ranges of 1 MB only 4 MB/s
	maxWheel    = 600 << 20
	maxObject   = 1 << 30 // uncompressed bytes; larger GPU libraries are known by name
	maxMetadata = 4 << 20
	maxMembers  = 200_000
)

// facts returns the facts about a wheel, from the cache if possible. objects is false if only the
// requirements are needed.
func (i *Index) facts(ctx context.Context, f file, objects bool) (*facts, error) {
	key, keep := factsKey(f)
	if !objects {
		key += "/requires"
	}
	return i.wheels.do(ctx, key, func(ctx context.Context) (*facts, error) {
		var known facts
		if loadCached(ctx, i, key, &known) {
			return &known, nil
		}
		if found, _ := i.fromStore(ctx, f); found != nil {
			return found, nil
		}
		found, err := i.readWheel(ctx, f, objects)
		if err != nil {
			return nil, err
		}
		if !found.Opened {
			i.storeCached(ctx, key, keep, found)
		}
		return found, nil
	})
}

// readWheel reads FILE.metadata if the index has it, and the directory of the wheel if that is
// not enough.
func (i *Index) readWheel(ctx context.Context, f file, objects bool) (*facts, error) {
	opened := i.opened(ctx, f)
	var meta []byte
	if f.metadata && opened == nil {
		var err error
		if meta, err = i.metadata(ctx, f); err != nil && !errors.Is(err, packages.ErrUnknown) {
			return nil, err
		}
	}
	pure := f.pure() // contains nothing to load
	found := &facts{Known: pure, Opened: opened != nil}
	if meta == nil || objects && !pure {
		w, err := opened, error(nil)
		if w == nil {
			w, err = i.openWheel(ctx, f)
		}
		if err != nil {
			return nil, err
		}
		defer w.Close()
		members, err := unpack.Directory(w, w.size, maxMembers)
		if err != nil {
			return nil, i.errorf(packages.ErrUnavailable, "%s: %v", unpack.Safe(f.name), w.cause(err))
		}
		if !pure {
			found.Objects = slices.DeleteFunc(
				slices.Clone(members),
				func(m unpack.Member) bool { return !objectName.MatchString(m.Path) },
			)
			found.Known, found.Size, found.Whole = objects, w.size, w.tail == nil
		}
		wanted := slices.DeleteFunc(members, func(m unpack.Member) bool {
			return (meta != nil || !metadataName.MatchString(m.Path)) &&
				(w.tail != nil || found.Opened || !objects || !objectName.MatchString(m.Path))
		})
		if w.tail != nil {
			if w, err = i.sparse(ctx, f, w.size, wanted, w.tail, maxFar); err != nil {
				return nil, err
			}
			defer w.Close()
		}
		inside, libraries, err := i.members(ctx, f, w, wanted)
		if err != nil {
			return nil, err
		}
		i.storeLibraries(ctx, f, libraries)
		if meta == nil {
			meta = inside
		}
		if meta == nil {
			return nil, i.errorf(packages.ErrUnavailable, "%s has no METADATA", unpack.Safe(f.name))
		}
	}
	m, err := pkgmeta.ParseMetadata(meta)
	if err != nil {
		return nil, i.errorf(packages.ErrUnavailable, "%s: %v", unpack.Safe(f.name), err)
	}
	if v, err := pkgmeta.ParseVersion(m.Version); pkgmeta.Normalize(m.Name) != f.project ||
		err != nil ||
		v.Public().Compare(f.version.Public()) != 0 {
		return nil, i.errorf(
			packages.ErrUnavailable,
			"%s has METADATA of %.40q %.40q, so it is not the requested file",
			unpack.Safe(f.name),
			m.Name,
			m.Version,
		)
	}
	found.Requires, found.RequiresPython = m.Requires, m.RequiresPython
	return found, nil
}

// metadata downloads FILE.metadata (PEP 658). If it is absent the error wraps ErrUnknown, and the
// caller reads the wheel itself.
func (i *Index) metadata(ctx context.Context, f file) ([]byte, error) {
	u := *f.url
	u.Path, u.RawPath = u.Path+".metadata", ""
	answer, err := i.get(ctx, &u, "*/*", "", maxMetadata)
	if err != nil {
		return nil, err
	}
	body := answer.body
	if sum := sha256.Sum256(body); f.metaSum != "" && hex.EncodeToString(sum[:]) != f.metaSum {
		return nil, i.errorf(
			packages.ErrUnavailable,
			"the metadata of %s does not match its digest on the page",
			unpack.Safe(f.name),
		)
	}
	return body, nil
}

var (
	// Files of Linux, and those of macOS and Windows. Libraries of frameworks have no extension.
	sharedObject = lazyregexp.New(`\.so(\.[0-9]+[a-z]?)*$`)
	objectName   = lazyregexp.New(`\.(?:so(?:\.[0-9]+[a-z]?)*|dylib|(?i:dll|pyd))$|` +
		`\.framework/(?:Versions/[^/]+/)?[^/.]+$`)
	// sources that the analyzer reads in wheels for Windows, and for macOS
	anySource     = lazyregexp.New(`\.(?:py|pth)$`)
	startupSource = lazyregexp.New(`(?:^|/)__init__\.py$|^(?:[^/]+/)?[^/]+\.(?:py|pth)$`)
	metadataName  = lazyregexp.New(`^[^/]+\.dist-info/METADATA$`)
)

// members reads the given members of a wheel and returns METADATA, and shared objects by path.
func (i *Index) members(
	ctx context.Context,
	f file,
	w *content,
	wanted []unpack.Member,
) (meta []byte, libraries map[string]packages.Library, err error) {
	libraries = map[string]packages.Library{}
	if len(wanted) == 0 {
		return nil, libraries, nil
	}
	names := map[string]bool{}
	for _, m := range wanted {
		names[m.Path] = true
	}
	o := unpack.Options{
		NoDigest: true, // compared during the download, if known
		Limits:   unpack.Limits{FileBytes: maxObject},
		Scratch:  func(int64) (unpack.Scratch, error) { return newTemp(i.tempDir) },
		Skip: func(name string, size int64) bool {
			if names[name] && size > maxObject {
				libraries[name] = packages.Library{Path: installed(name)}
			}
			return !names[name] || size > maxObject
		},
	}
	_, problems, err := unpack.Walk(ctx, f.name, w, w.size, o, func(m *unpack.File) error {
		if metadataName.MatchString(m.Path) {
			meta = make([]byte, min(m.Size, maxMetadata+1))
			_, err := m.Content.ReadAt(meta, 0)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		libraries[m.Path] = library(m)
		return nil
	})
	if err == nil && w.err != nil {
		err = w.err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", unpack.Safe(f.name), err)
	}
	for _, p := range problems {
		// If an object cannot be read, only its path is known. If the wheel cannot be read,
		// nothing is.
		name, inside := strings.CutPrefix(p.Path, unpack.Safe(f.name)+"/")
		if !inside {
			return nil, nil, i.errorf(packages.ErrUnavailable, "%s: %s", p.Path, p.Reason)
		}
		if names[name] && objectName.MatchString(name) {
			libraries[name] = packages.Library{Path: installed(name)}
		}
	}
	return meta, libraries, nil
}

// library describes a shared object. If it is not a readable ELF, Mach-O or PE file, only its path
// is known.
func library(m *unpack.File) packages.Library {
	at := installed(m.Path)
	if o, types, err := cython.Read(m.Content, m.Size); err == nil {
		return packages.NewLibrary(at, o, types)
	}
	if f, err := machoobj.Read(m.Content, m.Size); err == nil {
		return packages.NewMachO(at, f)
	}
	if o, err := peobj.Read(m.Content, m.Size); err == nil {
		return packages.NewPE(at, o)
	}
	return packages.Library{Path: at}
}

// installed returns the path of a member in site-packages: for "x-1.data/platlib/a.so" (or
// purelib) without the two directories (PEP 427, "The .data directory"), unchanged for others.
func installed(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) == 3 && strings.HasSuffix(parts[0], ".data") &&
		(parts[1] == "platlib" || parts[1] == "purelib") {
		return path.Clean(parts[2])
	}
	return name
}
