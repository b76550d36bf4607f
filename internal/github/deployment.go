package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

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
