package artifact

import (
	"context"
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
	if err != nil && !missing(err) {
		return nil, wrap("find the head's runs", err)
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
// the response. If there are artifacts the state is Ready, because the jobs that the deployment
// needs have ended. Otherwise it is Waiting while jobs are running, else Empty.
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
	if err := found.artifacts(ctx, c, owner, repo, *r, r.HeadRepository, want); err != nil {
		return nil, err
	}
	if len(found.Items) == 0 && len(found.Problems) == 0 && r.Status != "completed" &&
		r.Status != "waiting" {
		found.State, found.Reason = Waiting, pending(*r)
	}
	return found.seal("The workflow run uploaded no artifact."), nil
}
