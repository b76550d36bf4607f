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
	// Wheels have no Facts, which are stored by themselves.
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
	Wheel   string `json:"wheel"`   // SHA-256 of the wheel that breaks
	Text    string `json:"text"`    // a sentence without a period
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
