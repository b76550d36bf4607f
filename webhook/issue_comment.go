package webhook

type issueCommentPayload struct {
	Issue struct {
		Number      int
		PullRequest *struct{} `json:"pull_request"`
	}
	Comment comment
}

// issueComment: a person wrote a line "/compat …" on a pull request. An edited comment is not a
// command: it may have been answered.
func issueComment(e envelope, p *issueCommentPayload) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	if p.Issue.PullRequest == nil {
		return ignore("the comment is not on a pull request")
	}
	return p.Comment.commands(e, p.Issue.Number, 0)
}
