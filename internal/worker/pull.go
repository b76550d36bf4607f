package worker

import (
	"context"
	"fmt"
	"github.com/compat-app/compat/internal/job"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
)

// justRead is how long a pull request is believed to be what it was: a newer head makes itself
// known by an event.
const justRead = 5 * time.Second

// pull reconciles a pull request: its newest head has a check run with a verdict, its older heads
// have none that is open.
func (t *task) pull(ctx context.Context, body *job.Pull) (outcome, error) {
	number := body.Number
	st := t.load()
	pr, read := t.pushed(body.Pushed), time.Time{}
	told := pr != nil
	var err error
	if !told {
		if pr, _, err = t.client.PullRequests.Get(ctx, t.repo.Owner, t.repo.Name, number); notFound(
			err,
		) {
			return t.missing(nil)
		}
		if err != nil {
			return done, fmt.Errorf("worker: read #%d: %w", number, err)
		}
		read = t.Now()
	}
	sha := pr.GetHead().GetSHA()
	st.Silent = st.Silent || st.Head == "" && t.job.Trigger == "pull_request.opened"
	st.see(sha)
	st.Base.Ref, st.Updated = pr.GetBase().GetRef(), pr.GetUpdatedAt().Time
	open := pr.GetState() == "open"
	if err := t.cancelOthers(ctx, sha, open); err != nil {
		return done, err
	}
	if err := t.gather(ctx, sha, open); err != nil {
		return done, err
	}
	if !open {
		return done, nil
	}
	out, err := t.judge(ctx, subject{
		sha: sha, name: fmt.Sprintf("#%d", number), base: st.Base, number: number, fork: pr.GetHead().GetRepo().GetID() != t.repo.ID, origin: pr.GetHead().GetRepo().GetID(),
		find: func(ctx context.Context, c *config.Repository) (*artifact.Found, error) {
			return t.Fetcher.Head(ctx, t.client, headOf(t.repo, pr, c.Workflows), c.Artifacts)
		},
		compare: func(ctx context.Context, c *config.Repository, like *artifact.Found) (*artifact.Found, error) {
			return t.Fetcher.Base(
				ctx,
				t.client,
				t.repo.Owner,
				t.repo.Name,
				st.Base.Ref,
				t.mergeBase(ctx, st.Base.Ref, sha),
				like,
				c.Artifacts...)
		},
		current: func(ctx context.Context) (bool, error) {
			if t.Now().Sub(read) < justRead {
				return true, nil
			}
			now, _, err := t.client.PullRequests.Get(ctx, t.repo.Owner, t.repo.Name, number)
			return now.GetHead().GetSHA() == sha && now.GetState() == "open", err
		},
		accept: func(ctx context.Context) ([]accepted, error) { return t.inForce(ctx, t.job.Key) },
	})
	if told && refused(err) {
		return later(time.Second, "GitHub doesn't show yet what its event told of"), t.save(ctx)
	}
	return out, err
}

// pushed is the pull request as the event of a push tells of it, where that is news: it is younger
// than all that is known, and nothing of it was tried. nil: GitHub has to be asked.
func (t *task) pushed(p *job.Push) *gh.PullRequest {
	if p == nil || t.job.Trigger != "pull_request.synchronize" || t.state.Updated.IsZero() || !p.Updated.After(t.state.Updated) ||
		t.lease.Attempt > 1 ||
		t.lease.Crashes > 0 {
		return nil
	}
	return &gh.PullRequest{
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

// headOf names the head of a pull request.
func headOf(repo *github.Repository, pr *gh.PullRequest, workflows []string) artifact.Head {
	h := pr.GetHead()
	return artifact.Head{
		Owner:      repo.Owner,
		Repo:       repo.Name,
		SHA:        h.GetSHA(),
		HeadRepo:   h.GetRepo().GetFullName(),
		HeadRepoID: h.GetRepo().GetID(),
		Branch:     h.GetRef(),
		Workflows:  workflows,
	}
}

// cancelOthers closes the open check runs of the heads that are no longer judged: the older ones,
// and the current one too when the pull request is closed.
func (t *task) cancelOthers(ctx context.Context, sha string, open bool) error {
	changed := false
	for _, old := range slices.Clone(t.state.Open) {
		if old == sha && open {
			continue
		}
		run, err := t.alone(ctx, subject{sha: old})
		if err != nil {
			return err
		}
		if run.ID != 0 {
			if err := t.save(ctx); err != nil {
				return err
			}
		}
		if err := t.poster.CancelHead(ctx, old, run); err != nil && !refused(err) {
			return err
		}
		t.state.closed(old)
		changed = true
	}
	if !changed && open {
		return nil
	}
	return t.save(ctx)
}

// mergeBase is the commit at which the head left its base; "" where GitHub doesn't say.
func (t *task) mergeBase(ctx context.Context, base, head string) string {
	c, _, err := t.client.Repositories.CompareCommits(
		ctx,
		t.repo.Owner,
		t.repo.Name,
		base,
		head,
		&gh.ListOptions{PerPage: 1},
	)
	if err != nil {
		t.Log.Debug("no merge base", "error", err)
		return ""
	}
	t.compared = c
	return c.GetMergeBaseCommit().GetSHA()
}

// lastPart is what stands behind the last slash of a key.
func lastPart(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
