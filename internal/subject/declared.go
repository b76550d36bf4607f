package subject

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/review"
)

const (
	// maxDeclaring limits the files of a base branch that are searched for declared names.
	maxDeclaring = 40
	// declaredTTL is how long the names of a commit and the requirements of a base's artifacts
	// are stored.
	declaredTTL = 30 * 24 * time.Hour
)

// PackageIndex is the package index of the service. If it takes credentials, only a guard can look
// anything up: there is no other access to the index.
type PackageIndex struct {
	index *index.Index
	allow []string
	any   bool
}

// NewPackageIndex returns the index i. allow are the names that any pull request may look up, and
// any means all names; see COMPAT_INDEX_ALLOW.
func NewPackageIndex(i *index.Index, allow []string, any bool) *PackageIndex {
	return &PackageIndex{i, allow, any}
}

// guarded is what can look up packages.
type guarded interface {
	packages.Source
	review.Index
}

// guard returns the index, restricted to the names declared in a base branch if it takes
// credentials; nil if no index is configured. pinned are requirements that may be of the head, for
// artifacts of the base: these may require any package, but of the others only the declared names
// are looked up. nil = only declared names are looked up.
func (s *Service) guard(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	conf *config.Repository,
	pinned []string,
) (guarded, error) {
	if s.Index == nil {
		return nil, nil
	}
	if !s.Index.index.Private() || s.Index.any {
		return s.Index.index, nil
	}
	g := s.Index.index.Guard(s.Index.allow...)
	if pinned != nil {
		var names []string
		for _, text := range pinned {
			if q, err := pkgmeta.ParseRequirement(text); err == nil {
				names = append(names, q.Name)
			}
		}
		g.Except(names...)
	}
	for _, with := range conf.Python.With {
		if q, err := pkgmeta.ParseRequirement(with); err == nil {
			g.Allow(q.Name)
		}
	}
	var required []string
	if err := s.Store.Get(ctx, requiredKey(r.ID), &required); err != nil {
		return nil, err
	}
	g.Allow(required...)
	names, err := s.declared(ctx, r, ref, conf)
	if err != nil {
		return nil, err
	}
	g.Allow(names...)
	return g, nil
}

// source returns the package source of an analysis; see guard.
func (s *Service) source(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	conf *config.Repository,
	pinned []string,
) (packages.Source, error) {
	if s.Index == nil {
		return s.Source, nil
	}
	return s.guard(ctx, r, ref, conf, pinned)
}

// declared lists the names of packages that files of a branch declare or pin.
func (s *Service) declared(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	conf *config.Repository,
) ([]string, error) {
	branch, _, err := r.Client.Repositories.GetBranch(ctx, r.Owner, r.Name, ref, 3)
	if repository.Refused(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the base branch: %w", err)
	}
	sha := branch.GetCommit().GetSHA()
	key := fmt.Sprintf("declared/%d/%s", r.ID, sha)
	var names []string
	if err := s.Store.Get(ctx, key, &names); err != nil || names != nil {
		return names, err
	}
	files := &commitFiles{repo: r, sha: sha}
	all, err := files.Files(ctx)
	if err != nil {
		return nil, err
	}
	names, read := []string{}, 0
	for _, file := range all {
		configured := slices.Contains(conf.Python.Lock, file) || slices.ContainsFunc(
			conf.Environments.List, func(e config.Environment) bool { return path.Clean(e.File) == file })
		project := declares(path.Base(file))
		if !configured && !project && !lockfile.Known(file) || read == maxDeclaring {
			continue
		}
		read++
		text, _, err := files.Read(ctx, file)
		if err != nil {
			return nil, err
		}
		if project {
			names = append(names, words(text)...)
			continue
		}
		names = append(names, pinned.Names(file, []byte(text))...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, s.Store.Put(ctx, key, names, declaredTTL)
}

// declares reports whether files of a name declare what a project requires.
func declares(name string) bool {
	switch name {
	case "pyproject.toml",
		"setup.py",
		"setup.cfg",
		"Pipfile":
		return true
	}
	return false
}

var requirementWord = lazyregexp.New(`[A-Za-z0-9][A-Za-z0-9._-]{0,100}`)

// words returns the words of a file that may be names of packages. The file is in the base
// branch, whose writers are trusted, so additional words do no harm.
func words(text string) []string {
	const most = 20_000
	var out []string
	for _, at := range requirementWord.FindAllStringIndex(text, most) {
		out = append(out, pkgmeta.Normalize(text[at[0]:at[1]]))
	}
	return out
}

func requiredKey(repository int64) string { return fmt.Sprintf("requires/%d", repository) }

// require stores the requirements of the artifacts of a base branch.
func (s *Service) require(ctx context.Context, repository int64, r *analyzer.Report) error {
	var names []string
	for _, a := range r.Artifacts {
		if a.Wheel == nil {
			continue
		}
		for _, text := range a.Wheel.Requires {
			if q, err := pkgmeta.ParseRequirement(text); err == nil {
				names = append(names, q.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return s.Store.Put(ctx, requiredKey(repository), slices.Compact(names), declaredTTL)
}
