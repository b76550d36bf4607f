package subject

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

// mergeGroup checks the head of a merge group, for which the merge queue waits.
func (s *Service) mergeGroup(
	ctx context.Context,
	a *worker.Attempt,
	r *repository.Repository,
	event *job.MergeGroup,
) (worker.Outcome, error) {
	sha := event.SHA
	c := s.newCheck(a, r)
	st := c.state
	st.see(sha)
	st.Base.Ref = cmp.Or(
		strings.TrimPrefix(event.BaseRef, "refs/heads/"),
		st.Base.Ref,
		baseOf(event.HeadRef),
		r.DefaultBranch,
	)
	st.Base.SHA = cmp.Or(event.BaseSHA, st.Base.SHA)
	st.Base.Pull = cmp.Or(pullOf(event.HeadRef), st.Base.Pull)
	// A destroyed group does not come back, but there may be later jobs for it, such as one for a
	// run that ends, or for a release of its commit.
	known, err := s.Store.Standing(ctx, a.Job.Key)
	if err != nil {
		return worker.Done, err
	}
	destroyed := event.Destroyed || known.Closed && known.SHA == sha
	if err := c.gather(ctx, sha, !destroyed); err != nil {
		return worker.Done, err
	}
	if destroyed {
		return worker.Done, c.cancelOthers(ctx, sha, false)
	}
	head := artifact.Head{
		Owner:      r.Owner,
		Repo:       r.Name,
		SHA:        sha,
		HeadRepoID: r.ID,
		Branch:     strings.TrimPrefix(event.HeadRef, "refs/heads/"),
	}
	return c.update(ctx, subject{
		sha: sha, name: "the merge group", base: st.Base, branch: head.Branch,
		find: func(ctx context.Context, conf *config.Repository) (*artifact.Found, error) {
			head.Workflows = conf.Workflows
			return s.Fetcher.Head(ctx, r.Client, head, conf.Artifacts)
		},
		compare: func(
			ctx context.Context,
			conf *config.Repository,
			like *artifact.Found,
		) (*artifact.Found, error) {
			return s.Fetcher.Base(ctx, r.Client, r.Owner, r.Name, st.Base.Ref, st.Base.SHA, like,
				conf.Artifacts...)
		},
		// acceptances of the pull request apply to its merge group
		accept: func(ctx context.Context) ([]store.Accepted, error) {
			if st.Base.Pull == 0 {
				return nil, nil
			}
			return s.Store.AcceptsInForce(ctx, r.Pull(st.Base.Pull).Key(), st.Base.Ref)
		},
	})
}

// pullOf returns the number of the pull request in the name of a group's branch; 0 if there is
// none.
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

// baseOf returns the base branch in the name of a group's branch,
// refs/heads/gh-readonly-queue/BASE/pr-N-SHA; "" if there is none.
func baseOf(ref string) string {
	_, rest, found := strings.Cut(ref, "gh-readonly-queue/")
	i := strings.LastIndex(rest, "/pr-")
	if !found || i < 0 {
		return ""
	}
	return rest[:i]
}
