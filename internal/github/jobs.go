package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// Job is one job of a workflow run.
type Job struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Conclusion string `json:"conclusion"` // "" while it isn't over
	URL        string `json:"html_url"`   // for people
	Steps      []Step `json:"steps"`
}

// Step is one step of a job. Its times are whole seconds; zero where it has not begun or not ended.
type Step struct {
	Number     int       `json:"number"`
	Name       string    `json:"name"`
	Conclusion string    `json:"conclusion"`
	Started    time.Time `json:"started_at"`
	Completed  time.Time `json:"completed_at"`
}

// Failed says that the job ended because something in it went wrong.
func (j *Job) Failed() bool { return j.Conclusion == "failure" || j.Conclusion == "timed_out" }

// maxJobPages is enough for 300 jobs; a matrix has at most 256.
const maxJobPages = 3

// Jobs lists the jobs of a workflow run's newest attempt.
func (c *Client) Jobs(ctx context.Context, owner, repo string, run int64) ([]Job, error) {
	path := fmt.Sprintf(
		"repos/%s/%s/actions/runs/%d/jobs",
		url.PathEscape(owner),
		url.PathEscape(repo),
		run,
	)
	list, err := pages(
		ctx,
		c.Client,
		path,
		url.Values{"filter": {"latest"}},
		"jobs",
		maxJobPages,
		func(j Job) int64 { return j.ID },
	)
	if err != nil && !errors.Is(err, ErrTooMany) {
		return nil, fmt.Errorf("github: list the jobs of run %d: %w", run, err)
	}
	return list, nil
}

// JobLog writes the log of a job that has ended, as text with a time stamp on each line, to dst.
// The error is that of Download; ErrExpired, and ErrRefused with 404, mean that GitHub no longer
// has it.
func (c *Client) JobLog(ctx context.Context, owner, repo string, job int64, dst io.Writer) error {
	_, _, err := c.Download(
		ctx,
		fmt.Sprintf(
			"repos/%s/%s/actions/jobs/%d/logs",
			url.PathEscape(owner),
			url.PathEscape(repo),
			job,
		),
		dst,
		DownloadOptions{},
	)
	return err
}
