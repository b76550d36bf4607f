package webhook

// pullRequest: a new head, or a reason to look at the head again. closed too, so that an open check run is closed with it.
func pullRequest(e envelope, body []byte) (decision, error) {
	switch e.Action {
	case "opened", "synchronize", "reopened", "ready_for_review", "closed", "edited":
	default:
		return e.unused()
	}
	var p struct {
		Number      int
		PullRequest struct {
			Head struct{ SHA string }
		} `json:"pull_request"`
		Changes struct{ Base *struct{} }
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	if e.Action == "edited" && p.Changes.Base == nil {
		return ignore("pull_request.edited without a new base changes nothing")
	}
	return one(e.pullJob(p.Number, p.PullRequest.Head.SHA, ""))
}
