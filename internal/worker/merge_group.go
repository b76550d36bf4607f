package worker

import (
	"cmp"
	"context"
	"github.com/compat-app/compat/internal/job"
	"strconv"
	"strings"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
)

// mergeGroup puts a verdict on the head of a merge group, for which the merge queue waits.
func (t *task) mergeGroup(ctx context.Context, event *job.MergeGroup) (outcome, error) {
	sha := event.SHA
	st := t.load()
	st.see(sha)
	st.Base.Ref = cmp.Or(
		strings.TrimPrefix(event.BaseRef, "refs/heads/"),
		st.Base.Ref,
		baseOf(event.HeadRef),
		t.repo.DefaultBranch,
	)
	st.Base.SHA = cmp.Or(event.BaseSHA, st.Base.SHA)
	st.Base.Pull = cmp.Or(pullOf(event.HeadRef), st.Base.Pull)
	if err := t.gather(ctx, sha, !event.Destroyed); err != nil {
		return done, err
	}
	if event.Destroyed {
		return done, t.cancelOthers(ctx, sha, false)
	}
	head := artifact.Head{
		Owner:      t.repo.Owner,
		Repo:       t.repo.Name,
		SHA:        sha,
		HeadRepoID: t.repo.ID,
		Branch:     strings.TrimPrefix(event.HeadRef, "refs/heads/"),
	}
	return t.judge(ctx, subject{
		sha: sha, name: "the merge group", base: st.Base,
		find: func(ctx context.Context, c *config.Repository) (*artifact.Found, error) {
			head.Workflows = c.Workflows
			return t.Fetcher.Head(ctx, t.client, head, c.Artifacts)
		},
		compare: func(ctx context.Context, c *config.Repository, like *artifact.Found) (*artifact.Found, error) {
			return t.Fetcher.Base(
				ctx,
				t.client,
				t.repo.Owner,
				t.repo.Name,
				st.Base.Ref,
				st.Base.SHA,
				like,
				c.Artifacts...)
		},
		// what was accepted in the pull request is what the queue merges
		accept: func(ctx context.Context) ([]accepted, error) {
			if st.Base.Pull == 0 {
				return nil, nil
			}
			return t.inForce(ctx, t.pullKey(st.Base.Pull))
		},
	})
}

// pullOf reads the number of the pull request from the name of a group's branch; 0 where it isn't
// one.
func pullOf(ref string) int {
	_, rest, found := strings.Cut(ref, "gh-readonly-queue/")
	i := strings.LastIndex(rest, "/pr-")
	if !found || i < 0 {
		return 0
	}
	number, _, _ := strings.Cut(rest[i+len("/pr-"):], "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// baseOf reads the base branch from the name of a group's branch,
// refs/heads/gh-readonly-queue/BASE/pr-N-SHA; "" where it isn't one.
func baseOf(ref string) string {
	_, rest, found := strings.Cut(ref, "gh-readonly-queue/")
	i := strings.LastIndex(rest, "/pr-")
	if !found || i < 0 {
		return ""
	}
	return rest[:i]
}
