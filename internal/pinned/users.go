package pinned

import (
	"context"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Users are the pins of an environment by what they have to do with a package.
type Users struct {
	// Pins require the package, directly or through other packages, in the order of the files.
	Pins []Pin
	// Others are the pins of other packages that do not require it.
	Others []Pin
	// Unknown are pins, as NAME==VERSION, whose requirements could not be looked up.
	Unknown []string
}

// Users returns the pins that require a package, also those that do only with an extra. Where the
// files do not list what packages require, it looks that up in source, and resolves what the files
// leave out, for which it adds pins to e. The error is that of ctx.
func (e *Pinned) Users(
	ctx context.Context, name string, source packages.Source,
) (u Users, _ error) {
	unknown := map[string]bool{}
	listed := len(e.Pins)
	if e.Apart || e.Partial {
		if err := e.Resolve(ctx, source); err != nil {
			return u, err
		}
		missing := make([]bool, len(e.Pins))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(atOnce)
		for i := range e.Pins {
			g.Go(func() error {
				missing[i] = !e.Pins[i].lookUp(ctx, source, e.On)
				return ctx.Err()
			})
		}
		if err := g.Wait(); err != nil {
			return u, err
		}
		for i, p := range e.Pins {
			unknown[p.Requirement] = missing[i]
		}
	}
	reached := map[string]bool{name: true}
	e.follow(reached)
	for _, p := range e.Pins[:listed] {
		id, ok := packages.Pinned(p.Requirement)
		switch {
		case !ok, id.Name == name:
		case reached[id.Name]:
			u.Pins = append(u.Pins, p)
		case unknown[p.Requirement]:
			u.Unknown = append(u.Unknown, p.Requirement)
		default:
			u.Others = append(u.Others, p)
		}
	}
	return u, nil
}

// lookUp sets Needs to the names that the metadata of the release have. It reports whether they
// could be looked up.
func (p *Pin) lookUp(ctx context.Context, source packages.Source, on packages.Target) bool {
	q, version, err := split(p.Requirement)
	if err != nil {
		return false
	}
	r, err := source.Release(ctx, q.Name, version, on)
	if err != nil || !r.Known {
		return false
	}
	p.Needs = nil
	for _, x := range r.Requires {
		p.Needs = append(p.Needs, pkgmeta.Normalize(strings.TrimSpace(x.Name)))
	}
	return true
}
