package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Run is a workflow run; go-github v60 doesn't know its file.
type Run struct {
	ID      int64  `json:"id"`
	Attempt int    `json:"run_attempt"` // GitHub lists a run once, as its newest attempt
	Name    string `json:"name"`        // of the workflow
	// of the workflow's file, ".github/workflows/wheels.yml", without a ref
	Path       string `json:"path"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"` // "" while it isn't over
	URL        string `json:"html_url"`   // for people
	SHA        string `json:"head_sha"`
	Branch     string `json:"head_branch"`

	Created time.Time `json:"created_at"` // of the first attempt

	// Where it runs and where its head comes from. HeadRepository is 0 and HeadName "" when that
	// was deleted.
	Repository     int64  `json:"-"`
	HeadRepository int64  `json:"-"`
	HeadName       string `json:"-"` // "owner/name"
}

// UnmarshalJSON flattens the repositories and takes the ref off the path.
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
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	r.Repository, r.HeadRepository, r.HeadName = v.Repository.ID, v.HeadRepository.ID,
		v.HeadRepository.FullName
	r.Path, _, _ = strings.Cut(r.Path, "@")
	return nil
}

// RunFilter selects workflow runs; empty fields select all.
type RunFilter struct {
	SHA    string
	Branch string // of the head, in whatever repository: "main" of a fork is among them
	Status string // a status or a conclusion, "success"
	Pages  int    // of 100 to read at most; 0: 10, which is all that GitHub gives
}

// Runs lists workflow runs, newest first.
func (c *Client) Runs(ctx context.Context, owner, repo string, f RunFilter) ([]Run, error) {
	q := url.Values{}
	for k, v := range map[string]string{"head_sha": f.SHA, "branch": f.Branch, "status": f.Status} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if f.Pages == 0 {
		f.Pages = 10
	}
	path := fmt.Sprintf("repos/%s/%s/actions/runs", url.PathEscape(owner), url.PathEscape(repo))
	list, err := pages(
		ctx,
		c.Client,
		path,
		q,
		"workflow_runs",
		f.Pages,
		func(r Run) int64 { return r.ID },
	)
	if err != nil && !errors.Is(err, ErrTooMany) {
		return nil, fmt.Errorf("github: list workflow runs: %w", err)
	}
	return list, nil
}

// Run looks one workflow run up.
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
