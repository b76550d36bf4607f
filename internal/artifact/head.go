package artifact

import (
	"context"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/github"
)

// Head names a commit whose artifacts are wanted, and where it comes from.
type Head struct {
	Owner, Repo string // where the runs are: the base repository
	SHA         string // of the head itself, not of a test merge
	HeadRepo    string // "owner/name" of the head's repository; only used where HeadRepoID is 0
	// its id; 0 with an empty HeadRepo: deleted. For pushes and merge groups that of Owner/Repo
	// itself
	HeadRepoID int64
	Branch     string // of the head; informative
	// triggers that count, the most telling first; nil: pull_request, merge_group, push,
	// pull_request_target, workflow_dispatch
	Events    []string
	Workflows []string // file names, paths or names (globs) of the workflows that count; nil: all
}

// Head finds the artifacts of a commit. want are artifact name globs (nil: all).
//
// Waiting: no run of the commit that counts, or one that isn't completed (a first-time
// contributor's waits for approval as "action_required"). Ready: all are completed and there are
// artifacts, expired ones included. Empty: all are completed and there is none. A 404 counts as
// "none yet", so a caller that polls until its deadline needs no care just after an event.
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
	if err != nil && !missing(err) {
		return nil, wrap("look for the head's runs", err)
	}
	var runs []Run
	for _, r := range all {
		if strings.EqualFold(r.SHA, h.SHA) && from(r, h.HeadRepoID, h.HeadRepo) &&
			slices.Contains(order, r.Event) &&
			selected(r, h.Workflows) {
			runs = append(runs, r)
		}
	}
	found := &Found{Runs: newest(runs, order)}
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
	for _, r := range found.Runs {
		if err := found.artifacts(ctx, c, h.Owner, h.Repo, r, h.HeadRepoID, want); err != nil {
			return nil, err
		}
	}
	return found.seal(nothing(found)), nil
}

// nothing says why a finished commit has no artifact to judge.
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

// Run finds the artifacts of one run, for a deployment gate: the run itself waits for the answer.
// Artifacts that are there are Ready whatever the run's state, since the jobs that the deployment
// needs are over. Without any: Waiting while jobs are still running, else Empty.
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
		return nil, wrap("look at a workflow run", err)
	}
	found := &Found{Runs: []Run{*r}}
	if err := found.artifacts(ctx, c, owner, repo, *r, r.HeadRepository, want); err != nil {
		return nil, err
	}
	if len(found.Items) == 0 && len(found.Problems) == 0 && r.Status != "completed" &&
		r.Status != "waiting" {
		found.State, found.Reason = Waiting, pending(*r)
	}
	return found.seal("The workflow run uploaded no artifact."), nil
}
