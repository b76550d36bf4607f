package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Release is a release as far as compat asks about it; go-github v60 doesn't know that one may be
// immutable.
type Release struct {
	ID          int64     `json:"id"`
	Tag         string    `json:"tag_name"` // of a draft: the tag that it will make
	Target      string    `json:"target_commitish"`
	Draft       bool      `json:"draft"`
	Immutable   bool      `json:"immutable"` // its assets can't be replaced any more
	CreatedAt   time.Time `json:"created_at"`
	PublishedAt time.Time `json:"published_at"` // zero for a draft
	Assets      []struct {
		ID int64 `json:"id"`
	} `json:"assets"`
}

// ReleaseByID reads a release. Drafts are shown to those who may write.
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

// ReleaseBefore is the newest release that was published before another one; of a draft, the newest
// that is published. nil: there is none among the newest hundred.
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

// releases lists the newest releases, at most a hundred.
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

// ReviewComment is how many characters GitHub takes in the comment of a deployment review
// (docs.github.com: creating custom deployment protection rules).
const ReviewComment = 1024

// StatusReports is how often GitHub takes word of how a deployment's review stands (same page).
const StatusReports = 10

// ReviewDeployment answers a deployment protection rule; go-github v60 can't. state is "approved"
// or "rejected"; "" only reports how it stands. The path is built from the run's id, never from the
// payload's callback address, which could name another host. A longer comment is cut, since a gate
// that isn't answered holds the deployment for ever.
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
