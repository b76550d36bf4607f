package reconcile

import (
	"context"
	"slices"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
)

// reconcileRepositories bounds the repositories of one installation whose merge groups and releases
// are listed in one look, those to which something was pushed last: two calls each, and none of the
// hourly budget where GitHub answers that nothing changed.
const reconcileRepositories = 200

// pushed looks at the merge groups and releases of the repositories to which something was pushed
// last: both come with a push, of a branch or of a tag.
func (s *survey) pushed(ctx context.Context, repos []github.Listed) error {
	repos = slices.DeleteFunc(
		slices.Clone(repos),
		func(r github.Listed) bool { return !r.Pushed.IsZero() && r.Pushed.Before(s.since) },
	)
	slices.SortStableFunc(repos, func(a, b github.Listed) int { return b.Pushed.Compare(a.Pushed) })
	for _, r := range repos[:min(len(repos), reconcileRepositories)] {
		if err := s.groups(ctx, r.Repository); err != nil {
			return err
		}
		if err := s.releases(ctx, r.Repository); err != nil {
			return err
		}
	}
	return nil
}

// groups looks at the merge groups that wait in a repository.
func (s *survey) groups(ctx context.Context, r github.Repository) error {
	groups, err := s.client.Groups(ctx, r.Owner, r.Name)
	if err != nil {
		return err
	}
	for _, g := range groups {
		err := s.consider(
			ctx,
			r,
			lost{&job.MergeGroup{Repository: r.ID, SHA: g.SHA, HeadRef: g.Ref}, g.SHA},
			func() (bool, error) {
				return s.client.Concluded(ctx, r.Owner, r.Name, g.SHA, s.App.ID())
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// releases looks at the newest releases of a repository. The commit of one may have the verdict of
// a pull request, so that the subject of our check run counts.
func (s *survey) releases(ctx context.Context, r github.Repository) error {
	releases, err := s.client.Releases(ctx, r.Owner, r.Name, s.since)
	if err != nil {
		return err
	}
	for _, release := range releases {
		b := &job.Release{Repository: r.ID, ID: release.ID}
		err := s.consider(
			ctx,
			r,
			lost{b, ""},
			func() (bool, error) {
				found, err := s.client.HasCheckRun(
					ctx,
					r.Owner,
					r.Name,
					"tags/"+release.Tag,
					s.App.ID(),
					b.Key()+"@",
				)
				return found, repository.Known(err) // a draft's tag may not be there yet
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}
