package subject

import (
	"context"
	"fmt"
	"slices"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

// commit finds the subjects whose head is a commit, and enqueues a job for each. It uses the
// first source that has any: the event, the store, the App's check runs (their external IDs
// contain the subject), GitHub's pull requests of the commit, those of the head's owner and
// branch, and the open pull requests.
func (s *Service) commit(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	event *job.Commit,
) (worker.Outcome, error) {
	sha := event.SHA
	if event.Ran { // before the jobs are enqueued, because they read it
		if err := s.Store.MarkRan(ctx, r.ID, sha); err != nil {
			return worker.Done, err
		}
	}
	noted, err := s.Store.Peers(ctx, r.ID, sha, a.Job.Key)
	if err != nil {
		return worker.Done, err
	}
	for _, ask := range []func() ([]string, error){
		func() ([]string, error) { return event.Pulls, nil },
		func() ([]string, error) {
			if event.Ran && len(noted) > 0 {
				return noted, nil // releases and merge groups have their own runs
			}
			keys, err := s.ownSubjects(ctx, r, sha)
			for _, key := range noted {
				if !slices.Contains(keys, key) {
					keys = append(keys, key)
				}
			}
			return keys, err
		},
		func() ([]string, error) {
			prs, err := r.Client.PullsForCommit(ctx, r.Owner, r.Name, sha)
			return headed(r, prs, sha), repository.Known(err)
		},
		func() ([]string, error) {
			if event.HeadOwner == "" || event.HeadBranch == "" {
				return nil, nil
			}
			prs, err := r.Client.PullsForHead(ctx, r.Owner, r.Name, event.HeadOwner, event.HeadBranch)
			return headed(r, prs, sha), repository.Known(err)
		},
		func() ([]string, error) {
			prs, _, err := r.Client.PullRequests.List(
				ctx,
				r.Owner,
				r.Name,
				&gh.PullRequestListOptions{
					State:       "open",
					Sort:        "updated",
					Direction:   "desc",
					ListOptions: gh.ListOptions{PerPage: 100},
				},
			)
			return headed(r, prs, sha), err
		},
	} {
		keys, err := ask()
		if err != nil {
			return worker.Done, fmt.Errorf("find the pull request of %.12s: %w", sha, err)
		}
		for _, key := range keys {
			b, err := job.Subject(key)
			if err != nil {
				return worker.Done, worker.Permanent(err.Error())
			}
			if err := worker.Follow(ctx, s.Store.Queue, a.Job, b, sha, a.Job.ForceID); err != nil {
				return worker.Done, err
			}
		}
		if len(keys) > 0 {
			return worker.Done, nil
		}
	}
	return s.opener.Missing(a, nil)
}

// headed returns the keys of the open pull requests of this repository with the commit as head.
func headed(r *repository.Repository, prs []*gh.PullRequest, sha string) (keys []string) {
	for _, p := range prs {
		if p.GetState() == "open" && p.GetHead().GetSHA() == sha &&
			(p.GetBase().GetRepo().GetID() == 0 || p.GetBase().GetRepo().GetID() == r.ID) {
			keys = append(keys, r.Pull(p.GetNumber()).Key())
		}
	}
	return keys
}

// ownSubjects reads the subjects from the App's check runs on the commit.
func (s *Service) ownSubjects(
	ctx context.Context,
	r *repository.Repository,
	sha string,
) (keys []string, err error) {
	list, _, err := r.Client.Checks.ListCheckRunsForRef(
		ctx,
		r.Owner,
		r.Name,
		sha,
		&gh.ListCheckRunsOptions{
			AppID:       gh.Int64(s.App.ID()),
			Filter:      gh.String("all"),
			ListOptions: gh.ListOptions{PerPage: 100},
		},
	)
	if err != nil {
		return nil, repository.Known(err)
	}
	for _, run := range list.CheckRuns {
		b, ok := job.ParseExternal(run.GetExternalID(), r.ID)
		if ok && !slices.Contains(keys, b.Key()) {
			keys = append(keys, b.Key())
		}
	}
	return keys, nil
}
