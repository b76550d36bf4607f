package subject

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/review"
)

const (
	// maxDeclaring is how many files of a base branch are read for the names that it declares.
	maxDeclaring = 40
	// declaredTTL is how long the names of a commit are kept, and what a base's artifacts require.
	declaredTTL = 30 * 24 * time.Hour
)

// PackageIndex is the package index of the service, and who may choose what is asked of it.
type PackageIndex struct {
	*index.Index
	Allow []string // names that anybody may have looked up; see COMPAT_INDEX_ALLOW
	Any   bool     // every name
}

// guard is the index as the jobs of a base branch may ask it; nil: none is configured.
func (s *Service) guard(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	conf *config.Repository,
) (*index.Guard, error) {
	if s.Index == nil {
		return nil, nil
	}
	g := s.Index.Guard(s.Index.Allow...)
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
	g.Allow(names...)
	return g, err
}

// source is what an analysis asks: the index, guarded where it takes credentials.
func (s *Service) source(
	ctx context.Context,
	r *repository.Repository,
	ref string,
	conf *config.Repository,
) (packages.Source, error) {
	if s.Index == nil || !s.Index.Private() || s.Index.Any {
		return s.Source, nil
	}
	g, err := s.guard(ctx, r, ref, conf)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// declared lists the names of packages in the files of a branch that declare or pin them.
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
		project := declares[path.Base(file)]
		if !configured && !project && !review.IsEnvironment(file) || read == maxDeclaring {
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
		pins, err := lockfile.Pins(file, []byte(text))
		if err != nil {
			continue // it is said where the file is used
		}
		for _, p := range pins {
			if q, err := pkgmeta.ParseRequirement(p.Requirement); err == nil {
				names = append(names, q.Name)
			}
		}
		for line := range strings.Lines(text) { // what is required without a version
			if q, err := pkgmeta.ParseRequirement(strings.TrimSpace(line)); err == nil {
				names = append(names, q.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, s.Store.Put(ctx, key, names, declaredTTL)
}

// declares are the files that declare what a project requires.
var declares = map[string]bool{
	"pyproject.toml": true, "setup.py": true, "setup.cfg": true, "Pipfile": true,
}

var requirementWord = lazyregexp.New(`[A-Za-z0-9][A-Za-z0-9._-]{0,100}`)

// words are the words of a file of the base branch that may be names of packages. Those who may
// write to that branch choose them, so too many do no harm.
func words(text string) []string {
	const most = 20_000
	var out []string
	for _, at := range requirementWord.FindAllStringIndex(text, most) {
		out = append(out, pkgmeta.Normalize(text[at[0]:at[1]]))
	}
	return out
}

func requiredKey(repository int64) string { return fmt.Sprintf("requires/%d", repository) }

// require notes what the artifacts of a base branch require.
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
