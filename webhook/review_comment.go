package webhook

import (
	"cmp"
	"errors"
	"time"

	"github.com/compat-app/compat/internal/job"
)

// maxCommands limits the commands of one comment: each gets a reply, and GitHub allows 80 a
// minute.
const maxCommands = 5

type reviewCommentPayload struct {
	PullRequest struct{ Number int } `json:"pull_request"`
	Comment     struct {
		comment
		InReplyTo int64 `json:"in_reply_to_id"`
	}
}

// reviewComment handles "/compat …" commands in a review conversation. The reply goes to the same
// conversation.
func reviewComment(e envelope, p *reviewCommentPayload) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	thread := cmp.Or(p.Comment.InReplyTo, p.Comment.ID)
	return p.Comment.commands(e, p.PullRequest.Number, thread)
}

// comment is a comment that may contain commands.
type comment struct {
	ID   int64
	Body string
	User struct{ Login, Type string }
	App  *struct{} `json:"performed_via_github_app"`

	CreatedAt time.Time `json:"created_at"`
}

// commands makes the job for the commands in a comment. thread is the ID of the first comment of
// the review conversation; 0 means that the comment is on the pull request itself.
func (c *comment) commands(e envelope, number int, thread int64) (decision, error) {
	if e.Sender.Type == "Bot" || c.User.Type == "Bot" || c.App != nil {
		return ignore("the comment was written by a bot")
	}
	lines := Commands(c.Body)
	if len(lines) == 0 {
		return ignore("the comment contains no command")
	}
	if number <= 0 || c.ID <= 0 || thread < 0 {
		return decision{}, errors.New("the payload has no comment")
	}
	j, err := e.job(&job.Command{
		Repository: e.Repository.ID,
		Number:     number,
		Comment:    c.ID,
		Thread:     thread,
		Author:     c.User.Login,
		Lines:      lines[:min(len(lines), maxCommands)],
	}, "")
	j.Requested = c.CreatedAt
	return request(j, err)
}
