package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	maxWheel     = 600 << 20 // fetched whole: 100 MB/s and more, where ranges of 1 MB give 4 MB/s
	maxObject    = 1 << 30   // inflated; the largest GPU libraries are known by name
	maxFarObject = 128 << 20 // of a wheel that is read by ranges
	maxMetadata  = 4 << 20
	maxFacts     = 256 << 20 // of a cached entry, inflated
	keepFacts    = 30 * 24 * time.Hour
)

// facts is what is known of one wheel; it is what the cache holds, as gzipped JSON.
type facts struct {
	Requires  []pkgmeta.Requirement
	Libraries []stack.Library
	Known     bool // Libraries are all there are
}

// facts describes a wheel, from the cache where it is known. libraries false asks for the requirements only.
func (i *Index) facts(ctx context.Context, f file, libraries bool) (*facts, error) {
	// With a digest the key is the content's own; without one it is the place, which may change its mind.
	key, keep := "index/1/"+f.sha256, keepFacts
	if f.sha256 == "" {
		sum := sha256.Sum256([]byte(f.url.String()))
		key, keep = "index/1/url/"+hex.EncodeToString(sum[:]), time.Hour
	}
	if !libraries {
		key += "/requires"
	}
	return i.wheels.do(ctx, key, func(ctx context.Context) (*facts, error) {
		data, err := i.cache.Get(ctx, key)
		if err != nil {
			i.log.WarnContext(ctx, "reading what is known of a wheel", "wheel", unpack.Safe(f.name), "err", err)
		}
		if known := thaw(data); known != nil {
			return known, nil
		}
		found, err := i.readWheel(ctx, f, libraries)
		if err != nil {
			return nil, err
		}
		if err := i.cache.Put(ctx, key, freeze(found), keep); err != nil {
			i.log.WarnContext(ctx, "keeping what is known of a wheel", "wheel", unpack.Safe(f.name), "err", err)
		}
		return found, nil
	})
}

func freeze(f *facts) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = json.NewEncoder(z).Encode(f) // neither the type nor the buffer can fail
	_ = z.Close()
	return b.Bytes()
}

// thaw gives nil for what is absent or damaged: then it is found out again.
func thaw(data []byte) *facts {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	var f facts
	if json.NewDecoder(io.LimitReader(z, maxFacts)).Decode(&f) != nil {
		return nil
	}
	return &f
}

// readWheel asks for the metadata beside the wheel where the index has it, and for the wheel where that is not enough.
func (i *Index) readWheel(ctx context.Context, f file, libraries bool) (*facts, error) {
	var meta []byte
	if f.metadata {
		var err error
		if meta, err = i.metadata(ctx, f); err != nil && !errors.Is(err, stack.ErrUnknown) {
			return nil, err
		}
	}
	// A wheel for any platform has nothing that a loader would load.
	pure := !slices.ContainsFunc(f.tags, func(t pkgmeta.Tag) bool { return t.Platform != "any" })
	if meta != nil && (pure || !libraries) {
		requires, err := requirements(meta)
		if err != nil {
			return nil, i.errorf(stack.ErrUnavailable, "%s: %v", unpack.Safe(f.name), err)
		}
		return &facts{Requires: requires, Known: pure}, nil
	}
	w, err := i.openWheel(ctx, f, libraries)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	found, inside, err := i.members(ctx, f, w, libraries && !pure)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		meta = inside
	}
	if meta == nil {
		return nil, i.errorf(stack.ErrUnavailable, "%s has no METADATA", unpack.Safe(f.name))
	}
	requires, err := requirements(meta)
	if err != nil {
		return nil, i.errorf(stack.ErrUnavailable, "%s: %v", unpack.Safe(f.name), err)
	}
	found.Requires = requires
	found.Known = libraries || pure
	return found, nil
}

// metadata asks for FILE.metadata (PEP 658). An absent one wraps ErrUnknown: then the wheel itself is read.
func (i *Index) metadata(ctx context.Context, f file) ([]byte, error) {
	u := *f.url
	u.Path, u.RawPath = u.Path+".metadata", ""
	body, _, _, err := i.get(ctx, &u, "*/*", maxMetadata)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(body); f.metaSum != "" && hex.EncodeToString(sum[:]) != f.metaSum {
		return nil, i.errorf(stack.ErrUnavailable, "the metadata of %s is not what its digest on the page says", unpack.Safe(f.name))
	}
	return body, nil
}

func requirements(meta []byte) ([]pkgmeta.Requirement, error) {
	m, err := pkgmeta.ParseMetadata(meta)
	if err != nil {
		return nil, err
	}
	return m.Requires, nil
}

var (
	objectName   = regexp.MustCompile(`\.so(\.[0-9]+)*$`)
	metadataName = regexp.MustCompile(`^[^/]+\.dist-info/METADATA$`)
)

// members reads METADATA and, where asked for, the shared objects of a wheel.
func (i *Index) members(ctx context.Context, f file, w *content, libraries bool) (*facts, []byte, error) {
	found := &facts{}
	var meta []byte
	most := int64(maxObject)
	if w.far {
		most = maxFarObject
	}
	o := unpack.Options{
		NoDigest: true, // was compared while it came, where there is one
		Limits:   unpack.Limits{FileBytes: maxObject},
		Scratch:  func(int64) (unpack.Scratch, error) { return newTemp(i.tempDir) },
		Skip: func(name string, size int64) bool {
			switch {
			case metadataName.MatchString(name):
				return meta != nil
			case !libraries || !objectName.MatchString(name):
				return true
			case size > most:
				found.Libraries = append(found.Libraries, stack.Library{Path: installed(name)})
				return true
			}
			return false
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
		found.Libraries = append(found.Libraries, library(m))
		return nil
	})
	if err == nil && w.err != nil {
		err = w.err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", unpack.Safe(f.name), err)
	}
	for _, p := range problems {
		// An object that cannot be read is known by its name; a wheel that cannot is not known at all.
		name, inside := strings.CutPrefix(p.Path, unpack.Safe(f.name)+"/")
		if !inside {
			return nil, nil, i.errorf(stack.ErrUnavailable, "%s: %s", p.Path, p.Reason)
		}
		if libraries && objectName.MatchString(name) {
			found.Libraries = append(found.Libraries, stack.Library{Path: installed(name)})
		}
	}
	return found, meta, nil
}

// library reads one object; what is no readable ELF file is known by its name alone.
func library(m *unpack.File) stack.Library {
	l := stack.Library{Path: installed(m.Path)}
	o, err := elfobj.Read(m.Content, m.Size)
	if err != nil || !o.Dynamic {
		return l
	}
	l.SONAME, l.Needed, l.RunPath, l.Exports, l.Known = o.SONAME, o.Needed, o.RunPath, o.Exports, true
	if l.RunPath == "" {
		l.RunPath = o.RPath
	}
	for _, d := range o.VersionDefs {
		if !d.Base {
			l.Versions = append(l.Versions, d.Name)
		}
	}
	return l
}

// installed is where a member lands in site-packages: "x-1.data/platlib/a.so" and purelib without their two folders (PEP 427, "The .data
// directory"); the others stay as they are.
func installed(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) == 3 && strings.HasSuffix(parts[0], ".data") && (parts[1] == "platlib" || parts[1] == "purelib") {
		return path.Clean(parts[2])
	}
	return name
}
