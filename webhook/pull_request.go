package webhook

import (
	"encoding/json"
	"time"
)

type pullPayload struct {
	Number int     `json:"number"`
	Pushed *pushed `json:"pushed,omitempty"`
}

// pushed is an open pull request as the event of a push has it. Only the worker knows whether it is
// news.
type pushed struct {
	SHA     string    `json:"sha"`
	Ref     string    `json:"ref"`
	RepoID  int64     `json:"repo,omitempty"` // of the head; 0: it was deleted
	Repo    string    `json:"name,omitempty"`
	Base    string    `json:"base"`
	Updated time.Time `json:"updated"`
}

// pullRequest: a new head, or a reason to look at the head again. closed too, so that an open check
// run is closed with it.
func pullRequest(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "opened", "synchronize", "reopened", "ready_for_review", "closed", "edited":
	default:
		return e.unused()
	}
	var p struct {
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
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	if e.Action == "edited" && p.Changes.Base == nil {
		return ignore("pull_request.edited without a new base changes nothing")
	}
	r := p.PullRequest
	j, err := e.pullJob(p.Number, r.Head.SHA, "")
	if err == nil && e.Action == "synchronize" && r.State == "open" && r.Head.SHA != "" &&
		r.Base.Ref != "" &&
		!r.UpdatedAt.IsZero() {
		j.Payload, err = json.Marshal(
			pullPayload{
				p.Number,
				&pushed{
					r.Head.SHA,
					r.Head.Ref,
					r.Head.Repo.ID,
					r.Head.Repo.FullName,
					r.Base.Ref,
					r.UpdatedAt,
				},
			},
		)
	}
	return one(j, err)
}
