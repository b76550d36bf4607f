package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Limits of the Python sources of a package that are read: more than most packages have that only
// provide libraries.
const (
	maxTexts     = 400     // files
	maxTextBytes = 4 << 20 // of all, unpacked
)

// Texts implements packages.Texts.
func (i *Index) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
) (map[string]string, error) {
	best, fits, _, err := i.choose(ctx, r.Name, r.Version, on)
	if err != nil {
		return nil, err
	}
	if !fits {
		return nil, i.errorf(packages.ErrUnknown, "%s has no wheel for %s", r.ID(), on.Interpreter())
	}
	key, keep := factsKey(*best)
	key += "/texts/" + hashed(top)
	var texts map[string]string
	if loadCached(ctx, i, key, &texts) {
		return texts, nil
	}
	if texts, err = i.texts(ctx, *best, top); err != nil {
		return nil, i.failed(ctx, *best, err)
	}
	i.storeCached(ctx, key, keep, texts)
	return texts, nil
}

// texts reads the sources of a top-level package or module from a wheel.
func (i *Index) texts(ctx context.Context, f file, top string) (map[string]string, error) {
	w, err := i.openWheel(ctx, f)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	members, err := unpack.Directory(w, w.size, maxMembers)
	if err != nil {
		return nil, i.errorf(packages.ErrUnavailable, "%s: %v", unpack.Safe(f.name), w.cause(err))
	}
	wanted := slices.DeleteFunc(members, func(m unpack.Member) bool {
		at := installed(m.Path)
		return !strings.HasSuffix(at, ".py") || at != top+".py" && !strings.HasPrefix(at, top+"/")
	})
	size, names := int64(0), map[string]bool{}
	for _, m := range wanted {
		size += m.Size
		names[m.Path] = true
	}
	if len(wanted) > maxTexts || size > maxTextBytes {
		return nil, i.errorf(packages.ErrUnavailable, "%s has more Python sources than are read",
			unpack.Safe(f.name))
	}
	if w.tail != nil {
		if w, err = i.sparse(ctx, f, w.size, wanted, w.tail, maxFar); err != nil {
			return nil, err
		}
		defer w.Close()
	}
	out := map[string]string{}
	o := unpack.Options{
		NoDigest: true,
		Limits:   unpack.Limits{FileBytes: maxTextBytes},
		Scratch:  func(int64) (unpack.Scratch, error) { return newTemp(i.tempDir) },
		Skip:     func(name string, _ int64) bool { return !names[name] },
	}
	_, problems, err := unpack.Walk(ctx, f.name, w, w.size, o, func(m *unpack.File) error {
		text := make([]byte, min(m.Size, maxTextBytes))
		if _, err := m.Content.ReadAt(text, 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		out[installed(m.Path)] = string(text)
		return nil
	})
	switch {
	case err == nil && w.err != nil:
		return nil, w.err
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", unpack.Safe(f.name), err)
	case len(problems) > 0:
		return nil, i.errorf(packages.ErrUnavailable, "%s: %s", problems[0].Path, problems[0].Reason)
	}
	return out, nil
}

// Texts implements packages.Texts. It uses the first index that has the release.
func (s Several) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
) (map[string]string, error) {
	var unknown error
	for _, i := range s {
		texts, err := i.Texts(ctx, r, on, top)
		if err == nil || !errors.Is(err, packages.ErrUnknown) {
			return texts, err
		}
		unknown = joinErrors(unknown, err)
	}
	return nil, unknown
}

// Texts implements packages.Texts for allowed names.
func (g *Guard) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
) (map[string]string, error) {
	if err := g.refused(r.Name); err != nil {
		return nil, err
	}
	return g.index.Texts(ctx, r, on, top)
}
