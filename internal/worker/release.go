package worker

import (
	"context"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
)

// settleFor is how long the list of a release's assets must stand still: GitHub sends no event for
// an upload.
const settleFor = 10 * time.Second

// release puts a verdict on the commit of a release's tag, over all its assets. A draft is judged
// on the commit that its tag will name, once it has an asset: until then nobody waits for it.
func (t *task) release(ctx context.Context, body *job.Release) (outcome, error) {
	id := body.ID
	st := t.load()
	release, err := t.client.ReleaseByID(ctx, t.repo.Owner, t.repo.Name, id)
	if notFound(err) {
		if t.job.Trigger != "release.deleted" &&
			(len(st.Open) == 0 || t.Now().Sub(t.job.Received) <= justNow) {
			return t.missing(nil)
		}
		if err := t.gather(ctx, st.Head, false); err != nil {
			return done, err
		}
		return done, t.cancelOthers(ctx, "", false)
	}
	if err != nil {
		return done, fmt.Errorf("worker: %w", err)
	}
	if release.Draft && len(release.Assets) == 0 {
		if st.Deadline.IsZero() {
			st.Deadline = t.Now().Add(t.Config.Wait)
		}
		if left := st.Deadline.Sub(t.Now()); left > 0 {
			return later(min(left, draftPoll), "The draft has no assets yet."), t.save(ctx)
		}
		return done, nil
	}
	sha, err := t.releaseCommit(ctx, release)
	if refused(err) {
		return t.missing(nil)
	}
	if err != nil {
		return done, err
	}
	st.see(sha)
	st.Base = base{Ref: t.repo.DefaultBranch}
	set, _, err := t.configured(ctx, st.Base.Ref)
	if err != nil {
		return done, err
	}
	wanted := set.repository == nil ||
		!set.repository.Release.Off // an invalid configuration is told of
	if err := t.cancelOthers(ctx, sha, wanted); err != nil || !wanted {
		return done, err
	}
	if err := t.gather(ctx, sha, true); err != nil {
		return done, err
	}
	var before *github.Release
	return t.judge(ctx, subject{
		sha: sha, name: "release " + release.Tag, base: st.Base, release: true, settle: settleFor,
		find: func(ctx context.Context, _ *config.Repository) (*artifact.Found, error) {
			return t.Fetcher.Release(ctx, t.client, t.repo.Owner, t.repo.Name, id)
		},
		compare: func(ctx context.Context, _ *config.Repository, _ *artifact.Found) (*artifact.Found, error) {
			var err error
			if before, err = t.client.ReleaseBefore(ctx, t.repo.Owner, t.repo.Name, release); err != nil ||
				before == nil {
				return &artifact.Found{
					State:  artifact.Waiting,
					Reason: "There is no earlier release.",
				}, err
			}
			return t.Fetcher.Release(ctx, t.client, t.repo.Owner, t.repo.Name, before.ID)
		},
		// what an earlier release had is told, and fails this one all the same: it meets users anew
		advice: func(r *analyzer.Report) string {
			old := 0
			for i := range r.Findings {
				if f := &r.Findings[i]; !f.New {
					f.New = true
					old++
				}
			}
			advice := comment.Release{
				Tag:       release.Tag,
				Draft:     release.Draft,
				Immutable: release.Immutable,
				Findings:  len(r.Findings),
				Old:       old,
			}
			if before != nil {
				advice.Before = before.Tag
			}
			return advice.Text()
		},
	})
}

// draftPoll is how often a draft without assets is looked at: GitHub sends no event for an upload.
const draftPoll = time.Minute

// releaseCommit is the commit of a release's tag; of a draft's, which may not be there yet, what it
// will be made of.
func (t *task) releaseCommit(ctx context.Context, r *github.Release) (string, error) {
	commit, _, err := t.client.Repositories.GetCommit(
		ctx,
		t.repo.Owner,
		t.repo.Name,
		"tags/"+r.Tag,
		&gh.ListOptions{PerPage: 1},
	)
	if refused(err) && r.Draft && r.Target != "" {
		commit, _, err = t.client.Repositories.GetCommit(
			ctx,
			t.repo.Owner,
			t.repo.Name,
			r.Target,
			&gh.ListOptions{PerPage: 1},
		)
	}
	if err != nil {
		return "", fmt.Errorf("worker: find the commit of a release: %w", err)
	}
	return commit.GetSHA(), nil
}
