package webhook

type issueCommentPayload struct {
	Issue struct {
		Number      int
		PullRequest *struct{} `json:"pull_request"`
	}
	Comment comment
}

// issueComment handles "/compat …" commands in comments on a pull request. Edited comments are
// ignored because they may have been answered already.
func issueComment(e envelope, p *issueCommentPayload) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	if p.Issue.PullRequest == nil {
		return ignore("the comment is not on a pull request")
	}
	return p.Comment.commands(e, p.Issue.Number, 0)
}
