package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/stack"
)

// Versions lists the versions that the index offers for installation: those with a wheel or a source archive that is not yanked, in
// normal form, oldest first. Errors wrap stack.ErrUnknown or stack.ErrUnavailable.
func (i *Index) Versions(ctx context.Context, name string) ([]string, error) {
	p, err := i.page(ctx, name)
	if err != nil {
		return nil, err
	}
	var versions []pkgmeta.Version
	for _, f := range p.files {
		if !f.yanked {
			versions = append(versions, f.version)
		}
	}
	slices.SortFunc(versions, pkgmeta.Version.Compare)
	versions = slices.CompactFunc(versions, func(a, b pkgmeta.Version) bool { return a.Compare(b) == 0 })
	names := make([]string, len(versions))
	for n, v := range versions {
		names[n] = v.String()
	}
	return names, nil
}

// Release describes one version by the wheel that pip would take on a glibc system for on; an empty field of on fits every wheel. A yanked
// version is found too: who names it gets it.
//
// Where no wheel fits, but one for another system exists, Known is false and Requires is that one's. A version that exists as source only
// is unknown here: what it would build is not to be foretold. Errors wrap stack.ErrUnknown or stack.ErrUnavailable.
func (i *Index) Release(ctx context.Context, name, version string, on stack.On) (*stack.Release, error) {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return nil, i.errorf(stack.ErrUnknown, "%s: %v", name, err)
	}
	p, err := i.page(ctx, name)
	if err != nil {
		return nil, err
	}
	release := &stack.Release{Name: p.name, Version: v.String()}
	var all []file
	for _, f := range p.files {
		if f.version.Compare(v) == 0 {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil, i.errorf(stack.ErrUnknown, "%s has no version %s", p.name, v)
	}
	best, fits := pick(all, on)
	if best == nil {
		return nil, i.errorf(stack.ErrUnknown, "%s %s is there as source only, without a wheel", p.name, v)
	}
	facts, err := i.facts(ctx, *best, fits)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, stack.ErrUnavailable), errors.Is(err, stack.ErrUnknown):
		return nil, fmt.Errorf("%s %s: %w", p.name, v, err)
	default: // the disk, for one
		return nil, i.errorf(stack.ErrUnavailable, "%s %s: %v", p.name, v, err)
	}
	release.Requires, release.Libraries, release.Known = facts.Requires, facts.Libraries, facts.Known && fits
	return release, nil
}

// errorf makes an error that names the index and wraps one of stack's.
func (i *Index) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("package index %s: %w: %s", i.base.Host, kind, fmt.Sprintf(format, args...))
}
