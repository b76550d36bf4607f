package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Several combines an index and extra indexes like pip: it lists the versions of all of them, and
// uses the first that has a wheel of a version. If an index is unavailable the result is an
// error, because that index might have a better answer.
type Several []*Index

var _ packages.Reader = Several(nil)

// Versions implements packages.Source.
func (s Several) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	var all []string
	var unknown error
	for _, i := range s {
		versions, err := i.Versions(ctx, name, on)
		switch {
		case err == nil:
			all = append(all, versions...)
		case !errors.Is(err, packages.ErrUnknown):
			return nil, err
		default:
			unknown = joinErrors(unknown, err)
		}
	}
	if all == nil {
		return nil, unknown
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Wheels lists the wheels of a project on all indexes.
func (s Several) Wheels(ctx context.Context, name string) ([]Published, error) {
	var all []Published
	var unknown error
	for _, i := range s {
		wheels, err := i.Wheels(ctx, name)
		if err != nil && !errors.Is(err, packages.ErrUnknown) {
			return nil, err
		}
		all, unknown = append(all, wheels...), joinErrors(unknown, err)
	}
	if all == nil {
		return nil, unknown
	}
	return all, nil
}

// Files lists the files of a version on the first index that has it, as a lock file does: without
// those that were withdrawn. Errors wrap packages.ErrUnknown or packages.ErrUnavailable.
func (s Several) Files(ctx context.Context, name, version string) ([]lockfile.File, error) {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return nil, err
	}
	unknown := fmt.Errorf("%s==%s: %w", name, version, packages.ErrUnknown)
	for _, i := range s {
		p, err := i.page(ctx, name)
		if err != nil && !errors.Is(err, packages.ErrUnknown) {
			return nil, err
		}
		if err != nil {
			continue
		}
		var out []lockfile.File
		for _, f := range p.of(v) {
			if !f.yanked {
				out = append(out, lockfile.File{
					Name: f.name, SHA256: f.sha256, URL: f.url.String(), Size: f.size,
				})
			}
		}
		if out != nil {
			return out, nil
		}
	}
	return nil, unknown
}

// Release implements packages.Source. If an index only knows the requirements of a release, or has
// a wheel with another hash than the lock files, the next index is tried.
func (s Several) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	var partly *packages.Release
	var unknown error
	for _, i := range s {
		r, err := i.release(ctx, name, version, on)
		switch {
		case err == nil && r.Known && r.Refused == nil:
			return r, nil
		case err == nil && partly == nil:
			partly = r
		case err != nil && !errors.Is(err, packages.ErrUnknown):
			return nil, err
		case err != nil:
			unknown = joinErrors(unknown, err)
		}
	}
	switch {
	case partly != nil:
		return partly, nil
	case len(s) == 0:
		return nil, unknown
	}
	return s[0].fromHistory(ctx, name, version, on, unknown)
}

// Read implements packages.Reader. It uses the first index that has the release.
func (s Several) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.Target,
	worth func(path string) int64,
) (*packages.Release, error) {
	if len(unread(r, worth)) == 0 {
		return r, nil
	}
	var unknown error
	for _, i := range s {
		had, err := i.release(ctx, r.Name, r.Version, on)
		if err == nil && had.Known {
			return i.Read(ctx, r, on, worth)
		}
		if err != nil && !errors.Is(err, packages.ErrUnknown) {
			return nil, err
		}
		unknown = joinErrors(unknown, err)
	}
	if len(s) > 0 {
		if _, err := s[0].fromHistory(ctx, r.Name, r.Version, on, unknown); err == nil {
			return r, nil // no index has its files
		}
	}
	return nil, unknown
}

// Cost returns the sum of the costs of all indexes.
func (s Several) Cost() Cost {
	var all Cost
	for _, i := range s {
		c := i.Cost()
		all.Requests, all.Bytes, all.Cached, all.Stored, all.Recorded, all.Spared,
			all.Sized = all.Requests+c.Requests, all.Bytes+c.Bytes, all.Cached+c.Cached,
			all.Stored+c.Stored, all.Recorded+c.Recorded, all.Spared+c.Spared, all.Sized+c.Sized
	}
	return all
}

func joinErrors(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}
