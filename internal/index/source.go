package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Versions lists the versions that can be installed on the target: those with a wheel or source
// archive that is not yanked, and that packages.Target.Installs accepts (PEP 503 and PEP 691,
// "requires-python"), normalized, oldest first. Errors wrap packages.ErrUnknown or
// packages.ErrUnavailable.
func (i *Index) Versions(
	ctx context.Context,
	name string,
	on packages.Target,
) ([]string, error) {
	p, err := i.pageWith(ctx, name, func(*page) bool { return !on.Fresh })
	if err != nil {
		return nil, err
	}
	on.Fresh = false
	files := slices.DeleteFunc(slices.Clone(p.files), func(f file) bool { return f.yanked })
	slices.SortStableFunc(files, func(a, b file) int { return a.version.Compare(b.version) })
	names := []string{}
	for len(files) > 0 {
		v := files[0].version
		var same []packages.File
		for len(files) > 0 && files[0].version.Compare(v) == 0 {
			same = append(same, packages.File{
				RequiresPython: files[0].requiresPython, Tags: files[0].tags,
			})
			files = files[1:]
		}
		if on.Installs(same) {
			names = append(names, v.String())
		}
	}
	return names, nil
}

// Published is a wheel on the page of a project.
type Published struct {
	File           string
	Version        pkgmeta.Version
	Yanked         bool
	RequiresPython string // "" = any
}

// Wheels lists all wheels of a project. Errors wrap packages.ErrUnknown or packages.ErrUnavailable.
func (i *Index) Wheels(ctx context.Context, name string) ([]Published, error) {
	p, err := i.page(ctx, name)
	if err != nil {
		return nil, err
	}
	var all []Published
	for _, f := range p.files {
		if f.tags != nil {
			all = append(all, Published{f.name, f.version, f.yanked, f.requiresPython})
		}
	}
	return all, nil
}

// Release describes a version by the wheel that pip would install on a glibc system; empty fields
// of on match every wheel. Yanked versions are found too. Libraries are Unread unless the history
// describes the release.
//
// If no wheel is compatible, Known is false and Requires is that of another wheel. Versions with
// only a source archive are unknown, because the result of the build is. Local versions
// (2.7.0+rocm6.3) that the index does not have are taken from the history, because such builds
// are published on other indexes. Errors wrap packages.ErrUnknown or packages.ErrUnavailable.
func (i *Index) Release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	r, err := i.release(ctx, name, version, on)
	if errors.Is(err, packages.ErrUnknown) {
		return i.fromHistory(ctx, name, version, on, err)
	}
	return r, err
}

// fromHistory returns a local version from the history, or else the error unknown.
func (i *Index) fromHistory(
	ctx context.Context,
	name, version string,
	on packages.Target,
	unknown error,
) (*packages.Release, error) {
	if v, err := pkgmeta.ParseVersion(version); err != nil || v.Local() == "" || i.history == nil {
		return nil, unknown
	}
	r, err := i.history.Release(ctx, name, version, on)
	if err != nil {
		return nil, unknown
	}
	return r, nil
}

// release is Release without fromHistory.
func (i *Index) release(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (*packages.Release, error) {
	if i.locked.unlisted(name, version) {
		return &packages.Release{
			Name: pkgmeta.Normalize(name), Version: normal(version), Known: true,
		}, nil
	}
	best, fits, files, err := i.choose(ctx, name, version, on)
	if err != nil {
		return nil, err
	}
	if best.version.Local() != "" {
		version = best.version.String()
	}
	r, err := i.describe(ctx, best, fits, files, version, on)
	if err != nil {
		return nil, err
	}
	if refused := i.locked.refusedRelease(files, best.version, on); refused != nil {
		with := *r // that of the history is shared
		with.Refused = refused
		r = &with
	}
	return r, nil
}

// describe describes the release of a wheel; the arguments are results of choose.
func (i *Index) describe(
	ctx context.Context,
	best *file,
	fits bool,
	files []file,
	version string,
	on packages.Target,
) (*packages.Release, error) {
	listed := i.alone(best)
	alone := fits && listed.Alone && !listed.Shares
	if i.locked.without(best) || alone && i.locked != nil && i.locked.Complete {
		return &packages.Release{Name: best.project, Version: normal(version), Known: true}, nil
	}
	if fits && !on.Modules && i.recorded(ctx, *best, files, on) {
		if r, err := i.history.Release(ctx, best.project, version, on); err == nil {
			i.meter.recorded.Add(1)
			if best.size > 0 {
				i.meter.spared.Add(best.size)
				i.meter.sized.Add(1)
			}
			return r, nil
		}
	}
	facts, err := i.facts(ctx, *best, fits && !alone)
	if err != nil {
		return nil, i.failed(ctx, *best, err)
	}
	release := &packages.Release{
		Name:           best.project,
		Version:        normal(version),
		Requires:       facts.Requires,
		RequiresPython: facts.RequiresPython,
		Known:          facts.Known && fits || alone,
	}
	if release.Known {
		for _, m := range facts.Objects {
			release.Libraries = append(
				release.Libraries,
				packages.Library{Path: installed(m.Path), Unread: true},
			)
		}
	}
	return release, nil
}

// normal returns a normalized version. The version in a file name may differ from the requested
// one, such as 1.0 for 1.0.0.
func normal(version string) string {
	v, _ := pkgmeta.ParseVersion(version) // it was parsed before
	return v.String()
}

// choose returns the wheel of a version, and all files of that version. all is also returned with
// the error for versions that have only a source archive.
func (i *Index) choose(
	ctx context.Context,
	name, version string,
	on packages.Target,
) (best *file, fits bool, all []file, err error) {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil {
		return nil, false, nil, i.errorf(packages.ErrUnknown, "%s: %v", name, err)
	}
	if best, all := i.fromLock(ctx, name, v, on); best != nil {
		return best, true, all, nil
	}
	p, err := i.pageWith(ctx, name, func(p *page) bool {
		_, fits := pickListed(p.of(v), i.locked.digests(name, v), on)
		return fits
	})
	if err != nil {
		return nil, false, nil, err
	}
	if all = p.of(v); len(all) == 0 {
		if local := p.localOf(v); local != nil { // ==1.0 admits 1.0+cu1 (PEP 440)
			v, all = *local, p.of(*local)
		}
	}
	if len(all) == 0 {
		return nil, false, nil, i.errorf(packages.ErrUnknown, "%s has no version %s", p.name, v)
	}
	best, fits = pickListed(all, i.locked.digests(name, v), on)
	if best == nil {
		return nil, false, all, i.errorf(
			packages.ErrSource,
			"%s %s has only a source distribution, no wheel",
			p.name,
			v,
		)
	}
	return best, fits, all, nil
}

// localOf returns the highest local version of a version that has none, such as 1.0+cu1 of 1.0; nil
// without one.
func (p *page) localOf(v pkgmeta.Version) (highest *pkgmeta.Version) {
	if v.Local() != "" {
		return nil
	}
	for n := range p.files {
		f := &p.files[n]
		if f.version.Local() != "" && f.version.Public().Compare(v) == 0 &&
			(highest == nil || f.version.Compare(*highest) > 0) {
			highest = &f.version
		}
	}
	return highest
}

// recorded reports whether the index lists the file from which the history describes a release,
// identified by its digest. files are those of the release, of which best is installed. The wheels
// of a release for several interpreters differ only in extension modules, which nothing links to;
// those for other platforms may have been built with another compiler.
func (i *Index) recorded(
	ctx context.Context,
	best file,
	files []file,
	on packages.Target,
) bool {
	if i.history == nil {
		return false
	}
	from, sum, ok := i.history.WheelOf(best.project, best.version.String(), on)
	if !ok || sum == "" || !samePlatforms(best.tags, from) {
		return false
	}
	lists := func(files []file, name, sum string) bool {
		return slices.ContainsFunc(files, func(f file) bool { return f.name == name && f.sha256 == sum })
	}
	if lists(files, from, sum) || !best.locked {
		return lists(files, from, sum)
	}
	// A lock file may list the wheels for its interpreters only.
	if _, ok := i.history.Listed(best.name, best.sha256); ok {
		return true
	}
	p, err := i.page(ctx, best.project)
	return err == nil && lists(p.files, from, sum) && lists(p.files, best.name, best.sha256)
}

// samePlatforms reports whether the file name of a wheel has the platform tags of another wheel.
func samePlatforms(tags []pkgmeta.Tag, wheel string) bool {
	name, err := pkgmeta.ParseWheelName(wheel)
	platforms := func(tags []pkgmeta.Tag) map[string]bool {
		out := map[string]bool{}
		for _, t := range tags {
			out[t.Platform] = true
		}
		return out
	}
	return err == nil && maps.Equal(platforms(tags), platforms(name.Tags))
}

// failed adds the release to an error and wraps one of the errors of packages.
func (i *Index) failed(ctx context.Context, f file, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, packages.ErrUnavailable), errors.Is(err, packages.ErrUnknown):
		return fmt.Errorf("%s %s: %w", f.project, f.version, err)
	default: // for example, errors of the disk
		return i.errorf(packages.ErrUnavailable, "%s %s: %v", f.project, f.version, err)
	}
}

// errorf returns an error that names the index and wraps kind.
func (i *Index) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("package index %s: %w: %s", i.base.Host, kind, fmt.Sprintf(format, args...))
}
