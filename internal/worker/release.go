package worker

import (
	"context"
	"fmt"
	"strconv"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
)

// settleFor is how long the list of a release's assets must stand still: GitHub sends no event for an upload.
const settleFor = 10 * time.Second

// release puts a verdict on the commit of a release's tag, over all its assets.
func (t *task) release(ctx context.Context) (outcome, error) {
	id, err := strconv.ParseInt(lastPart(t.job.Key), 10, 64)
	if err != nil {
		return done, &unfit{"the job's key names no release"}
	}
	st := t.load()
	release, _, err := t.client.Repositories.GetRelease(ctx, t.repo.Owner, t.repo.Name, id)
	if notFound(err) || err == nil && release.GetDraft() {
		if len(st.Open) > 0 && t.Now().Sub(t.job.Received) > justNow {
			return done, t.cancelOthers(ctx, "", false) // deleted, or a draft again
		}
		return t.missing(nil)
	}
	if err != nil {
		return done, fmt.Errorf("worker: read release %d: %w", id, err)
	}
	commit, _, err := t.client.Repositories.GetCommit(ctx, t.repo.Owner, t.repo.Name, "tags/"+release.GetTagName(), &gh.ListOptions{PerPage: 1})
	if refused(err) {
		return t.missing(nil)
	}
	if err != nil {
		return done, fmt.Errorf("worker: find the commit of a release: %w", err)
	}
	sha := commit.GetSHA()
	st.see(sha)
	st.Base = base{Ref: t.repo.DefaultBranch}
	set, _, err := t.configured(ctx, st.Base.Ref)
	if err != nil {
		return done, err
	}
	wanted := set.repository == nil || !set.repository.Release.Off // an invalid configuration is told of
	if err := t.cancelOthers(ctx, sha, wanted); err != nil || !wanted {
		return done, err
	}
	return t.judge(ctx, subject{
		sha: sha, base: st.Base, release: true, settle: settleFor,
		find: func(ctx context.Context, _ *config.Repository) (*artifact.Found, error) {
			return t.Fetcher.Release(ctx, t.client, t.repo.Owner, t.repo.Name, id)
		},
	})
}
