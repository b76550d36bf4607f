package webhook

type checkSuitePayload struct {
	CheckSuite struct {
		HeadSHA      string `json:"head_sha"`
		App          struct{ ID int64 }
		PullRequests []pull `json:"pull_requests"`
	} `json:"check_suite"`
}

// checkSuite handles "Re-run all checks". The action requested is ignored: GitHub sends it for
// every push before there are artifacts, and the events of the pull request contain more.
func checkSuite(e envelope, p *checkSuitePayload) (decision, error) {
	if e.Action != "rerequested" {
		return e.unused()
	}
	s := &p.CheckSuite
	if e.app != 0 && s.App.ID != e.app {
		return ignore("the check suite belongs to another App")
	}
	return e.rerunPulls(s.PullRequests, s.HeadSHA)
}
