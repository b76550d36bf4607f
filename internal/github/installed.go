package github

import (
	"context"
	"fmt"
	"slices"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Installed is an account that the App is installed in and may act for.
type Installed struct {
	ID    int64
	Since time.Time
}

// Installations lists where the App is installed, without those that are suspended.
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

// OpenRepositories lists the repositories of the installation that may have an open pull request: not archived, and with an open issue, as
// GitHub counts pull requests too. It reads the first 3,000.
func (c *Client) OpenRepositories(ctx context.Context) ([]Repository, error) {
	var out []Repository
	o := &gh.ListOptions{PerPage: perPage}
	for range mostPages {
		some, resp, err := c.Apps.ListRepos(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("github: list the installation's repositories: %w", err)
		}
		for _, r := range some.Repositories {
			if r.GetArchived() || r.OpenIssuesCount != nil && *r.OpenIssuesCount == 0 || r.GetOwner().GetLogin() == "" {
				continue
			}
			out = append(out, Repository{ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName(), DefaultBranch: r.GetDefaultBranch(), Private: r.GetPrivate()})
		}
		if resp.NextPage <= o.Page {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}

// OpenPulls lists the open pull requests of a repository that changed after a time, the newest change first.
func (c *Client) OpenPulls(ctx context.Context, owner, repo string, since time.Time) ([]*gh.PullRequest, error) {
	var out []*gh.PullRequest
	o := &gh.PullRequestListOptions{State: "open", Sort: "updated", Direction: "desc", ListOptions: gh.ListOptions{PerPage: perPage}}
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
		if resp.NextPage <= o.Page || len(some) > 0 && !some[len(some)-1].GetUpdatedAt().After(since) {
			break
		}
		o.Page = resp.NextPage
	}
	return out, nil
}

// Concluded says whether a commit has a check run of the App, and none that is still open.
func (c *Client) Concluded(ctx context.Context, owner, repo, sha string, app int64) (bool, error) {
	list, _, err := c.Checks.ListCheckRunsForRef(ctx, owner, repo, sha, &gh.ListCheckRunsOptions{AppID: gh.Int64(app), ListOptions: gh.ListOptions{PerPage: perPage}})
	if err != nil {
		return false, fmt.Errorf("github: check runs of %.12s: %w", sha, err)
	}
	return len(list.CheckRuns) > 0 && !slices.ContainsFunc(list.CheckRuns, func(r *gh.CheckRun) bool { return r.GetStatus() != "completed" }), nil
}
