package webhook

// checkSuite: somebody pressed Re-run all checks. requested comes with every push and before any
// artifact: the events of the pull request say more.
func checkSuite(e envelope, body []byte) (decision, error) {
	if e.Action != "rerequested" {
		return e.unused()
	}
	var p struct {
		CheckSuite struct {
			HeadSHA      string `json:"head_sha"`
			App          struct{ ID int64 }
			PullRequests []pull `json:"pull_requests"`
		} `json:"check_suite"`
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	s := p.CheckSuite
	if e.app != 0 && s.App.ID != e.app {
		return ignore("the check suite is another App's")
	}
	if d, err := e.pulls(s.PullRequests, s.HeadSHA, e.guid); err != nil || len(d.jobs) > 0 {
		return d, err
	}
	return one(e.commitJob(s.HeadSHA, e.guid, commitPayload{}))
}
