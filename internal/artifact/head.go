package artifact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/github"
)

// Head identifies a commit whose artifacts are wanted.
type Head struct {
	Owner, Repo string // the base repository, which runs the workflows
	SHA         string // the head commit, not a test merge
	HeadRepo    string // "owner/name" of the head repository; used only if HeadRepoID is 0
	// ID of the head repository; 0 with an empty HeadRepo = deleted. For pushes and merge groups
	// the ID of Owner/Repo
	HeadRepoID int64
	Branch     string // branch of the head; not used for the search
	Number     int    // of the pull request; 0 = none
	// Shared means that other pull requests have the same commit as their head. A run that may be for
	// one of them counts too.
	Shared bool
	// triggers of runs to use, the preferred first; nil = pull_request, merge_group, push,
	// pull_request_target, workflow_dispatch
	Events    []string
	Workflows []string // globs of file names, paths or names of workflows; nil = all
}

// Head finds the artifacts of a commit. want are globs of artifact names (nil = all).
//
// The state is Waiting if there is no matching run or one has not completed (runs of first-time
// contributors wait for approval as "action_required"), Ready if all have completed and there are
// artifacts, including expired ones, and Empty if there are none. A 404 means that there are none
// yet, so callers can poll directly after an event.
func (f *Fetcher) Head(
	ctx context.Context,
	c *github.Client,
	h Head,
	want []string,
) (*Found, error) {
	order := h.Events
	if len(order) == 0 {
		order = events
	}
	all, err := c.Runs(ctx, h.Owner, h.Repo, github.RunFilter{SHA: h.SHA})
	cut := errors.Is(err, github.ErrTooMany)
	if err != nil && !cut && !missing(err) {
		return nil, wrap("find the head's runs", err)
	}
	var runs []Run
	for _, r := range all {
		if strings.EqualFold(r.SHA, h.SHA) && from(r, h.HeadRepoID, h.HeadRepo) &&
			slices.Contains(order, r.Event) &&
			selected(r, h.Workflows) && h.of(r) != others {
			runs = append(runs, r)
		}
	}
	found := &Found{Runs: h.newest(runs, order)}
	if len(runs) == 0 {
		found.State, found.Reason = Waiting, "No workflow run of this commit yet."
		if len(h.Workflows) > 0 {
			found.Reason = "No run of " + strings.Join(
				h.Workflows,
				", ",
			) + " (\"workflows\" in .github/compat.yml) for this commit yet."
		}
		return found.seal(""), nil
	}
	for _, r := range found.Runs {
		if why := pending(r); why != "" {
			found.State, found.Reason = Waiting, why
			return found.seal(""), nil
		}
	}
	if cut {
		found.Problems = append(found.Problems, Problem{"workflow runs",
			"This commit has more workflow runs than GitHub lists (1,000)."})
	}
	for _, r := range found.Runs {
		if err := found.artifacts(ctx, c, h.Owner, h.Repo, r, h.HeadRepoID, want); err != nil {
			return nil, err
		}
	}
	return found.seal(nothing(found)), nil
}

// owner says for which pull request a run is.
type owner int

const (
	mine    owner = iota // for the one of the Head, or for the commit
	unknown              // for the one of the Head or another with the same head
	others
)

// of returns for which pull request a run is. GitHub lists no pull requests of forks.
func (h *Head) of(r Run) owner {
	switch {
	case h.Number == 0, !strings.HasPrefix(r.Event, "pull_request"):
		return mine
	case len(r.Pulls) > 0 && !slices.Contains(r.Pulls, h.Number):
		return others
	case h.Shared && len(r.Pulls) != 1:
		return unknown
	}
	return mine
}

// newest returns the newest run of each workflow and event, and all whose pull request is not
// known: any of them may be the newest one for this pull request.
func (h *Head) newest(runs []Run, order []string) []Run {
	var sure, unsure []Run
	for _, r := range runs {
		if h.of(r) == unknown {
			unsure = append(unsure, r)
		} else {
			sure = append(sure, r)
		}
	}
	return append(newest(sure, order), unsure...)
}

// nothing explains why a completed commit has no artifact to check.
func nothing(f *Found) string {
	if len(f.Skipped) > 0 {
		return "The workflow runs uploaded no artifact that \"artifacts\" in .github/compat.yml selects."
	}
	for _, r := range f.Runs {
		if r.Conclusion != "success" && r.Conclusion != "skipped" && r.Conclusion != "neutral" {
			return "The workflow runs uploaded no artifact, and some of them failed."
		}
	}
	return "The workflow runs uploaded no artifact."
}

// Run finds the artifacts of one run, for a deployment protection rule: the run itself waits for
// the response. The state is Waiting while a job has not ended that does not wait for a deployment,
// because it may upload an artifact, else Ready or Empty.
func (f *Fetcher) Run(
	ctx context.Context,
	c *github.Client,
	owner, repo string,
	run int64,
	want ...string,
) (*Found, error) {
	r, err := c.Run(ctx, owner, repo, run)
	if missing(err) {
		found := &Found{State: Waiting, Reason: "GitHub's API does not show the workflow run."}
		return found.seal(""), nil
	}
	if err != nil {
		return nil, wrap("read a workflow run", err)
	}
	found := &Found{Runs: []Run{*r}}
	jobs, err := c.Jobs(ctx, owner, repo, run)
	// jobs that are not shown may not have ended
	if missing(err) || errors.Is(err, github.ErrTooMany) {
		found.State, found.Reason = Waiting, "GitHub's API does not show all jobs of the workflow run."
		return found.seal(""), nil
	}
	if err != nil {
		return nil, wrap("list the jobs of a workflow run", err)
	}
	for _, j := range jobs {
		if j.Status != "completed" && j.Status != "waiting" {
			found.State = Waiting
			found.Reason = fmt.Sprintf("The job %q of the workflow run has not ended: %s.", j.Name,
				strings.ReplaceAll(j.Status, "_", " "))
			return found.seal(""), nil
		}
	}
	if err := found.artifacts(ctx, c, owner, repo, *r, r.HeadRepository, want); err != nil {
		return nil, err
	}
	if len(found.Items) == 0 && len(found.Problems) == 0 && r.Status != "completed" &&
		r.Status != "waiting" {
		found.State, found.Reason = Waiting, pending(*r)
	}
	return found.seal("The workflow run uploaded no artifact."), nil
}
