package subject

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/pinned"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/internal/store"
)

// maxLocks limits the lock files of a repository that are read for what it uses.
const maxLocks = 20

// Impacts reads what artifacts use, and judges what builds break. The Content of every input is an
// *os.File. *sandbox.Runner does so in another process.
type Impacts interface {
	ReadUses(ctx context.Context, inputs []analyzer.Input) ([]impact.Uses, error)
	JudgeBuild(ctx context.Context, b *impact.Build) ([]impact.Answer, error)
}

// ReadUses implements Impacts.
func (p inProcess) ReadUses(
	ctx context.Context, inputs []analyzer.Input,
) ([]impact.Uses, error) {
	return impact.ReadUses(ctx, inputs, analyzer.Options{})
}

// JudgeBuild implements Impacts.
func (p inProcess) JudgeBuild(ctx context.Context, b *impact.Build) ([]impact.Answer, error) {
	b.Analyzer = p.Analyzer
	return b.Judge(ctx)
}

// keepUses stores what the wheels of the default branch use. found are its artifacts, which were
// just analyzed, so that they are not downloaded again.
func (a *analysis) keepUses(
	ctx context.Context,
	found *artifact.Found,
	c *config.Repository,
) error {
	installation, id := a.attempt.Job.Installation, a.repo.ID
	had, err := a.Store.Uses(ctx, installation, id)
	if err != nil || had.Found == found.Key && slices.Equal(had.With, c.Impact.Repositories) {
		return err
	}
	set, err := a.download(ctx, found)
	if err != nil {
		return err
	}
	defer set.Close()
	inputs, closeFiles, err := open(set)
	if err != nil {
		return err
	}
	defer closeFiles()
	uses := []impact.Uses{}
	if len(inputs) > 0 {
		release, err := a.slot(ctx)
		if err != nil {
			return err
		}
		uses, err = a.Impacts.ReadUses(ctx, inputs)
		release()
		if f := (*sandbox.Failure)(nil); errors.As(err, &f) {
			a.attempt.Log.Warn("what the artifacts use could not be read", "reason", f.Reason)
			uses, err = nil, nil
		}
		if err != nil {
			return err
		}
	}
	err = a.Store.AddBuild(ctx, installation, id, a.attempt.Job.SHA, uses)
	if err != nil {
		return err
	}
	for i := range uses {
		u := &uses[i]
		if err := a.Store.PutFacts(ctx, installation, id, u.SHA256, u.Facts); err != nil {
			return err
		}
		u.Facts, u.Exports = nil, nil
	}
	err = a.Store.UpdateUses(ctx, installation, id, func(u *store.Uses) bool {
		u.Wheels, u.Found, u.With = uses, found.Key, c.Impact.Repositories
		return true
	})
	if err == nil {
		a.attempt.Log.Debug("what the default branch uses is stored", "wheels", len(uses))
	}
	return err
}

// slot waits for a free slot of analyses.
func (s *Service) slot(ctx context.Context) (release func(), _ error) {
	defer s.stage("slot")()
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pushedPins stores what the lock files of the default branch pin, if a push changes one. before is
// the commit of the last push that was handled; "" = there was none.
func (s *Service) pushedPins(
	ctx context.Context,
	installation int64,
	r *repository.Repository,
	event *job.DefaultBranch,
	sha, before string,
	c *config.Repository,
) error {
	all := event.More || before == "" || event.Before != "" && event.Before != before
	if sha == "" || c == nil || !all && !slices.ContainsFunc(event.Paths, func(p string) bool {
		return p == config.Path || pins(p, c)
	}) {
		return nil
	}
	err := s.keepPins(ctx, installation, r, &commitFiles{repo: r, sha: sha}, c)
	if repository.Refused(err) { // a newer push sends another event
		return nil
	}
	return err
}

// pins reports whether a file is one with pins, by its name or by the configuration.
func pins(file string, c *config.Repository) bool {
	return lockfile.Known(file) || slices.ContainsFunc(c.Environments.List,
		func(e config.Environment) bool { return path.Clean(e.File) == file })
}

// keepPins stores what the lock files of a commit of the default branch pin.
func (s *Service) keepPins(
	ctx context.Context,
	installation int64,
	r *repository.Repository,
	files *commitFiles,
	c *config.Repository,
) error {
	all, err := files.Files(ctx)
	if err != nil {
		return err
	}
	found := map[string][]string{}
	read := 0
	for _, file := range all {
		if !pins(file, c) || read == maxLocks {
			continue
		}
		read++
		text, there, err := files.Read(ctx, file)
		if err != nil {
			return err
		}
		if versions := pinned.Versions(file, []byte(text)); there && len(versions) > 0 {
			found[file] = versions
		}
	}
	return s.Store.UpdateUses(ctx, installation, r.ID, func(u *store.Uses) bool {
		changed := len(found)+len(u.Pins) > 0 || !slices.Equal(u.With, c.Impact.Repositories)
		u.Pins, u.With = found, c.Impact.Repositories
		return changed
	})
}

// firstPins stores the pins of the base of a pull request to the default branch, if there was no
// push to that since the App was installed. The review of the pins has listed the files.
func (r *round) firstPins(ctx context.Context) error {
	if r.pins == nil || r.subject.base.Ref != r.repo.DefaultBranch || r.set.Repository == nil {
		return nil
	}
	installation := r.attempt.Job.Installation
	had, err := r.Store.Uses(ctx, installation, r.repo.ID)
	if err != nil || had.Pins != nil {
		return err
	}
	return r.keepPins(ctx, installation, r.repo, r.changed.from, r.set.Repository)
}

// listed returns the repositories of the installation by ID, as GitHub lists them now.
func (s *Service) listed(ctx context.Context, installation int64) (map[int64]store.Listed, error) {
	list, err := s.Store.Listed(ctx, installation)
	if err != nil {
		return nil, err
	}
	if list == nil {
		client, err := s.App.Narrow(installation, 0, github.Browse)
		if err != nil {
			return nil, err
		}
		repos, err := client.ListRepositories(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the repositories of the installation: %w", err)
		}
		list = []store.Listed{}
		for _, r := range repos {
			list = append(list, store.Listed{
				ID: r.ID, Owner: r.Owner, Name: r.Name, Visibility: r.Visibility, URL: r.URL,
			})
		}
		if err := s.Store.PutListed(ctx, installation, list); err != nil {
			return nil, err
		}
	}
	out := map[int64]store.Listed{}
	for _, r := range list {
		out[r.ID] = r
	}
	return out, nil
}

// sees reports whether everybody who can read a repository may see what is stored of another one:
// that one is public, or both are internal, or none is public and the maintainers of both have
// named the other one in their configuration. with and otherWith are these names.
func sees(reader, other store.Listed, with, otherWith []string) bool {
	switch {
	case other.Visibility == "public":
		return true
	case reader.Visibility == "public" || reader.Visibility == "":
		return false
	case reader.Visibility == "internal" && other.Visibility == "internal":
		return true
	}
	return names(with, other) && names(otherWith, reader)
}

// names reports whether one of some patterns is that of a repository.
func names(patterns []string, r store.Listed) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		name, err := path.Match(p, r.Name)
		full, errFull := path.Match(p, r.FullName())
		return err == nil && name || errFull == nil && full
	})
}
