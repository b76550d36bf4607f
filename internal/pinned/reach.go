package pinned

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
)

// Unreached returns the keys of the releases of head that a change of base cannot affect: they have
// the hashes of base, they do not depend on a changed package with native code, and no changed
// package has a library that others can load, or is NumPy, whose ABI others use without declaring
// it. It opens the wheels of the changed packages. It returns nil if the lock files do not show the
// dependencies, or if such a library changes.
func Unreached(
	ctx context.Context,
	head, base []*Pinned,
	from Opener,
) (map[packages.ID]bool, error) {
	if len(head) != len(base) {
		return nil, nil
	}
	out := map[packages.ID]bool{}
	for n, h := range head {
		b := base[n]
		if h.On != b.On || h.Apart || b.Apart || h.Partial || b.Partial {
			return nil, nil
		}
		now, before := h.releases(), b.releases()
		reached := map[string]bool{}
		for _, side := range []map[string]packages.ID{now, before} {
			for _, name := range slices.Sorted(maps.Keys(side)) {
				if now[name].Key() == before[name].Key() {
					continue
				}
				native, others, err := provides(ctx, from, side[name], h.On)
				if err != nil || others {
					return nil, err
				}
				if native {
					reached[name] = true
				}
			}
		}
		h.follow(reached)
		b.follow(reached)
		is, was := h.hashes(), b.hashes()
		for name, id := range now {
			if !reached[name] && admitsAll(is[name], was[name]) {
				out[id.Key()] = true
			}
		}
	}
	return out, nil
}

// hashes returns the hashes of the pins by package.
func (e *Pinned) hashes() map[string][]string {
	out := map[string][]string{}
	for _, p := range e.Pins {
		name, _, _ := strings.Cut(p.Requirement, "==")
		out[pkgmeta.Normalize(name)] = p.SHA256()
	}
	return out
}

// admitsAll reports whether files with the earlier hashes can still be installed; none admit any
// file.
func admitsAll(hashes, before []string) bool {
	return hashes == nil || before != nil && !slices.ContainsFunc(before, func(h string) bool {
		return !slices.Contains(hashes, h)
	})
}

// releases returns the pinned releases by package.
func (e *Pinned) releases() map[string]packages.ID {
	out := map[string]packages.ID{}
	for _, p := range e.Pins {
		if id, ok := packages.Pinned(p.Requirement); ok {
			out[id.Name] = id
		}
	}
	return out
}

// follow adds the packages that depend on some.
func (e *Pinned) follow(names map[string]bool) {
	for before := -1; before != len(names); {
		before = len(names)
		for _, p := range e.Pins {
			if slices.ContainsFunc(p.Needs, func(n string) bool { return names[n] }) {
				name, _, _ := strings.Cut(p.Requirement, "==")
				names[pkgmeta.Normalize(name)] = true
			}
		}
	}
}

// provides reports whether a release has native code, and whether that has a shared library that
// other packages may load. Wheels that are too large or cannot be read may have some.
func provides(
	ctx context.Context,
	from Opener,
	id packages.ID,
	on packages.Target,
) (native, others bool, err error) {
	if id.Name == "numpy" {
		return true, true, nil
	}
	w, err := from.Open(ctx, id.Name, id.Version, on, maxObjects)
	var none *index.NoWheelError
	switch {
	case ctx.Err() != nil:
		return false, false, ctx.Err()
	case errors.As(err, &none):
		return true, false, nil
	case err != nil:
		return true, true, nil //nolint:nilerr // the packages are checked, and that reports the error
	case w.Pure, w.Recorded:
		return w.Recorded, w.Shares, nil
	}
	defer w.Close()
	files, err := w.Files()
	return true, err != nil || slices.ContainsFunc(files, on.Loads), nil
}
