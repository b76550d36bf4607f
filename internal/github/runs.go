package github

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Run is a workflow run; go-github v60 does not have its path.
type Run struct {
	ID      int64  `json:"id"`
	Number  int    `json:"run_number"`  // of the workflow
	Attempt int    `json:"run_attempt"` // GitHub lists a run once, as its newest attempt
	Name    string `json:"name"`        // of the workflow
	// path of the workflow file without ref: ".github/workflows/wheels.yml"
	Path       string `json:"path"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"` // "" until it is completed
	URL        string `json:"html_url"`   // web page
	SHA        string `json:"head_sha"`
	Branch     string `json:"head_branch"`

	Created time.Time `json:"created_at"` // time of the first attempt

	// The run's repository and its head's. HeadRepository is 0 and HeadName "" if the head
	// repository was deleted.
	Repository     int64  `json:"-"`
	HeadRepository int64  `json:"-"`
	HeadName       string `json:"-"` // "owner/name"
	// Pulls are the numbers of the repository's open pull requests that GitHub lists for the run: none
	// for those from forks, and several if they have the same head.
	Pulls []int `json:"-"`
}

// UnmarshalJSON decodes a run, flattens the repositories and removes the ref from the path.
func (r *Run) UnmarshalJSON(b []byte) error {
	type plain Run
	type repository struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	}
	v := struct {
		*plain
		Repository     repository `json:"repository"`
		HeadRepository repository `json:"head_repository"`
		PullRequests   []struct {
			Number int `json:"number"`
			Base   struct {
				Repo repository `json:"repo"`
			} `json:"base"`
		} `json:"pull_requests"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	r.Repository, r.HeadRepository, r.HeadName = v.Repository.ID, v.HeadRepository.ID,
		v.HeadRepository.FullName
	for _, p := range v.PullRequests {
		if p.Base.Repo.ID == r.Repository {
			r.Pulls = append(r.Pulls, p.Number)
		}
	}
	r.Path, _, _ = strings.Cut(r.Path, "@")
	return nil
}

// RunFilter selects workflow runs; zero fields select all.
type RunFilter struct {
	SHA    string
	Branch string // branch of the head in any repository, including "main" of forks
	Event  string // trigger, such as "push"
	Status string // a status or conclusion, such as "success"
	Pages  int    // limit of pages of 100; 0 = 10, which is GitHub's maximum

	Workflow int64 // ID of a workflow
}

// mostRuns is the number of runs that GitHub lists with a filter.
const mostRuns = 1000

// Runs lists workflow runs, newest first. Together with ErrTooMany it returns the newest ones.
func (c *Client) Runs(ctx context.Context, owner, repo string, f RunFilter) ([]Run, error) {
	q := url.Values{}
	for k, v := range map[string]string{
		"head_sha": f.SHA, "branch": f.Branch, "event": f.Event, "status": f.Status,
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.Pages == 0 {
		f.Pages = 10
	}
	path := fmt.Sprintf("repos/%s/%s/actions/", url.PathEscape(owner), url.PathEscape(repo))
	if f.Workflow != 0 {
		path += fmt.Sprintf("workflows/%d/", f.Workflow)
	}
	path += "runs"
	list, err := pages(
		ctx,
		c.Client,
		path,
		q,
		"workflow_runs",
		f.Pages,
		func(r Run) int64 { return r.ID },
	)
	if err == nil && len(list) >= mostRuns {
		err = ErrTooMany
	}
	if err != nil {
		return list, fmt.Errorf("github: list workflow runs: %w", err)
	}
	return list, nil
}

// Workflow is a workflow of a repository.
type Workflow struct {
	ID   int64  `json:"id"`
	Path string `json:"path"` // of its file
}

// Workflows lists the workflows of a repository. Together with ErrTooMany it returns the first 100.
func (c *Client) Workflows(ctx context.Context, owner, repo string) ([]Workflow, error) {
	path := fmt.Sprintf("repos/%s/%s/actions/workflows", url.PathEscape(owner), url.PathEscape(repo))
	list, err := pages(ctx, c.Client, path, nil, "workflows", 1,
		func(w Workflow) int64 { return w.ID })
	if err != nil {
		return list, fmt.Errorf("github: list workflows: %w", err)
	}
	return list, nil
}

// Run returns a workflow run.
func (c *Client) Run(ctx context.Context, owner, repo string, id int64) (*Run, error) {
	req, err := c.NewRequest(
		http.MethodGet,
		fmt.Sprintf("repos/%s/%s/actions/runs/%d", url.PathEscape(owner), url.PathEscape(repo), id),
		nil,
	)
	if err != nil {
		return nil, fmt.Errorf("github: workflow run %d: %w", id, err)
	}
	r := &Run{}
	if _, err := c.Do(ctx, req, r); err != nil {
		return nil, fmt.Errorf("github: workflow run %d: %w", id, err)
	}
	return r, nil
}

// Job is a job of a workflow run.
type Job struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`     // "waiting" = for a deployment to be approved
	Conclusion string `json:"conclusion"` // "" until it is completed
	URL        string `json:"html_url"`   // web page
	Steps      []Step `json:"steps"`
}

// Step is a step of a job. Its times have a precision of one second; zero = not started or not
// completed.
type Step struct {
	Number     int       `json:"number"`
	Name       string    `json:"name"`
	Conclusion string    `json:"conclusion"`
	Started    time.Time `json:"started_at"`
	Completed  time.Time `json:"completed_at"`
}

// Failed reports whether the job failed or timed out.
func (j *Job) Failed() bool { return j.Conclusion == "failure" || j.Conclusion == "timed_out" }

// maxJobPages is enough for 1,000 jobs; a matrix has at most 256.
const maxJobPages = 10

// Jobs lists the jobs of a workflow run's newest attempt. Together with ErrTooMany it returns the
// first 1,000.
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
	if err != nil {
		return list, fmt.Errorf("github: list the jobs of run %d: %w", run, err)
	}
	return list, nil
}

// JobLog writes the log of a completed job to dst, as text with a timestamp on each line. Errors
// are those of Download; ErrExpired, and ErrRefused with status 404, mean that the log has
// expired.
func (c *Client) JobLog(ctx context.Context, owner, repo string, job int64, dst io.Writer) error {
	_, _, err := c.Download(
		ctx,
		fmt.Sprintf("repos/%s/%s/actions/jobs/%d/logs", url.PathEscape(owner), url.PathEscape(repo), job),
		dst,
		DownloadOptions{},
	)
	return err
}
