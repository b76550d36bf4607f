package webhook

import (
	"errors"
	"fmt"
)

// reviewComment: a person wrote a line "/compat …" in a conversation on the diff. It is answered
// there.
func reviewComment(e envelope, body []byte) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	var p struct {
		PullRequest struct{ Number int } `json:"pull_request"`
		Comment     struct {
			said
			InReplyTo int64 `json:"in_reply_to_id"`
		}
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	thread := p.Comment.InReplyTo
	if thread == 0 {
		thread = p.Comment.ID
	}
	return p.Comment.commands(e, p.PullRequest.Number, thread)
}

// said is a comment that may hold commands.
type said struct {
	ID   int64
	Body string
	User struct{ Login, Type string }
	App  *struct{} `json:"performed_via_github_app"`
}

// commands makes the job of a comment. thread is the first comment of the conversation on the diff
// that it is in; 0: it is in the pull request's own.
func (c *said) commands(e envelope, number int, thread int64) (decision, error) {
	if e.Sender.Type == "Bot" || c.User.Type == "Bot" || c.App != nil {
		return ignore("the comment is a bot's")
	}
	commands := Commands(c.Body)
	if len(commands) == 0 {
		return ignore("the comment holds no command")
	}
	if number <= 0 || c.ID <= 0 || thread < 0 {
		return decision{}, errors.New("the payload names no comment")
	}
	key := fmt.Sprintf("command/%d/%d", e.Repository.ID, c.ID)
	if thread > 0 { // the ids of the two kinds of comments are counted apart
		key = fmt.Sprintf("command/%d/review/%d", e.Repository.ID, c.ID)
	}
	return one(
		e.subject(
			"command",
			key,
			"",
			commandPayload{
				Number:   number,
				Comment:  c.ID,
				Thread:   thread,
				Author:   c.User.Login,
				Commands: commands[:min(len(commands), maxCommands)],
			},
		),
	)
}
