package webhook

// maxCommands of one comment are followed: each is answered, and answers are limited by GitHub to
// 80 a minute.
const maxCommands = 5

type commandPayload struct {
	Number   int       `json:"number"`
	Comment  int64     `json:"comment"`
	Thread   int64     `json:"thread,omitempty"` // of a comment on the diff: the first one of its conversation
	Author   string    `json:"author"`           // login
	Commands []Command `json:"commands"`
}

// issueComment: a person wrote a line "/compat …" on a pull request. An edited comment is not a
// command: it may have been answered.
func issueComment(e envelope, body []byte) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	var p struct {
		Issue struct {
			Number      int
			PullRequest *struct{} `json:"pull_request"`
		}
		Comment said
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	if p.Issue.PullRequest == nil {
		return ignore("the comment is not on a pull request")
	}
	return p.Comment.commands(e, p.Issue.Number, 0)
}
