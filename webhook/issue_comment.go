package webhook

import (
	"errors"
	"fmt"
)

// maxCommands of one comment are followed: each is answered, and answers are limited by GitHub to 80 a minute.
const maxCommands = 5

type commandPayload struct {
	Number   int       `json:"number"`
	Comment  int64     `json:"comment"`
	Author   string    `json:"author"` // login
	Commands []Command `json:"commands"`
}

// issueComment: a person wrote a line "/compat …" on a pull request. An edited comment is not a command: it may have been answered.
func issueComment(e envelope, body []byte) (decision, error) {
	if e.Action != "created" {
		return e.unused()
	}
	var p struct {
		Issue struct {
			Number      int
			PullRequest *struct{} `json:"pull_request"`
		}
		Comment struct {
			ID   int64
			Body string
			User struct{ Login, Type string }
			App  *struct{} `json:"performed_via_github_app"`
		}
	}
	if err := read(body, &p); err != nil {
		return decision{}, err
	}
	switch {
	case p.Issue.PullRequest == nil:
		return ignore("the comment is not on a pull request")
	case e.Sender.Type == "Bot" || p.Comment.User.Type == "Bot" || p.Comment.App != nil:
		return ignore("the comment is a bot's")
	}
	commands := Commands(p.Comment.Body)
	if len(commands) == 0 {
		return ignore("the comment holds no command")
	}
	if p.Issue.Number <= 0 || p.Comment.ID <= 0 {
		return decision{}, errors.New("the payload names no comment")
	}
	return one(e.subject("command", fmt.Sprintf("command/%d/%d", e.Repository.ID, p.Comment.ID), "", commandPayload{
		Number: p.Issue.Number, Comment: p.Comment.ID, Author: p.Comment.User.Login, Commands: commands[:min(len(commands), maxCommands)],
	}))
}
