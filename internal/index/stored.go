package index

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	stored "github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
)

// storedKey returns the cache key of what facts.Encode returned for a wheel. whole is false if
// something was left out that few checks need, see analyzer.Input.Keep.
func storedKey(f file, whole bool) (key string, keep time.Duration) {
	key, keep = factsKey(f)
	if key += "/facts/" + stored.Format(); !whole {
		key += "/lean"
	}
	return key, keep
}

// stored returns the facts of a wheel that were kept when it was read, or that Options.Facts has;
// nil if there are none.
func (i *Index) stored(ctx context.Context, f file) []byte {
	if f.pure() || i.locked != nil && i.locked.Bytes {
		return nil
	}
	for _, whole := range []bool{true, false} {
		if !whole && i.locked != nil && i.locked.ReadAll {
			break
		}
		key, _ := storedKey(f, whole)
		found, err := i.cache.Get(ctx, key)
		if err != nil {
			i.log.WarnContext(ctx, "reading facts of a wheel from the cache", "err", err)
		}
		if found != nil {
			i.meter.cached.Add(1)
			return found
		}
	}
	if i.store == nil || f.sha256 == "" {
		return nil
	}
	found := i.store.Get(ctx, f.sha256)
	if found != nil {
		i.meter.stored.Add(1)
		i.keepFacts(ctx, f, found, true)
	}
	return found
}

// keepFacts caches what facts.Encode returned for a wheel. whole is as in storedKey.
func (i *Index) keepFacts(ctx context.Context, f file, found []byte, whole bool) {
	key, keep := storedKey(f, whole)
	if err := i.cache.Put(ctx, key, found, keep); err != nil {
		i.log.WarnContext(ctx, "caching facts of a wheel", "err", err)
	}
}

// openStored returns a wheel whose facts are known, or nil.
func (i *Index) openStored(ctx context.Context, f file) *Wheel {
	found := i.stored(ctx, f)
	if found == nil {
		return nil
	}
	return &Wheel{
		File: f.name, SHA256: f.sha256, Stored: true, ReaderAt: bytes.NewReader(found),
		Size: int64(len(found)),
		reopen: func(ctx context.Context) (*Wheel, error) {
			w, err := i.openWhole(ctx, f, math.MaxInt64)
			if err != nil {
				return nil, i.failed(ctx, f, err)
			}
			return w, nil
		},
	}
}

// fromStore returns the facts about a wheel and its libraries by path, if all of them are known;
// else nil.
func (i *Index) fromStore(ctx context.Context, f file) (*facts, map[string]packages.Library) {
	found := i.stored(ctx, f)
	if found == nil {
		return nil, nil
	}
	set, err := stored.Decode(found, f.name, elfobj.NewNames())
	if err != nil {
		i.log.WarnContext(ctx, "reading facts of a wheel", "wheel", f.name, "err", err)
		return nil, nil
	}
	a := set.Artifacts[0]
	// what was skipped is a library too, of another system
	if len(set.Skipped) > 0 || a.Metadata == nil {
		return nil, nil
	}
	libraries := librariesOf(a)
	out := &facts{
		Requires: a.Metadata.Requires, RequiresPython: a.Metadata.RequiresPython,
		Known: true, Opened: true,
	}
	for name := range libraries {
		out.Objects = append(out.Objects, unpack.Member{Path: name})
	}
	slices.SortFunc(out.Objects, func(a, b unpack.Member) int { return cmp.Compare(a.Path, b.Path) })
	return out, libraries
}

// librariesOf returns the libraries of a wheel by path.
func librariesOf(a *analyzer.Facts) map[string]packages.Library {
	out := map[string]packages.Library{}
	for _, o := range slices.Concat(a.Objects, a.Android) {
		out[o.Path] = packages.NewLibrary(installed(o.Path), o.Object, o.Types)
	}
	for _, o := range a.MachO {
		out[o.Path] = packages.NewMachO(installed(o.Path), o.File)
	}
	for _, o := range a.PE {
		out[o.Path] = packages.NewPE(installed(o.Path), o.Object)
	}
	for name := range out {
		if !objectName.MatchString(name) {
			delete(out, name)
		}
	}
	return out
}

// Input returns the wheel for the analyzer.
func (w *Wheel) Input() analyzer.Input {
	in := analyzer.Input{
		Name: w.File, Content: w, Size: w.Size, SHA256: w.SHA256, Stored: w.Stored, Partial: w.partial,
		Keep: w.keep,
	}
	if w.reopen != nil {
		in.Reopen = func(ctx context.Context) (analyzer.Input, error) {
			again, err := w.reopen(ctx)
			if err != nil {
				return analyzer.Input{}, err
			}
			if w.reopened = again; w.left != nil {
				again.Charge(w.left)
			}
			return again.Input(), nil
		}
	}
	return in
}

// Files returns the paths of the files of an opened wheel, of which those of others than shared
// objects may be missing.
func (w *Wheel) Files() ([]string, error) {
	var out []string
	if !w.Stored {
		members, err := unpack.Directory(w, w.Size, maxMembers)
		for _, m := range members {
			out = append(out, m.Path)
		}
		return out, err
	}
	data := make([]byte, w.Size)
	if _, err := w.ReadAt(data, 0); err != nil {
		return nil, err
	}
	set, err := stored.Decode(data, w.File, elfobj.NewNames())
	if err != nil {
		return nil, err
	}
	for name := range librariesOf(set.Artifacts[0]) {
		out = append(out, name)
	}
	return out, nil
}
