package index

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Guard restricts an index to the given names and the names that their releases require. An index
// with credentials may have private packages, and a pull request must not choose which of them
// are looked up. Other names are answered from the history. If the history does not know them,
// the error mentions COMPAT_INDEX_ALLOW and wraps packages.ErrUnavailable.
type Guard struct {
	index *Index
	*allowed
}

// allowed are the names that a Guard allows, normalized.
type allowed struct {
	mu    sync.Mutex
	names map[string]bool
	// except are the only names that are refused unless they are in names; nil = all are.
	except map[string]bool
}

var _ packages.Reader = (*Guard)(nil)

// Guard returns a Guard that allows the names, in any spelling.
func (i *Index) Guard(names ...string) *Guard {
	g := &Guard{i, &allowed{names: map[string]bool{}}}
	g.Allow(names...)
	return g
}

// Except makes the Guard refuse only these names, of those that are not allowed.
func (g *Guard) Except(names ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.except = map[string]bool{}
	for _, n := range names {
		g.except[pkgmeta.Normalize(n)] = true
	}
}

// Private reports whether requests to the index have credentials.
func (i *Index) Private() bool { return i.auth != "" }

// Allow allows more names.
func (a *allowed) Allow(names ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range names {
		a.names[pkgmeta.Normalize(n)] = true
	}
}

// Comparing is like Index.Comparing. It shares the allowed names.
func (g *Guard) Comparing(digests map[packages.ID][]string) Installer {
	return &Guard{g.index.WithLock(&Locked{Digests: digests}), g.allowed}
}

// String returns the URL of the index, without credentials.
func (g *Guard) String() string { return g.index.String() }

// refused returns the error for a name that is not allowed; nil for others.
func (g *Guard) refused(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	name = pkgmeta.Normalize(name)
	if g.names[name] || g.except != nil && !g.except[name] {
		return nil
	}
	return g.index.errorf(packages.ErrUnavailable,
		"%s is not looked up: the index requires credentials, which compat uses only for packages "+
			"that the base branch declares. The operator of compat can allow more with "+
			"COMPAT_INDEX_ALLOW", name)
}

// follow allows the names that a release requires.
func (g *Guard) follow(r *packages.Release) {
	for _, q := range r.Requires {
		g.Allow(q.Name)
	}
}

// Versions implements packages.Source.
func (g *Guard) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	err := g.refused(name)
	if err == nil {
		return g.index.Versions(ctx, name, on)
	}
	if g.index.history != nil {
		if vs, known := g.index.history.Versions(ctx, name, on); known == nil {
			return vs, nil
		}
	}
	return nil, err
}

// Release implements packages.Source.
func (g *Guard) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	err := g.refused(name)
	if err == nil {
		r, err := g.index.Release(ctx, name, version, on)
		if err == nil {
			g.follow(r)
		}
		return r, err
	}
	if g.index.history != nil {
		if r, known := g.index.history.Release(ctx, name, version, on); known == nil {
			return r, nil
		}
	}
	return nil, err
}

// Read implements packages.Reader.
func (g *Guard) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	worth func(path string) int64,
) (*packages.Release, error) {
	if g.refused(r.Name) != nil {
		return r, nil //nolint:nilerr // the release is of the history, which needs no index
	}
	return g.index.Read(ctx, r, on, worth)
}

// Open is like Index.Open for allowed names.
func (g *Guard) Open(
	ctx context.Context,
	name, version string,
	on packages.Target,
	limit int64,
) (*Wheel, error) {
	if err := g.refused(name); err != nil {
		return nil, err
	}
	return g.index.Open(ctx, name, version, on, limit)
}

// Pure is like Index.Pure for allowed names.
func (g *Guard) Pure(ctx context.Context, name, version string, on packages.Target) (bool, error) {
	if err := g.refused(name); err != nil {
		return false, err
	}
	return g.index.Pure(ctx, name, version, on)
}

// ParseAllowed parses COMPAT_INDEX_ALLOW: names of packages, separated by commas. any reports
// whether the list contains "*".
func ParseAllowed(list string) (names []string, any bool, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		switch q, err := pkgmeta.ParseRequirement(name); {
		case name == "":
		case name == "*":
			any = true
		case err != nil || q.Raw != name || q.Spec != "" || q.URL != "":
			return nil, false, fmt.Errorf("%.60q is not the name of a package", name)
		default:
			names = append(names, q.Name)
		}
	}
	return names, any, nil
}
