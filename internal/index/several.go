package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/compat-app/compat/analyzer/packages"
)

// Several asks an index and extra ones as pip does: what any of them offers counts, and the first
// that has a wheel of a version gives it. An index that can't be asked spoils the answer, since it
// might have had a better one.
type Several []*Index

var _ packages.Reader = Several(nil)

// Versions implements packages.Source.
func (s Several) Versions(ctx context.Context, name string) ([]string, error) {
	var all []string
	var unknown error
	for _, i := range s {
		versions, err := i.Versions(ctx, name)
		switch {
		case err == nil:
			all = append(all, versions...)
		case !errors.Is(err, packages.ErrUnknown):
			return nil, err
		default:
			unknown = joined(unknown, err)
		}
	}
	if all == nil {
		return nil, unknown
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Release implements packages.Source. A release that one index knows by its requirements only may
// be whole on the next.
func (s Several) Release(
	ctx context.Context,
	name, version string,
	on packages.On,
) (*packages.Release, error) {
	var partly *packages.Release
	var unknown error
	for _, i := range s {
		r, err := i.release(ctx, name, version, on)
		switch {
		case err == nil && r.Known:
			return r, nil
		case err == nil && partly == nil:
			partly = r
		case err != nil && !errors.Is(err, packages.ErrUnknown):
			return nil, err
		case err != nil:
			unknown = joined(unknown, err)
		}
	}
	switch {
	case partly != nil:
		return partly, nil
	case len(s) == 0:
		return nil, unknown
	}
	return s[0].elsewhere(ctx, name, version, on, unknown)
}

// Read implements packages.Reader: the index that gave the release reads it.
func (s Several) Read(
	ctx context.Context,
	r *packages.Release,
	on packages.On,
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
		unknown = joined(unknown, err)
	}
	if len(s) > 0 {
		if _, err := s[0].elsewhere(ctx, r.Name, r.Version, on, unknown); err == nil {
			return r, nil // nobody here has its files
		}
	}
	return nil, unknown
}

// Cost is that of all.
func (s Several) Cost() Cost {
	var all Cost
	for _, i := range s {
		c := i.Cost()
		all.Requests, all.Bytes, all.Cached, all.Recorded, all.Spared,
			all.Sized = all.Requests+c.Requests, all.Bytes+c.Bytes, all.Cached+c.Cached,
			all.Recorded+c.Recorded, all.Spared+c.Spared, all.Sized+c.Sized
	}
	return all
}

func joined(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return fmt.Errorf("%w; %w", a, b)
}
