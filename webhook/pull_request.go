package webhook

import (
	"errors"
	"time"

	"github.com/compat-app/compat/internal/job"
)

type pullRequestPayload struct {
	Number      int
	PullRequest struct {
		Head struct {
			SHA, Ref string
			Repo     struct {
				ID       int64
				FullName string `json:"full_name"`
			}
		}
		Base      struct{ Ref string }
		State     string
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"pull_request"`
	Changes struct{ Base *struct{} }
}

// pullRequest handles new heads and other changes that need a check. closed is included, so that
// an open check run is concluded.
func pullRequest(e envelope, p *pullRequestPayload) (decision, error) {
	switch e.Action {
	case "opened", "synchronize", "reopened", "ready_for_review", "closed", "edited":
	default:
		return e.unused()
	}
	if e.Action == "edited" && p.Changes.Base == nil {
		return ignore("pull_request.edited without a new base changes nothing")
	}
	if p.Number <= 0 {
		return decision{}, errors.New("the payload has no pull request")
	}
	r := &p.PullRequest
	b := &job.Pull{Repository: e.Repository.ID, Number: p.Number}
	if e.Action == "synchronize" && r.State == "open" && r.Head.SHA != "" && r.Base.Ref != "" &&
		!r.UpdatedAt.IsZero() {
		b.Pushed = &job.Push{
			SHA:     r.Head.SHA,
			Ref:     r.Head.Ref,
			RepoID:  r.Head.Repo.ID,
			Repo:    r.Head.Repo.FullName,
			Base:    r.Base.Ref,
			Updated: r.UpdatedAt,
		}
	}
	return one(e.job(b, r.Head.SHA))
}
