package webhook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/queue"
)

// queueBranch is where GitHub's merge queue builds: gh-readonly-queue/BASE/pr-NUMBER-SHA.
const queueBranch = "gh-readonly-queue/"

// building are the triggers of runs that build a branch itself.
var building = []string{"push", "schedule", "workflow_dispatch"}

type aheadPayload struct {
	Run int64 `json:"run"`
}

// workflowRun: CI has ended, so there may be artifacts. The worker notes that before it looks at
// the pull requests: a head of which nothing has run needs no look. Those of a fork's head are not
// named (GitHub lists none); the worker finds them by the head's owner and branch. A run of the
// default branch is what the next pull requests are compared with: it is judged before they come.
func workflowRun(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "completed":
	case "requested", "in_progress":
		return ignore("a run that goes on has no artifacts yet; its end is what matters")
	default:
		return e.unused()
	}
	var p struct {
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
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	w := p.WorkflowRun
	own := w.HeadRepository.ID == e.Repository.ID
	if own && strings.HasPrefix(w.HeadBranch, queueBranch) {
		return one(
			e.subject(
				"merge_group",
				fmt.Sprintf("merge_group/%d/%s", e.Repository.ID, w.HeadSHA),
				w.HeadSHA,
				mergeGroupPayload{HeadRef: "refs/heads/" + w.HeadBranch},
			),
		)
	}
	numbers, err := e.pulls(w.PullRequests, w.HeadSHA, "")
	if err != nil {
		return decision{}, err
	}
	place := commitPayload{
		Ran:        true,
		HeadOwner:  w.HeadRepository.Owner.Login,
		HeadBranch: w.HeadBranch,
	}
	for _, j := range numbers.jobs {
		place.Pulls = append(place.Pulls, j.Key)
	}
	if len(place.Pulls) > 0 {
		return one(e.commitJob(w.HeadSHA, "", place))
	}
	if own && w.HeadBranch == e.Repository.DefaultBranch && slices.Contains(building, w.Event) {
		j, err := e.subject(
			"ahead",
			fmt.Sprintf("ahead/%d", e.Repository.ID),
			w.HeadSHA,
			aheadPayload{Run: w.ID},
		)
		j.Priority = queue.Background
		return one(j, err)
	}
	if own && w.HeadBranch == e.Repository.DefaultBranch || w.Event == "release" ||
		w.Event == "schedule" {
		return ignore(
			"a %s run of the default branch, a release or a schedule is no pull request's",
			strings.Map(word, w.Event),
		)
	}
	return one(e.commitJob(w.HeadSHA, "", place))
}

// word keeps what an event's name is made of.
func word(r rune) rune {
	if r >= 'a' && r <= 'z' || r == '_' {
		return r
	}
	return -1
}
