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

// Limits of the Python sources that are read at once: more than most packages have that only
// provide libraries.
const (
	maxTexts     = 400     // files
	maxTextBytes = 4 << 20 // of all, unpacked
)

// maxSources limits the Python sources that a package may have.
const maxSources = 20_000

// sourcesOf is the cached form of the sources of a package.
type sourcesOf struct {
	packages.Sources
	Size    int64           `json:",omitempty"` // of the wheel; 0 = it is not read by ranges
	Members []unpack.Member `json:",omitempty"` // those of Sources.Others, in its order
}

// Texts implements packages.Texts.
func (i *Index) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	best, fits, _, err := i.choose(ctx, r.Name, r.Version, on)
	if err != nil {
		return packages.Sources{}, err
	}
	if !fits {
		return packages.Sources{},
			i.errorf(packages.ErrUnknown, "%s has no wheel for %s", r.ID(), on.Interpreter())
	}
	all, err := i.sourcesOf(ctx, *best, top)
	if err == nil && files != nil {
		all.Sources, err = i.someOf(ctx, *best, all, files)
	}
	if err != nil {
		return packages.Sources{}, i.failed(ctx, *best, err)
	}
	return all.Sources, nil
}

// sourcesOf returns the sources of a top-level package or module of a wheel, or where they are if
// there are too many to read all of them.
func (i *Index) sourcesOf(ctx context.Context, f file, top string) (out sourcesOf, err error) {
	key, keep := factsKey(f)
	key += "/sources/" + hashed(top)
	if loadCached(ctx, i, key, &out) {
		return out, nil
	}
	w, err := i.openWheel(ctx, f)
	if err != nil {
		return out, err
	}
	defer w.Close()
	if w.tail != nil {
		out.Size = w.size
	}
	members, err := unpack.Directory(w, w.size, maxMembers)
	if err != nil {
		return out, i.errorf(packages.ErrUnavailable, "%s: %v", unpack.Safe(f.name), w.cause(err))
	}
	out.Members = slices.DeleteFunc(members, func(m unpack.Member) bool {
		at := installed(m.Path)
		return !strings.HasSuffix(at, ".py") || at != top+".py" && !strings.HasPrefix(at, top+"/")
	})
	size := int64(0)
	for _, m := range out.Members {
		size += m.Size
	}
	switch n := len(out.Members); {
	case n > maxSources:
		return out, i.errorf(packages.ErrUnavailable, "%s has more Python sources than are read",
			unpack.Safe(f.name))
	case n > maxTexts || size > maxTextBytes:
		for _, m := range out.Members {
			out.Others = append(out.Others, installed(m.Path))
		}
	default:
		if out.Texts, err = i.texts(ctx, f, w, out.Members); err != nil {
			return out, err
		}
		out.Members = nil
	}
	i.storeCached(ctx, key, keep, out)
	return out, nil
}

// someOf returns some of the sources of a package with many.
func (i *Index) someOf(
	ctx context.Context,
	f file,
	all sourcesOf,
	files []string,
) (packages.Sources, error) {
	out := packages.Sources{Texts: map[string]string{}}
	key, keep := factsKey(f)
	textKey := func(file string) string { return key + "/source/" + hashed(file) }
	var wanted []unpack.Member
	size := int64(0)
	for n, file := range all.Others {
		var text string
		switch {
		case !slices.Contains(files, file):
		case loadCached(ctx, i, textKey(file), &text):
			out.Texts[file] = text
		default:
			wanted = append(wanted, all.Members[n])
			size += all.Members[n].Size
		}
	}
	if len(wanted) > maxTexts || size > maxTextBytes {
		return out, i.errorf(packages.ErrUnavailable,
			"%s: too many Python sources were requested at once", unpack.Safe(f.name))
	}
	if len(wanted) == 0 {
		return out, nil
	}
	w := &content{size: all.Size}
	if all.Size == 0 {
		whole, err := i.openWheel(ctx, f)
		if err != nil {
			return out, err
		}
		defer whole.Close()
		w = whole
	}
	read, err := i.texts(ctx, f, w, wanted)
	for file, text := range read {
		out.Texts[file] = text
		i.storeCached(ctx, textKey(file), keep, text)
	}
	return out, err
}

// texts reads sources from a wheel. If w is not a whole one, they are downloaded by themselves.
func (i *Index) texts(
	ctx context.Context,
	f file,
	w *content,
	wanted []unpack.Member,
) (map[string]string, error) {
	names := map[string]bool{}
	for _, m := range wanted {
		names[m.Path] = true
	}
	if w.ReaderAt == nil || w.tail != nil {
		parts, err := i.sparse(ctx, f, w.size, wanted, w.tail, maxFar)
		if err != nil {
			return nil, err
		}
		defer parts.Close()
		w = parts
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
	files []string,
) (packages.Sources, error) {
	var unknown error
	for _, i := range s {
		texts, err := i.Texts(ctx, r, on, top, files)
		if err == nil || !errors.Is(err, packages.ErrUnknown) {
			return texts, err
		}
		unknown = joinErrors(unknown, err)
	}
	return packages.Sources{}, unknown
}

// Texts implements packages.Texts for allowed names.
func (g *Guard) Texts(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	top string,
	files []string,
) (packages.Sources, error) {
	if err := g.refused(r.Name); err != nil {
		return packages.Sources{}, err
	}
	return g.index.Texts(ctx, r, on, top, files)
}
