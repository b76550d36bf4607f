package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/store"
)

// Limits of the releases that one check reads because other repositories pin them.
const (
	maxPinned      = 50        // releases
	maxPinnedWheel = 64 << 20  // bytes of the libraries of one, compressed
	maxPinnedBytes = 200 << 20 // of all; those that are being read are read to their end
	pinnedTime     = 30 * time.Second
	pinnedAtOnce   = 4
)

// pinnedRelease is a release that lock files of other repositories pin, and that uses a package of
// the build.
type pinnedRelease struct {
	packages.ID
	// Builder is the repository of the installation of which a wheel of this release is stored; 0 =
	// it is one of the built-in list of packages that use others, and read from the index. So no
	// name is looked up that only a repository has.
	Builder int64
}

// compare orders releases by their names.
func (p pinnedRelease) compare(q pinnedRelease) int {
	return cmp.Or(strings.Compare(p.String(), q.String()), cmp.Compare(p.Builder, q.Builder))
}

// key returns a release that is the same for all spellings of its version.
func (p pinnedRelease) key() pinnedRelease { return pinnedRelease{p.ID.Key(), p.Builder} }

// pinners finds the releases that lock files pin and that use one of some packages.
type pinners struct {
	names  []string                // of the packages, normalized
	listed map[string]bool         // packages of the built-in list that use them
	builds map[packages.ID][]int64 // repositories with stored wheels that require them
	built  map[string]bool         // names in builds
	// spelled are the releases as they were first written, by their keys: a lock file may have 1.0
	// where the wheel has 1.0.0.
	spelled map[packages.ID]packages.ID
}

func newPinners(names []string) *pinners {
	p := &pinners{
		names: names, listed: map[string]bool{}, builds: map[packages.ID][]int64{},
		built: map[string]bool{}, spelled: map[packages.ID]packages.ID{},
	}
	for _, name := range names {
		for _, d := range packages.History().Dependents(name) {
			p.listed[d.Name] = !slices.Contains(names, d.Name)
		}
	}
	return p
}

// build adds a stored wheel of a repository.
func (p *pinners) build(repository int64, w *impact.Uses) {
	id, ok := p.release(w.Name + "==" + w.Version)
	if ok && !p.listed[id.Name] && slices.ContainsFunc(w.Requires, func(n string) bool {
		return slices.Contains(p.names, n)
	}) && !slices.Contains(p.builds[id], repository) {
		p.builds[id], p.built[id.Name] = append(p.builds[id], repository), true
	}
}

// release returns the release that NAME==VERSION pins, spelled as the first time. ok is false for a
// version that installers refuse.
func (p *pinners) release(pin string) (_ packages.ID, ok bool) {
	id, ok := packages.Pinned(pin)
	if _, err := pkgmeta.ParseVersion(id.Version); err != nil || !ok {
		return packages.ID{}, false
	}
	key := id.Key()
	if _, known := p.spelled[key]; !known {
		p.spelled[key] = id
	}
	return p.spelled[key], true
}

// of returns the releases that the lock files of a repository pin, with the files, sorted.
func (p *pinners) of(u *store.Uses) map[pinnedRelease][]string {
	out := map[pinnedRelease][]string{}
	for _, file := range slices.Sorted(maps.Keys(u.Pins)) {
		for _, pin := range u.Pins[file] {
			name, _, _ := strings.Cut(pin, "==")
			if !p.listed[name] && !p.built[name] {
				continue // most pins are of other packages
			}
			id, ok := p.release(pin)
			if !ok {
				continue
			}
			add := func(r pinnedRelease) {
				if !slices.Contains(out[r], file) {
					out[r] = append(out[r], file)
				}
			}
			if p.listed[id.Name] {
				add(pinnedRelease{ID: id})
			}
			for _, builder := range p.builds[id] {
				if builder != u.Repository {
					add(pinnedRelease{id, builder})
				}
			}
		}
	}
	return out
}

// pinnedWheels are the wheels of pinned releases, as files.
type pinnedWheels struct {
	wheels map[pinnedRelease]analyzer.Input
	unread map[pinnedRelease]string // why there is none
	opened []*index.Wheel
}

// Close removes the files.
func (p *pinnedWheels) Close() {
	for _, w := range p.opened {
		_ = w.Close() // it is unlinked
	}
}

// readPinned reads the releases of the index that others pin, those first that most repositories
// do, as far as the limits allow. A release whose wheel has no native code has neither a wheel nor
// a reason. The error is that of ctx or of GitHub.
func (r *round) readPinned(
	ctx context.Context, dir string, users []dependent, report *analyzer.Report,
) (*pinnedWheels, error) {
	out := &pinnedWheels{
		wheels: map[pinnedRelease]analyzer.Input{}, unread: map[pinnedRelease]string{},
	}
	wanted := fromIndex(users)
	if len(wanted) == 0 {
		return out, nil
	}
	look, err := r.guard(ctx, r.repo, r.subject.base.Ref, r.set.Repository, nil)
	if err != nil {
		return nil, err
	}
	for i, p := range wanted {
		if i >= maxPinned {
			out.unread[p] = fmt.Sprintf("only %d releases that others pin are read", maxPinned)
		} else if look == nil {
			out.unread[p] = "no package index is configured, so it was not read"
		}
	}
	if look == nil {
		return out, nil
	}
	limited, cancel := context.WithTimeout(ctx, pinnedTime)
	defer cancel()
	from, targets := look.Comparing(nil), builtFor(report)
	left := int64(maxPinnedBytes)
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(pinnedAtOnce)
	for _, p := range wanted[:min(len(wanted), maxPinned)] {
		g.Go(func() error {
			mu.Lock()
			full := left <= 0
			mu.Unlock()
			w, err := &index.Wheel{}, error(nil)
			if !full {
				w, err = openPinned(limited, from, p.ID, targets)
			}
			if err == nil && w.ReaderAt != nil {
				err = w.Spool(dir)
			}
			mu.Lock()
			defer mu.Unlock()
			var large *index.TooLargeError
			switch {
			case full:
				out.unread[p] = fmt.Sprintf("the limit of %d MB for what others pin was reached",
					maxPinnedBytes>>20)
			case errors.As(err, &large):
				out.unread[p] = fmt.Sprintf("%s, and at most %d MB are read", err, maxPinnedWheel>>20)
			case limited.Err() != nil:
				out.unread[p] = fmt.Sprintf("reading what others pin takes longer than %s", pinnedTime)
			case err != nil:
				out.unread[p] = err.Error()
			case w.ReaderAt != nil:
				left -= w.Size
				in := w.Input()
				in.Content = w.ReaderAt
				out.wheels[p], out.opened = in, append(out.opened, w)
			}
			return nil
		})
	}
	if err := errors.Join(g.Wait(), ctx.Err()); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// fromIndex returns the pinned releases that are read from the index, those first that most
// repositories pin.
func fromIndex(users []dependent) []pinnedRelease {
	count := map[pinnedRelease]int{}
	for _, u := range users {
		for p := range u.pinned {
			if p.Builder == 0 {
				count[p]++
			}
		}
	}
	return slices.SortedFunc(maps.Keys(count), func(a, b pinnedRelease) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a.String(), b.String()))
	})
}

// builtFor returns where the wheels of a report are installed, the most usual first.
func builtFor(report *analyzer.Report) []packages.Target {
	var tags []pkgmeta.Tag
	for _, a := range report.Artifacts {
		if w, err := pkgmeta.ParseWheelName(path.Base(a.Path)); err == nil && a.Objects > 0 {
			tags = append(tags, w.Tags...)
		}
	}
	return impact.Targets(tags)
}

// openPinned opens the wheel of a release for the first of the targets that has one.
func openPinned(
	ctx context.Context, from index.Installer, id packages.ID, targets []packages.Target,
) (*index.Wheel, error) {
	var first error
	for _, on := range targets {
		w, err := from.Open(ctx, id.Name, id.Version, on, maxPinnedWheel)
		if none := (*index.NoWheelError)(nil); !errors.As(err, &none) {
			return w, err
		}
		first = cmp.Or(first, err)
	}
	return nil, cmp.Or(first, errors.New("this commit builds no wheel for Linux"))
}
