package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Release has the members of a release that compat needs; go-github v60 has no member immutable.
type Release struct {
	ID          int64     `json:"id"`
	Tag         string    `json:"tag_name"` // for a draft, the tag that publishing creates
	Target      string    `json:"target_commitish"`
	Draft       bool      `json:"draft"`
	Immutable   bool      `json:"immutable"` // the assets cannot be replaced
	CreatedAt   time.Time `json:"created_at"`
	PublishedAt time.Time `json:"published_at"` // zero for a draft
	Assets      []struct {
		ID int64 `json:"id"`
	} `json:"assets"`
}

// ReleaseByID returns a release. Drafts are visible only with write permission.
func (c *Client) ReleaseByID(ctx context.Context, owner, repo string, id int64) (*Release, error) {
	req, err := c.NewRequest(
		http.MethodGet,
		fmt.Sprintf("repos/%s/%s/releases/%d", url.PathEscape(owner), url.PathEscape(repo), id),
		nil,
	)
	if err != nil {
		return nil, fmt.Errorf("github: read release %d: %w", id, err)
	}
	r := &Release{}
	if _, err := c.Do(ctx, req, r); err != nil {
		return nil, fmt.Errorf("github: read release %d: %w", id, err)
	}
	return r, nil
}

// ReleaseBefore returns the newest release published before another; for a draft, the newest
// published release. nil means that the newest hundred have none.
func (c *Client) ReleaseBefore(
	ctx context.Context,
	owner, repo string,
	than *Release,
) (*Release, error) {
	all, err := c.releases(ctx, owner, repo, perPage)
	if err != nil {
		return nil, err
	}
	var best *Release
	for _, r := range all {
		if r.Draft || r.ID == than.ID || !than.Draft && !r.PublishedAt.Before(than.PublishedAt) {
			continue
		}
		if best == nil || r.PublishedAt.After(best.PublishedAt) {
			best = r
		}
	}
	return best, nil
}

// releases lists the newest releases, at most 100.
func (c *Client) releases(ctx context.Context, owner, repo string, most int) ([]*Release, error) {
	req, err := c.NewRequest(
		http.MethodGet,
		fmt.Sprintf(
			"repos/%s/%s/releases?per_page=%d",
			url.PathEscape(owner),
			url.PathEscape(repo),
			most,
		),
		nil,
	)
	if err != nil {
		return nil, fmt.Errorf("github: list releases: %w", err)
	}
	var all []*Release
	if _, err := c.Do(ctx, req, &all); err != nil {
		return nil, fmt.Errorf("github: list releases: %w", err)
	}
	return all, nil
}

// ReviewComment is the limit of a deployment review's comment in characters (docs.github.com:
// creating custom deployment protection rules).
const ReviewComment = 1024

// StatusReports is the number of status reports that GitHub accepts for a deployment review (same
// page).
const StatusReports = 10

// ReviewDeployment responds to a deployment protection rule; go-github v60 cannot. state is
// "approved", "rejected", or "" for a status report. The path is built from the run ID and not
// from the callback address of the payload, which could name another host. Longer comments are
// truncated, because a rejected response would block the deployment forever.
func (c *Client) ReviewDeployment(
	ctx context.Context,
	owner, repo string,
	run int64,
	environment, state, comment string,
) error {
	if r := []rune(comment); len(r) > ReviewComment {
		comment = string(r[:ReviewComment-1]) + "…"
	}
	body := struct {
		Environment string `json:"environment_name"`
		State       string `json:"state,omitempty"`
		Comment     string `json:"comment"`
	}{environment, state, comment}
	path := fmt.Sprintf(
		"repos/%s/%s/actions/runs/%d/deployment_protection_rule",
		url.PathEscape(owner),
		url.PathEscape(repo),
		run,
	)
	req, err := c.NewRequest(http.MethodPost, path, body)
	if err != nil {
		return fmt.Errorf("github: review the deployment of run %d: %w", run, err)
	}
	if _, err := c.Do(ctx, req, nil); err != nil {
		return fmt.Errorf("github: review the deployment of run %d: %w", run, err)
	}
	return nil
}
