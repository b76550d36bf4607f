package index

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
)

// maxRanges limits the range requests of one Read; with more of them one plain GET is faster.
const maxRanges = 48

// Read implements packages.Reader. It reads each library by a range request, or all by one plain
// GET if they are most of the file. Cached libraries are not read again.
func (i *Index) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	worth func(path string) int64,
) (*packages.Release, error) {
	wants := unread(r, worth)
	if len(wants) == 0 {
		return r, nil
	}
	best, _, _, err := i.choose(ctx, r.Name, r.Version, on)
	if errors.Is(err, packages.ErrUnknown) {
		if _, err := i.fromHistory(ctx, r.Name, r.Version, on, err); err == nil {
			return r, nil // another index has its files
		}
	}
	if err != nil {
		return nil, err
	}
	facts, err := i.facts(ctx, *best, true)
	if err != nil {
		return nil, i.failed(ctx, *best, err)
	}
	_, stored := i.fromStore(ctx, *best)
	found := map[string]packages.Library{} // by installed path
	var missing []unpack.Member
	for _, m := range facts.Objects {
		at := installed(m.Path)
		if !wants[at] {
			continue
		}
		l, known := stored[m.Path]
		key, _ := libraryKey(*best, m.Path)
		switch {
		case known, loadCached(ctx, i, key, &l):
			found[at] = l
		case m.Packed <= worth(at):
			missing = append(missing, m)
		}
	}
	if len(missing) > 0 {
		read, err := i.readMembers(ctx, *best, facts, missing)
		if err != nil {
			return nil, i.failed(ctx, *best, err)
		}
		for path, l := range read {
			found[installed(path)] = l
		}
	}
	out := *r
	out.Libraries = slices.Clone(r.Libraries)
	for n, l := range out.Libraries {
		if f, ok := found[l.Path]; ok {
			out.Libraries[n] = f
		}
	}
	return &out, nil
}

// unread returns the paths of the libraries to read.
func unread(r *packages.Release, worth func(path string) int64) map[string]bool {
	wants := map[string]bool{}
	for _, l := range r.Libraries {
		if l.Unread && worth(l.Path) > 0 {
			wants[l.Path] = true
		}
	}
	return wants
}

// readMembers reads members that are not cached. Concurrent calls for the same members share one
// download.
func (i *Index) readMembers(
	ctx context.Context,
	f file,
	facts *facts,
	members []unpack.Member,
) (map[string]packages.Library, error) {
	key, _ := factsKey(f)
	var paths []string
	packed := int64(0)
	for _, m := range members {
		paths = append(paths, m.Path)
		packed += m.Packed
	}
	return i.reads.do(
		ctx,
		key+"\x00"+strings.Join(paths, "\x00"),
		func(ctx context.Context) (map[string]packages.Library, error) {
			var w *content
			var err error
			switch {
			case facts.Opened:
				// It may have been dropped from the cache, and then it is downloaded again.
				if w, err = i.openFor(ctx, f, math.MaxInt64); err == nil {
					members, err = unpack.Directory(w, w.size, maxMembers)
				}
				members = slices.DeleteFunc(members, func(m unpack.Member) bool {
					return !slices.Contains(paths, m.Path)
				})
			case (packed > facts.Size/2 || len(members) > maxRanges) && facts.Size <= i.whole ||
				facts.Whole:
				// The whole wheel is downloaded, so all its objects are read and cached.
				members = facts.Objects
				w, err = i.download(ctx, f, i.whole)
			default:
				w, err = i.sparse(ctx, f, facts.Size, members, nil, maxFar)
			}
			if err != nil {
				return nil, err
			}
			defer w.Close()
			_, libraries, err := i.members(ctx, f, w, members)
			if err != nil {
				return nil, err
			}
			i.storeLibraries(ctx, f, libraries)
			return libraries, nil
		},
	)
}
