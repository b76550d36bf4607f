package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/internal/worker"
)

// Uses is what the default branch of a repository uses of packages: what its lock files pin, and
// what the wheels import that its workflows upload. It is stored for one installation, and removed
// when the App loses access to the repository.
type Uses struct {
	Repository int64 `json:"repository"`
	// Pins are NAME==VERSION, by the path of the lock file.
	Pins map[string][]string `json:"pins,omitempty"`
	// Wheels have no Facts and Exports, which are stored by themselves.
	Wheels []impact.Uses `json:"wheels,omitempty"`
	Found  string        `json:"found,omitempty"` // key of the artifacts with the wheels
	// With are the repositories that may see what is stored, in addition to those whose readers can
	// see it: patterns of OWNER/NAME or NAME, of the configuration.
	With []string `json:"with,omitempty"`
}

// Notice is what a release breaks in a repository, for its next reviews.
type Notice struct {
	Package string `json:"package"`
	Version string `json:"version"` // of the release
	Wheel   string `json:"wheel"`   // SHA-256 of the wheel that breaks, "" with Pin
	// Pin is the release, NAME==VERSION, that breaks and that lock files pin.
	Pin string `json:"pin,omitempty"`
	// Builder is the repository of which a wheel stands for Pin; 0 = it was read from the index.
	Builder int64  `json:"builder,omitempty"`
	Text    string `json:"text"` // a sentence without a period
	// Repository has the release.
	Repository int64  `json:"repository"`
	Tag        string `json:"tag"`
}

const (
	usesTTL = 365 * 24 * time.Hour // of a repository without pushes

	// maxUsing limits the repositories of an installation. GitHub lists at most 3,000 of them here.
	maxUsing   = 3000
	maxPins    = 5000 // of a repository
	maxNotices = 20   // of a repository
	maxBuilds  = 100  // of a repository that lost something
	maxLost    = 1000 // symbols of a build
)

func usingKey(installation int64) string { return fmt.Sprintf("using/%d", installation) }

func usesKey(installation, repository int64) string {
	return fmt.Sprintf("uses/%d/%d", installation, repository)
}

func factsKey(installation, repository int64, sha256 string) string {
	return fmt.Sprintf("facts/%d/%d/%s", installation, repository, sha256)
}

func noticesKey(installation, repository int64) string {
	return fmt.Sprintf("notices/%d/%d", installation, repository)
}

// Using lists the repositories of an installation whose uses are stored, sorted.
func (s *Store) Using(ctx context.Context, installation int64) ([]int64, error) {
	var ids []int64
	err := s.Get(ctx, usingKey(installation), &ids)
	return ids, err
}

// Uses returns what a repository uses; the zero value if nothing is stored.
func (s *Store) Uses(ctx context.Context, installation, repository int64) (Uses, error) {
	var u Uses
	err := s.Get(ctx, usesKey(installation, repository), &u)
	return u, err
}

// UpdateUses changes what a repository uses. change may be called several times, and returns false
// if nothing changes. Pins above the limit are left out, the last files first.
func (s *Store) UpdateUses(
	ctx context.Context,
	installation, repository int64,
	change func(*Uses) bool,
) error {
	var empty bool
	var before, after []impact.Uses
	key := usesKey(installation, repository)
	err := update(ctx, s, key, usesTTL, func(u Uses) (Uses, bool, error) {
		before = slices.Clone(u.Wheels)
		changed := change(&u)
		u.Repository, u.Pins = repository, limitPins(u.Pins)
		after = u.Wheels
		empty = len(u.Pins) == 0 && len(u.Wheels) == 0
		return u, changed, nil
	})
	if err != nil {
		return err
	}
	for _, w := range before {
		if !slices.ContainsFunc(after, func(n impact.Uses) bool { return n.SHA256 == w.SHA256 }) {
			if err := s.forget(ctx, factsKey(installation, repository, w.SHA256)); err != nil {
				return err
			}
		}
	}
	return s.list(ctx, installation, repository, !empty)
}

// list adds a repository to those of an installation, or removes it.
func (s *Store) list(ctx context.Context, installation, repository int64, uses bool) error {
	return update(ctx, s, usingKey(installation), usesTTL, func(ids []int64) ([]int64, bool, error) {
		at, there := slices.BinarySearch(ids, repository)
		switch {
		case !uses && there:
			return slices.Delete(ids, at, at+1), true, nil
		case !uses || !there && len(ids) >= maxUsing:
			return ids, false, nil
		case there: // written again, so that it does not expire
			return ids, true, nil
		}
		return slices.Insert(ids, at, repository), true, nil
	})
}

// limitPins returns the pins of as many files as maxPins allows, in the order of their paths.
func limitPins(pins map[string][]string) map[string][]string {
	left := maxPins
	out := map[string][]string{}
	for _, file := range slices.Sorted(maps.Keys(pins)) {
		if n := len(pins[file]); n > 0 && n <= left {
			out[file] = pins[file]
			left -= n
		}
	}
	return out
}

// forget removes a value that Put stored.
func (s *Store) forget(ctx context.Context, key string) error {
	return s.Put(ctx, key, nil, time.Second)
}

// ForgetUses removes all that is stored of what a repository uses.
func (s *Store) ForgetUses(ctx context.Context, installation, repository int64) error {
	err := s.UpdateUses(ctx, installation, repository, func(u *Uses) bool {
		changed := len(u.Pins)+len(u.Wheels)+len(u.With) > 0
		*u = Uses{}
		return changed
	})
	if err == nil {
		err = s.putNotices(ctx, installation, repository, func([]Notice) []Notice { return nil })
	}
	if err == nil {
		err = s.forget(ctx, builtKey(installation, repository))
	}
	if err == nil {
		err = update(ctx, s, lostKey(installation, repository), usesTTL,
			func(all []LostBuild) ([]LostBuild, bool, error) { return nil, len(all) > 0, nil })
	}
	return err
}

// ForgetInstallation removes what is stored of what the repositories of an installation use.
func (s *Store) ForgetInstallation(ctx context.Context, installation int64) error {
	ids, err := s.Using(ctx, installation)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.ForgetUses(ctx, installation, id); err != nil {
			return err
		}
	}
	return nil
}

// PutFacts stores what was read of a wheel of a repository.
func (s *Store) PutFacts(
	ctx context.Context,
	installation, repository int64,
	sha256 string,
	facts []byte,
) error {
	return s.Put(ctx, factsKey(installation, repository, sha256), facts, usesTTL)
}

// Facts returns what was read of a wheel of a repository; nil if it is not stored.
func (s *Store) Facts(
	ctx context.Context,
	installation, repository int64,
	sha256 string,
) (facts []byte, _ error) {
	err := s.Get(ctx, factsKey(installation, repository, sha256), &facts)
	return facts, err
}

// Notices returns what releases break in a repository.
func (s *Store) Notices(ctx context.Context, installation, repository int64) ([]Notice, error) {
	var ns []Notice
	err := s.Get(ctx, noticesKey(installation, repository), &ns)
	return ns, err
}

// PutNotices replaces the notices of a package in a repository; none removes them. Another release
// of the package replaces those of the one before.
func (s *Store) PutNotices(
	ctx context.Context,
	installation, repository int64,
	name string,
	ns ...Notice,
) error {
	return s.putNotices(ctx, installation, repository, func(old []Notice) []Notice {
		old = slices.DeleteFunc(old, func(n Notice) bool { return n.Package == name })
		out := append(ns, old...)
		return out[:min(len(out), maxNotices)]
	})
}

func (s *Store) putNotices(
	ctx context.Context,
	installation, repository int64,
	change func([]Notice) []Notice,
) error {
	return update(ctx, s, noticesKey(installation, repository), usesTTL,
		func(old []Notice) ([]Notice, bool, error) {
			before, err := json.Marshal(old)
			if err != nil {
				return nil, false, worker.Internal(err)
			}
			now := change(old)
			after, err := json.Marshal(now)
			return now, err == nil && string(before) != string(after) &&
				len(old)+len(now) > 0, err
		})
}

// LostBuild is a build of the default branch that no longer exports what the one before it did.
type LostBuild struct {
	SHA    string    `json:"sha"`    // its commit
	Before string    `json:"before"` // the commit of the build before it
	At     time.Time `json:"at"`     // when it was analyzed
	// Lost are the names, NAME or NAME@VERSION, and SONAMEs, at most maxLost of All.
	Lost []string `json:"lost"`
	All  int      `json:"all"`
}

// builtLast is the last build of a default branch.
type builtLast struct {
	SHA     string              `json:"sha"`
	Exports map[string][]string `json:"exports"` // by package
}

func builtKey(installation, repository int64) string {
	return fmt.Sprintf("built/%d/%d", installation, repository)
}

func lostKey(installation, repository int64) string {
	return fmt.Sprintf("lost/%d/%d", installation, repository)
}

// AddBuild stores what the wheels of a build of the default branch export, and what they no longer
// do. Packages that a build does not have are not compared, and neither are those with too many
// symbols.
func (s *Store) AddBuild(
	ctx context.Context,
	installation, repository int64,
	sha string,
	wheels []impact.Uses,
) error {
	var before builtLast
	err := s.Get(ctx, builtKey(installation, repository), &before)
	if err != nil || before.SHA == sha {
		return err
	}
	now := builtLast{SHA: sha, Exports: map[string][]string{}}
	lost := LostBuild{SHA: sha, Before: before.SHA, At: s.Now().UTC()}
	for _, w := range wheels {
		if w.Exports == nil {
			continue
		}
		now.Exports[w.Name] = w.Exports
		for _, name := range before.Exports[w.Name] {
			if _, has := slices.BinarySearch(w.Exports, name); has {
				continue
			}
			if lost.All++; len(lost.Lost) < maxLost {
				lost.Lost = append(lost.Lost, name)
			}
		}
	}
	if lost.All > 0 {
		key := lostKey(installation, repository)
		err := update(ctx, s, key, usesTTL, func(all []LostBuild) ([]LostBuild, bool, error) {
			if len(all) > 0 && all[0].SHA == sha {
				return all, false, nil
			}
			all = append([]LostBuild{lost}, all...)
			return all[:min(len(all), maxBuilds)], true, nil
		})
		if err != nil {
			return err
		}
	}
	return s.Put(ctx, builtKey(installation, repository), now, usesTTL)
}

// LostBuilds returns the builds of a default branch that lost something, the newest first.
func (s *Store) LostBuilds(
	ctx context.Context, installation, repository int64,
) ([]LostBuild, error) {
	var all []LostBuild
	err := s.Get(ctx, lostKey(installation, repository), &all)
	return all, err
}

// Listed is a repository of an installation as GitHub last listed it.
type Listed struct {
	ID         int64  `json:"id"`
	Owner      string `json:"owner"`
	Name       string `json:"name"`
	Visibility string `json:"visibility"` // public, internal or private
	URL        string `json:"url,omitempty"`
}

// FullName returns OWNER/NAME.
func (l *Listed) FullName() string { return l.Owner + "/" + l.Name }

// listedTTL is how long a list of repositories is used. A change of the visibility of one sends an
// event, which clears it; the time is for events that were lost.
const listedTTL = 2 * time.Minute

func listedKey(installation int64) string { return fmt.Sprintf("listed/%d", installation) }

// Listed returns the repositories of an installation; nil if they were not listed recently.
func (s *Store) Listed(ctx context.Context, installation int64) (list []Listed, _ error) {
	err := s.Get(ctx, listedKey(installation), &list)
	return list, err
}

// PutListed stores the repositories of an installation.
func (s *Store) PutListed(ctx context.Context, installation int64, list []Listed) error {
	return s.Put(ctx, listedKey(installation), list, listedTTL)
}

// ForgetListed removes the list of the repositories of an installation.
func (s *Store) ForgetListed(ctx context.Context, installation int64) error {
	return s.forget(ctx, listedKey(installation))
}

// Pinned returns the lock files that pin a package, sorted, and the version in each.
func (u *Uses) Pinned(name string) (files, versions []string) {
	for _, file := range slices.Sorted(maps.Keys(u.Pins)) {
		for _, pin := range u.Pins[file] {
			if n, version, _ := strings.Cut(pin, "=="); n == name {
				files = append(files, file)
				versions = append(versions, version)
			}
		}
	}
	return files, versions
}

// PinsOf returns the pins of some packages, by the path of the lock file; nil if there are none.
func (u *Uses) PinsOf(names []string) (pins map[string][]string) {
	for file, all := range u.Pins {
		for _, pin := range all {
			if name, _, _ := strings.Cut(pin, "=="); slices.Contains(names, name) {
				if pins == nil {
					pins = map[string][]string{}
				}
				pins[file] = append(pins[file], pin)
			}
		}
	}
	return pins
}
