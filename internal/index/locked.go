package index

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Locked are the files that lock files list. They make the pages of the index unnecessary.
type Locked struct {
	// Files are the files by release; Name is normalized and Version is as in
	// pkgmeta.Version.String.
	Files map[packages.ID][]lockfile.File
	// Digests are the SHA-256 of which the files of a release must have one; a release without any may
	// have every file. Keys are as in Files.
	Digests map[packages.ID][]string
	// AnyPython means that the interpreter is not known: that no file with one of Digests is for it is
	// no error.
	AnyPython bool
	// Pins are the versions that each package has, as in Files; several if there are several lock
	// files.
	Pins map[string][]string
	// Complete means that the lock files pin whatever a package needs. Then the requirements of
	// wheels for any platform are not read.
	Complete bool
	// ReadAll means that wheels are read also if the history lists them: libraries of other packages
	// are loaded first, or some GPUs have to be supported.
	ReadAll bool
	// Bytes means that the content of wheels is read also if a store has their facts.
	Bytes bool
	// Without are the keys of releases whose libraries are not needed.
	Without map[packages.ID]bool
}

// WithLock returns the index with the files of lock files. It shares the caches of i. A lock file
// may come from a pull request: a wheel that it lists is only requested from a host that the pages
// of the index link to.
func (i *Index) WithLock(l *Locked) *Index { return &Index{state: i.state, locked: l} }

// Installer finds the wheels that pip would install. *Index and *Guard implement it.
type Installer interface {
	Open(
		ctx context.Context,
		name, version string,
		on packages.Target,
		limit int64,
	) (*Wheel, error)
	Pure(ctx context.Context, name, version string, on packages.Target) (bool, error)
}

// Comparing returns an Installer that refuses wheels with other digests than those of their
// release; see Locked.Digests.
func (i *Index) Comparing(digests map[packages.ID][]string) Installer {
	return i.WithLock(&Locked{Digests: digests})
}

// WithLock is Index.WithLock for each index.
func (s Several) WithLock(l *Locked) Several {
	var out Several
	for _, i := range s {
		out = append(out, i.WithLock(l))
	}
	return out
}

// fromLock returns the wheel of a version that pip would install of those in the lock files, and
// the files of that version. best is nil if they do not say where it is.
func (i *Index) fromLock(
	ctx context.Context,
	name string,
	version pkgmeta.Version,
	on packages.Target,
) (best *file, all []file) {
	best, all = i.inLock(name, version, on)
	if best == nil || !i.locked.without(best) && (best.url == nil || !i.linksTo(ctx, best.url)) {
		return nil, nil
	}
	return best, all
}

// inLock is like fromLock, but the lock files need not say where the wheel is: its url may be nil.
func (i *Index) inLock(
	name string,
	version pkgmeta.Version,
	on packages.Target,
) (best *file, all []file) {
	if i.locked == nil {
		return nil, nil
	}
	name = pkgmeta.Normalize(name)
	for _, l := range i.locked.Files[packages.ID{Name: name, Version: version.String()}] {
		e := entry{
			Filename: l.Name, URL: l.URL, Size: l.Size,
			Hashes: digests{l.SHA256},
		}
		f, ok := e.file(name, i.base)
		if !ok || f.version.Compare(version) != 0 {
			continue
		}
		if f.locked = true; l.URL == "" {
			f.url = nil
		}
		all = append(all, f)
	}
	best, fits := pick(all, on)
	if !fits {
		return nil, nil
	}
	return best, all
}

// digests returns those of which a file has to have one; nil if it may have any.
func (l *Locked) digests(name string, version pkgmeta.Version) []string {
	if l == nil {
		return nil
	}
	return l.Digests[packages.ID{Name: pkgmeta.Normalize(name), Version: version.String()}]
}

// pickListed is like pick for the files of a release that has to have one of the digests: like pip,
// it prefers files that have one, and then those of which the index has none.
func pickListed(files []file, digests []string, on packages.Target) (best *file, fits bool) {
	if digests == nil {
		return pick(files, on)
	}
	listed, unknown := byDigest(files, digests)
	for _, some := range [][]file{listed, unknown} {
		if best, fits = pick(some, on); fits {
			return best, true
		}
	}
	return pick(files, on)
}

// byDigest returns the files that have one of the digests, and those of which none is known.
func byDigest(files []file, digests []string) (listed, unknown []file) {
	for _, f := range files {
		switch {
		case f.sha256 == "":
			unknown = append(unknown, f)
		case slices.Contains(digests, f.sha256):
			listed = append(listed, f)
		}
	}
	return listed, unknown
}

// refused returns the error for the best of the files of a release if it has none of the digests of
// the lock files; nil if that is not known.
func (l *Locked) refused(
	best *file,
	all []file,
	version string,
	on packages.Target,
) *packages.HashError {
	v, err := pkgmeta.ParseVersion(version)
	if err != nil { // a version that no lock file can pin
		return nil
	}
	digests := l.digests(best.project, v)
	if digests == nil || best.sha256 == "" || best.locked ||
		slices.Contains(digests, best.sha256) {
		return nil
	}
	e := &packages.HashError{
		Name: best.project, Version: v.String(), File: best.name, SHA256: best.sha256,
	}
	var tags []pkgmeta.Tag
	listed, _ := byDigest(all, digests)
	for _, f := range listed {
		tags = append(tags, f.tags...)
		e.Listed = append(e.Listed, f.name)
		e.Source = e.Source || f.tags == nil
	}
	e.Misfit, _ = packages.MisfitOf(tags, on)
	on.Python = ""
	if _, fits := pick(listed, on); fits && l.AnyPython {
		return nil
	}
	return e
}

// refusedRelease is refused for the wheel that is installed on the target or, if it has several
// interpreters, on one of them.
func (l *Locked) refusedRelease(
	all []file,
	version pkgmeta.Version,
	on packages.Target,
) *packages.HashError {
	if len(all) == 0 {
		return nil
	}
	if on.Pythons != "" {
		on.Python = ""
	}
	best, fits := pickListed(all, l.digests(all[0].project, version), on)
	if !fits {
		return nil
	}
	return l.refused(best, all, version.String(), on)
}

// skips reports whether nothing of a wheel is read.
func (l *Locked) skips(f *file) bool { return l != nil && l.Complete && f.pure() }

// unlisted reports whether Without has a release of which the lock files list no file.
func (l *Locked) unlisted(name, version string) bool {
	if l == nil || len(l.Without) == 0 {
		return false
	}
	v, err := pkgmeta.ParseVersion(version)
	id := packages.ID{Name: pkgmeta.Normalize(name), Version: v.String()}
	return err == nil && l.Without[id.Key()] && len(l.Files[id]) == 0
}

// without reports whether a wheel has no libraries, as far as they are needed, and its requirements
// do not matter.
func (l *Locked) without(f *file) bool {
	id := packages.ID{Name: f.project, Version: f.version.String()}
	return l.skips(f) || l != nil && l.Without[id.Key()]
}

// pins reports whether the lock files have exactly these releases of their packages.
func (l *Locked) pins(releases []packages.ID) bool {
	return !slices.ContainsFunc(releases, func(id packages.ID) bool {
		return l == nil || len(l.Pins[id.Name]) != 1 ||
			!pkgmeta.SameVersion(l.Pins[id.Name][0], id.Version)
	})
}

// linksTo reports whether a URL has the scheme and the host of the index or of files on its pages.
func (i *Index) linksTo(ctx context.Context, u *url.URL) bool {
	hosts, err := i.hosts.do(ctx, "", func(ctx context.Context) ([]string, error) {
		key := "index/2/hosts/" + hashed(i.base.String())
		hosts := []string{origin(i.base)}
		if loadCached(ctx, i, key, &hosts) {
			return hosts, nil
		}
		p, err := i.page(ctx, i.locked.smallest())
		if errors.Is(err, packages.ErrUnknown) { // it is on another index, and so may be the others
			return hosts, nil
		}
		if err != nil {
			return nil, err
		}
		for _, f := range p.files {
			if at := origin(f.url); !slices.Contains(hosts, at) {
				hosts = append(hosts, at)
			}
		}
		i.storeCached(ctx, key, factsLife, hosts)
		return hosts, nil
	})
	return err == nil && slices.Contains(hosts, origin(u))
}

func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// smallest returns the package with the fewest files, whose page is the smallest if its other
// versions are like that.
func (l *Locked) smallest() string {
	var least packages.ID
	for id, files := range l.Files {
		n := len(files) - len(l.Files[least])
		if least.Name == "" || n < 0 || n == 0 && strings.Compare(id.Name, least.Name) < 0 {
			least = id
		}
	}
	return least.Name
}
