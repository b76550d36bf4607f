package reconcile

import (
	"context"
	"slices"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
)

// reconcileRepositories limits the repositories of one installation whose merge groups and
// releases are listed in one search, the most recently pushed first. This takes two calls each,
// which do not count against the rate limit if nothing has changed.
const reconcileRepositories = 200

// pushed searches the merge groups and releases of recently pushed repositories, because both are
// created by a push of a branch or tag.
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

// groups searches the merge groups in a repository's queue.
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

// releases searches the newest releases of a repository. Their commit may have the check run of a
// pull request, so the subject of the check run is compared.
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
				return found, repository.Known(err) // the tag of a draft may not exist yet
			},
		)
		if err != nil {
			return err
		}
	}
	return nil
}
