package webhook

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
)

// queueBranch prefixes the branches of GitHub's merge queue:
// gh-readonly-queue/BASE/pr-NUMBER-SHA.
const queueBranch = "gh-readonly-queue/"

// building are the events whose runs build the branch itself, not a pull request.
var building = []string{"push", "schedule", "workflow_dispatch"}

type workflowRunPayload struct {
	WorkflowRun struct {
		ID             int64
		HeadSHA        string `json:"head_sha"`
		HeadBranch     string `json:"head_branch"`
		Event          string
		PullRequests   []pull `json:"pull_requests"`
		HeadRepository struct {
			ID    int64
			Owner struct{ Login string }
		} `json:"head_repository"`
	} `json:"workflow_run"`
}

// workflowRun handles a completed workflow run, which may have uploaded artifacts. Runs without
// pull requests include those of forks: GitHub lists none for them, and the worker finds them by
// owner and branch of the head. A run of the default branch is analyzed at once, because pull
// requests are compared with it.
func workflowRun(e envelope, p *workflowRunPayload) (decision, error) {
	switch e.Action {
	case "completed":
	case "requested", "in_progress":
		return ignore("the run has not ended, so it has no artifacts yet")
	default:
		return e.unused()
	}
	w := &p.WorkflowRun
	own := w.HeadRepository.ID == e.Repository.ID
	if own && strings.HasPrefix(w.HeadBranch, queueBranch) {
		return one(e.job(&job.MergeGroup{
			Repository: e.Repository.ID,
			SHA:        w.HeadSHA,
			HeadRef:    "refs/heads/" + w.HeadBranch,
		}, w.HeadSHA))
	}
	commit := &job.Commit{
		Repository: e.Repository.ID,
		SHA:        w.HeadSHA,
		Ran:        true,
		HeadOwner:  w.HeadRepository.Owner.Login,
		HeadBranch: w.HeadBranch,
	}
	for _, b := range e.pulls(w.PullRequests) {
		commit.Pulls = append(commit.Pulls, b.Key())
	}
	isDefault := own && w.HeadBranch == e.Repository.DefaultBranch
	switch {
	case len(commit.Pulls) > 0:
	case isDefault && slices.Contains(building, w.Event):
		j, err := e.job(&job.BaseAnalysis{Repository: e.Repository.ID, Run: w.ID}, w.HeadSHA)
		j.Priority = queue.Background
		return one(j, err)
	case isDefault, w.Event == "release", w.Event == "schedule":
		return ignore(
			"%s runs of the default branch, a release or a schedule belong to no pull request",
			strings.Map(word, w.Event),
		)
	}
	return one(e.job(commit, w.HeadSHA))
}

// word keeps the characters that occur in names of events.
func word(r rune) rune {
	if r >= 'a' && r <= 'z' || r == '_' {
		return r
	}
	return -1
}
