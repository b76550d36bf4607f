package subject

import (
	"context"
	"fmt"
	"slices"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// justRead is how long a pull request read from GitHub is assumed to be current before a verdict
// that does not pass; a newer head or another base sends an event. Before a verdict that passes
// it is always read again.
const justRead = 5 * time.Second

// pull updates the check runs of a pull request: the newest head gets a verdict, and open check
// runs of older heads are canceled.
func (s *Service) pull(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	body *job.Pull,
) (worker.Outcome, error) {
	number := body.Number
	c := s.newCheck(a, r)
	st := c.state
	pr, read := c.pushed(number, body.Pushed), time.Time{}
	fromEvent := pr != nil
	if !fromEvent {
		var err error
		pr, _, err = r.Client.PullRequests.Get(ctx, r.Owner, r.Name, number)
		if repository.NotFound(err) {
			return s.opener.Missing(a, r)
		}
		if err != nil {
			return worker.Done, fmt.Errorf("read #%d: %w", number, err)
		}
		read = s.now()
	}
	sha := pr.GetHead().GetSHA()
	st.Silent = st.Silent || st.Head == "" && a.Job.Trigger == "pull_request.opened"
	st.see(sha)
	seen := s.now()
	if a.Job.Trigger == "pull_request.edited" {
		seen = a.Job.Received
	}
	st.rebase(pr.GetBase().GetRef(), seen)
	st.Updated = pr.GetUpdatedAt().Time
	open := pr.GetState() == "open"
	if err := c.cancelOthers(ctx, sha, open); err != nil {
		return worker.Done, err
	}
	if err := c.gather(ctx, sha, open); err != nil {
		return worker.Done, err
	}
	if !open {
		return worker.Done, nil
	}
	out, err := c.update(ctx, subject{
		sha:    sha,
		name:   fmt.Sprintf("#%d", number),
		base:   st.Base,
		branch: pr.GetHead().GetRef(),
		number: number,
		fork:   pr.GetHead().GetRepo().GetID() != r.ID,
		origin: pr.GetHead().GetRepo().GetID(),
		find: func(ctx context.Context, conf *config.Repository) (*artifact.Found, error) {
			head := repository.HeadOf(r, pr, conf.Workflows)
			var err error
			if head.Shared, err = s.Store.SharedByPulls(ctx, r.ID, sha, a.Job.Key); err != nil {
				return nil, err
			}
			return s.Fetcher.Head(ctx, r.Client, head, conf.Artifacts)
		},
		compare: func(
			ctx context.Context,
			conf *config.Repository,
			like *artifact.Found,
		) (*artifact.Found, error) {
			fork := c.mergeBase(ctx, st.Base.Ref, sha)
			return s.Fetcher.Base(ctx, r.Client, r.Owner, r.Name, st.Base.Ref, fork, like,
				conf.Artifacts...)
		},
		current: func(ctx context.Context, passes bool) (bool, error) {
			if !passes && s.now().Sub(read) < justRead {
				return true, nil
			}
			now, _, err := r.Client.PullRequests.Get(ctx, r.Owner, r.Name, number)
			return now.GetHead().GetSHA() == sha && now.GetState() == "open" &&
				now.GetBase().GetRef() == st.Base.Ref, err
		},
		accept: func(ctx context.Context) ([]store.Accepted, error) {
			return s.Store.AcceptsInForce(ctx, a.Job.Key, st.Base.Ref)
		},
	})
	if fromEvent && repository.Refused(err) {
		return worker.Later(time.Second, "GitHub's API does not show the event's change yet"), c.save(ctx)
	}
	return out, err
}

// pushed returns the pull request as described by a push event, if that is newer than the state
// and this is the first attempt. nil = it has to be read from GitHub.
func (c *check) pushed(number int, p *job.Push) *gh.PullRequest {
	known := c.state.Updated
	if p == nil || c.attempt.Job.Trigger != "pull_request.synchronize" ||
		known.IsZero() || !p.Updated.After(known) ||
		c.attempt.Attempt > 1 || c.attempt.Crashes > 0 {
		return nil
	}
	return &gh.PullRequest{
		Number:    &number,
		State:     gh.String("open"),
		UpdatedAt: &gh.Timestamp{Time: p.Updated},
		Base:      &gh.PullRequestBranch{Ref: &p.Base},
		Head: &gh.PullRequestBranch{
			SHA:  &p.SHA,
			Ref:  &p.Ref,
			Repo: &gh.Repository{ID: &p.RepoID, FullName: &p.Repo},
		},
	}
}

// cancelOthers cancels open check runs that need no verdict any more: those of older heads, and
// also that of the current one if the pull request is closed.
func (c *check) cancelOthers(ctx context.Context, sha string, open bool) error {
	changed := false
	for _, old := range slices.Clone(c.state.Open) {
		if old == sha && open {
			continue
		}
		run, err := c.alone(ctx, subject{sha: old})
		if err != nil {
			return err
		}
		if run.ID != 0 {
			if err := c.save(ctx); err != nil {
				return err
			}
		}
		if err := c.repo.Poster.CancelHead(ctx, old, run); err != nil && !repository.Refused(err) {
			return err
		}
		c.state.closed(old)
		changed = true
	}
	if !changed && open {
		return nil
	}
	return c.save(ctx)
}

// mergeBase returns the merge base of two commits; "" = unknown.
func (c *check) mergeBase(ctx context.Context, base, head string) string {
	compared, _, err := c.repo.Client.Repositories.CompareCommits(
		ctx,
		c.repo.Owner,
		c.repo.Name,
		base,
		head,
		&gh.ListOptions{PerPage: 1},
	)
	if err != nil {
		c.attempt.Log.Debug("no merge base", "error", err)
		return ""
	}
	c.compared = compared
	return compared.GetMergeBaseCommit().GetSHA()
}
