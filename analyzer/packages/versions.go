package packages

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Sorted parses and sorts versions, oldest first; invalid PEP 440 versions are dropped.
func Sorted(listed []string) []pkgmeta.Version {
	vs := make([]pkgmeta.Version, 0, len(listed))
	for _, s := range listed {
		if v, err := pkgmeta.ParseVersion(s); err == nil {
			vs = append(vs, v)
		}
	}
	slices.SortFunc(vs, pkgmeta.Version.Compare)
	return vs
}

// First returns the oldest version above floor, of those for a target, that good accepts, and in
// bad the version before it, or floor if there is none between. It bisects, so once good is true
// for a version it must be true for later ones: libraries add symbols within one SONAME and do not
// remove them. ok is false if good rejects even the newest version.
func First(
	ctx context.Context,
	source Source,
	on Target,
	name, floor string,
	good func(version string) (bool, error),
) (first, bad string, ok bool, err error) {
	listed, err := source.Versions(ctx, name, on)
	if err != nil {
		return "", "", false, err
	}
	at, err := pkgmeta.ParseVersion(floor)
	if err != nil {
		return "", "", false, err
	}
	versions := slices.DeleteFunc(
		Sorted(listed),
		func(v pkgmeta.Version) bool { return v.Compare(at) <= 0 || v.IsPreRelease() },
	)
	lo, hi := 0, len(versions)-1 // versions[hi] is good after the check below
	if hi < 0 {
		return "", "", false, nil
	}
	if g, err := good(versions[hi].String()); err != nil || !g {
		return "", "", false, err
	}
	for lo < hi {
		mid := (lo + hi) / 2
		g, err := good(versions[mid].String())
		switch {
		case err != nil:
			return "", "", false, err
		case g:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	bad = floor
	if hi > 0 {
		bad = versions[hi-1].String()
	}
	return versions[hi].String(), bad, true, nil
}

// AtLeast returns the shortest lower bound that allows first and excludes bad: ">=12.9" for 12.9.41
// after 12.8.93.
func AtLeast(first, bad string) string {
	b, err := pkgmeta.ParseVersion(bad)
	if err != nil {
		return ">=" + first
	}
	parts := strings.Split(first, ".")
	for n := 2; n < len(parts); n++ {
		short := strings.Join(parts[:n], ".")
		if v, err := pkgmeta.ParseVersion(short); err == nil && v.Compare(b) > 0 {
			return ">=" + short
		}
	}
	return ">=" + first
}

// Between returns the shortest range that allows first to last and excludes below and beyond; an
// empty below or beyond means no bound on that side.
func Between(below, first, last, beyond string) string {
	low := ">=" + first
	if below != "" {
		low = AtLeast(first, below)
	}
	if beyond == "" {
		return low
	}
	l, errL := pkgmeta.ParseVersion(last)
	parts := strings.Split(beyond, ".")
	for n := 1; n < len(parts) && errL == nil; n++ {
		short := strings.Join(parts[:n], ".")
		if v, err := pkgmeta.ParseVersion(short); err == nil && v.Compare(l) > 0 {
			return low + ",<" + short
		}
	}
	return low + ",<" + beyond
}
