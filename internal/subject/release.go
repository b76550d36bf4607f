package subject

import (
	"context"
	"fmt"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

// settleFor is how long the list of a release's assets must be unchanged, because GitHub sends no
// event for an upload.
const settleFor = 10 * time.Second

// release checks all assets of a release, with a check run on the commit of its tag. A draft is
// checked once it has an asset, on the commit that its tag will name.
func (s *Service) release(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	body *job.Release,
) (worker.Outcome, error) {
	id := body.ID
	c := s.newCheck(a, r)
	st := c.state
	release, err := r.Client.ReleaseByID(ctx, r.Owner, r.Name, id)
	if repository.NotFound(err) {
		if a.Job.Trigger != "release.deleted" &&
			(len(st.Open) == 0 || s.now().Sub(a.Job.Received) <= repository.JustNow) {
			return s.opener.Missing(a, r)
		}
		if err := c.gather(ctx, st.Head, false); err != nil {
			return worker.Done, err
		}
		return worker.Done, c.cancelOthers(ctx, "", false)
	}
	if err != nil {
		return worker.Done, fmt.Errorf("%w", err)
	}
	if release.Draft && len(release.Assets) == 0 {
		if st.Deadline.IsZero() {
			st.Deadline = s.now().Add(s.Config.Wait)
		}
		if left := st.Deadline.Sub(s.now()); left > 0 {
			return worker.Later(min(left, draftPoll), "The draft has no assets yet."), c.save(ctx)
		}
		return worker.Done, nil
	}
	sha, err := releaseCommit(ctx, r, release)
	if repository.Refused(err) {
		return s.opener.Missing(a, r)
	}
	if err != nil {
		return worker.Done, err
	}
	st.see(sha)
	st.Base = base{Ref: r.DefaultBranch}
	set, _, err := r.Configuration(ctx, st.Base.Ref)
	if err != nil {
		return worker.Done, err
	}
	wanted := set.Repository == nil ||
		!set.Release.Off // an invalid configuration is reported
	if err := c.cancelOthers(ctx, sha, wanted); err != nil || !wanted {
		return worker.Done, err
	}
	if err := c.gather(ctx, sha, true); err != nil {
		return worker.Done, err
	}
	var before *github.Release
	return c.update(ctx, subject{
		sha: sha, name: "release " + release.Tag, base: st.Base, release: true, settle: settleFor,
		tag: release.Tag, draft: release.Draft, before: func() string { return before.Tag },
		find: func(ctx context.Context, _ *config.Repository) (*artifact.Found, error) {
			return s.Fetcher.Release(ctx, r.Client, r.Owner, r.Name, id)
		},
		compare: func(
			ctx context.Context,
			_ *config.Repository,
			_ *artifact.Found,
		) (*artifact.Found, error) {
			var err error
			if before, err = r.Client.ReleaseBefore(ctx, r.Owner, r.Name, release); err != nil ||
				before == nil {
				return &artifact.Found{
					State:  artifact.Waiting,
					Reason: "There is no earlier release.",
				}, err
			}
			return s.Fetcher.Release(ctx, r.Client, r.Owner, r.Name, before.ID)
		},
		// findings of the earlier release fail this one too, because it has new users
		advice: func(report *analyzer.Report) string {
			found, old := 0, 0
			for i := range report.Findings {
				f := &report.Findings[i]
				if f.Severity.Rank() > analyzer.Note.Rank() {
					found++
					if !f.New {
						old++
					}
				}
				f.New = true
			}
			for i := range report.Causes {
				report.Causes[i].New = true
			}
			advice := comment.Release{
				Tag:       release.Tag,
				Draft:     release.Draft,
				Immutable: release.Immutable,
				Findings:  found,
				Old:       old,
			}
			if before != nil {
				advice.Before = before.Tag
			}
			return advice.Text()
		},
	})
}

// draftPoll is the interval for checking a draft without assets, because GitHub sends no event
// for an upload.
const draftPoll = time.Minute

// releaseCommit returns the commit of a release's tag, or the target commit of a draft whose tag
// does not exist.
func releaseCommit(
	ctx context.Context,
	r *repository.Repository,
	release *github.Release,
) (string, error) {
	commit, _, err := r.Client.Repositories.GetCommit(
		ctx,
		r.Owner,
		r.Name,
		"tags/"+release.Tag,
		&gh.ListOptions{PerPage: 1},
	)
	if repository.Refused(err) && release.Draft && release.Target != "" {
		commit, _, err = r.Client.Repositories.GetCommit(
			ctx,
			r.Owner,
			r.Name,
			release.Target,
			&gh.ListOptions{PerPage: 1},
		)
	}
	if err != nil {
		return "", fmt.Errorf("find the commit of a release: %w", err)
	}
	return commit.GetSHA(), nil
}
