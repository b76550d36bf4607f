package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Installed is an installation of the App.
type Installed struct {
	ID    int64
	Since time.Time
}

// Installations lists the App's installations, except suspended ones.
func (a *App) Installations(ctx context.Context) ([]Installed, error) {
	var out []Installed
	o := &gh.ListOptions{PerPage: perPage}
	for {
		some, resp, err := a.client.Apps.ListInstallations(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("github: list installations: %w", err)
		}
		for _, i := range some {
			if i.SuspendedAt == nil && i.GetID() > 0 {
				out = append(out, Installed{i.GetID(), i.GetCreatedAt().Time})
			}
		}
		if resp.NextPage <= o.Page {
			return out, nil
		}
		o.Page = resp.NextPage
	}
}

// Active reports whether an installation exists and is not suspended.
func (a *App) Active(ctx context.Context, id int64) (bool, error) {
	i, _, err := a.client.Apps.GetInstallation(ctx, id)
	if Classify(err).Kind == Missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("github: installation %d: %w", id, err)
	}
	return i.SuspendedAt == nil, nil
}

// Has reports whether an installation has access to a repository. Anybody can read a public one, so
// its own installation is compared.
func (a *App) Has(ctx context.Context, installation, repository int64) (bool, error) {
	c, err := a.Installation(installation)
	if err != nil {
		return false, err
	}
	r, _, err := c.Repositories.GetByID(ctx, repository)
	if Classify(err).Kind == Missing || Classify(err).Kind == Gone {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("github: repository %d: %w", repository, err)
	}
	i, _, err := a.client.Apps.FindRepositoryInstallation(ctx, r.GetOwner().GetLogin(), r.GetName())
	if Classify(err).Kind == Missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("github: the installation of repository %d: %w", repository, err)
	}
	return i.GetID() == installation, nil
}

// Listed is a repository in the list of an installation.
type Listed struct {
	Repository
	// has open issues or pull requests, which GitHub counts together
	Open   bool
	Pushed time.Time // time of the last push; zero = unknown
}

// ListRepositories lists the repositories of the installation that are not archived, at most
// 3,000.
func (c *Client) ListRepositories(ctx context.Context) ([]Listed, error) {
	var out []Listed
	o := &gh.ListOptions{PerPage: perPage}
	for range mostPages {
		some, resp, err := c.Apps.ListRepos(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("github: list the installation's repositories: %w", err)
		}
		for _, r := range some.Repositories {
			if r.GetArchived() || r.GetOwner().GetLogin() == "" {
				continue
			}
			out = append(out, Listed{
				Repository: Repository{
					ID:            r.GetID(),
					Owner:         r.GetOwner().GetLogin(),
					Name:          r.GetName(),
					DefaultBranch: r.GetDefaultBranch(),
					Private:       r.GetPrivate(),
					Visibility:    visibility(r),
					URL:           r.GetHTMLURL(),
				},
				Open: r.OpenIssuesCount == nil ||
					*r.OpenIssuesCount > 0, Pushed: r.GetPushedAt().Time,
			})
		}
		if resp.NextPage <= o.Page {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}

// OpenPulls lists the open pull requests that were updated since a time, most recently updated
// first.
func (c *Client) OpenPulls(
	ctx context.Context,
	owner, repo string,
	since time.Time,
) ([]*gh.PullRequest, error) {
	var out []*gh.PullRequest
	o := &gh.PullRequestListOptions{
		State:       "open",
		Sort:        "updated",
		Direction:   "desc",
		ListOptions: gh.ListOptions{PerPage: perPage},
	}
	for range mostPages {
		some, resp, err := c.PullRequests.List(ctx, owner, repo, o)
		if err != nil {
			return nil, fmt.Errorf("github: open pull requests of %s/%s: %w", owner, repo, err)
		}
		for _, p := range some {
			if p.GetUpdatedAt().After(since) {
				out = append(out, p)
			}
		}
		if resp.NextPage <= o.Page ||
			len(some) > 0 && !some[len(some)-1].GetUpdatedAt().After(since) {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}

// Concluded reports whether a commit has check runs of the App and all are completed.
func (c *Client) Concluded(ctx context.Context, owner, repo, sha string, app int64) (bool, error) {
	list, _, err := c.Checks.ListCheckRunsForRef(
		ctx,
		owner,
		repo,
		sha,
		&gh.ListCheckRunsOptions{
			AppID:       gh.Int64(app),
			ListOptions: gh.ListOptions{PerPage: perPage},
		},
	)
	if err != nil {
		return false, fmt.Errorf("github: check runs of %.12s: %w", sha, err)
	}
	return len(list.CheckRuns) > 0 &&
		!slices.ContainsFunc(
			list.CheckRuns,
			func(r *gh.CheckRun) bool { return r.GetStatus() != "completed" },
		), nil
}

// groupBranches is the prefix of the branches of merge groups. A branch exists while its group is
// in the queue.
const groupBranches = "heads/gh-readonly-queue"

// Group is a merge group in the queue: its branch, refs/heads/gh-readonly-queue/BASE/pr-N-SHA,
// and its head.
type Group struct {
	Ref, SHA string
}

// Groups lists the merge groups in a repository's queue.
func (c *Client) Groups(ctx context.Context, owner, repo string) ([]Group, error) {
	refs, resp, err := c.Git.ListMatchingRefs(
		ctx,
		owner,
		repo,
		&gh.ReferenceListOptions{Ref: groupBranches},
	)
	if resp != nil && resp.StatusCode == http.StatusConflict { // the repository is empty
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("github: merge groups of %s/%s: %w", owner, repo, err)
	}
	var out []Group
	for _, r := range refs {
		if strings.HasPrefix(r.GetRef(), "refs/"+groupBranches+"/") {
			out = append(out, Group{r.GetRef(), r.GetObject().GetSHA()})
		}
	}
	return out, nil
}

// newest is the number of releases that Releases reads.
const newest = 10

// Releases lists the newest releases that were created or published since a time, without drafts
// that have no assets.
func (c *Client) Releases(
	ctx context.Context,
	owner, repo string,
	since time.Time,
) ([]*Release, error) {
	all, err := c.releases(ctx, owner, repo, newest)
	return slices.DeleteFunc(all, func(r *Release) bool {
		return !r.CreatedAt.After(since) && !r.PublishedAt.After(since) ||
			r.Draft && len(r.Assets) == 0
	}), err
}

// HasCheckRun reports whether a commit, or a ref such as refs/tags/…, has a completed check run
// of the App whose external ID starts with begin.
func (c *Client) HasCheckRun(
	ctx context.Context,
	owner, repo, ref string,
	app int64,
	begin string,
) (bool, error) {
	list, _, err := c.Checks.ListCheckRunsForRef(
		ctx,
		owner,
		repo,
		ref,
		&gh.ListCheckRunsOptions{
			AppID:       gh.Int64(app),
			Filter:      gh.String("all"),
			ListOptions: gh.ListOptions{PerPage: perPage},
		},
	)
	if err != nil {
		return false, fmt.Errorf("github: check runs of %s: %w", ref, err)
	}
	return slices.ContainsFunc(list.CheckRuns, func(r *gh.CheckRun) bool {
		return r.GetStatus() == "completed" && strings.HasPrefix(r.GetExternalID(), begin)
	}), nil
}
