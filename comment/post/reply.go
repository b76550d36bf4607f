package post

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/github"
)

// ReplyTo is the target of a reply: a comment with a command, or a click on a button of a check
// run.
type ReplyTo struct {
	Number  int   // the pull request
	Comment int64 // ID; 0 = a button
	// ID of the first comment of the review conversation; the reply goes there
	Thread int64
	Press  string // distinguishes clicks on a button
}

// marker starts the reply, so that it can be found.
func (s ReplyTo) marker() string {
	name := s.Press
	if s.Comment != 0 {
		name = strconv.FormatInt(s.Comment, 10)
	}
	return "<!-- compat:reply " + name + " -->"
}

// React adds a reaction ("eyes", "+1", "-1", "confused") to the comment. GitHub stores one of a
// kind per user. Buttons and deleted comments are ignored.
func (p *Poster) React(ctx context.Context, at ReplyTo, content string) error {
	if at.Comment == 0 {
		return nil
	}
	err := p.write(ctx, "react to a comment", func() error {
		react := p.Client.Reactions.CreateIssueCommentReaction
		if at.Thread != 0 {
			react = p.Client.Reactions.CreatePullRequestCommentReaction
		}
		_, _, err := react(ctx, p.Owner, p.Repo, at.Comment, content)
		return err
	}, func() (bool, error) { return false, nil })
	if k := github.Classify(err).Kind; err != nil && (k == github.Missing || k == github.Gone) {
		return nil
	}
	return err
}

// Reply posts a reply, unless there is one already. body is trusted Markdown.
func (p *Poster) Reply(ctx context.Context, at ReplyTo, body string) error {
	there := func() (found bool, err error) {
		err = p.said(ctx, at, func(by *gh.User, text string) bool {
			found = by.GetLogin() == p.Bot && strings.HasPrefix(text, at.marker())
			return found
		})
		return found, err
	}
	if found, err := there(); found || err != nil {
		return err
	}
	full := at.marker() + "\n" + strings.ReplaceAll(body, comment.Marker, "<!-- -->")
	return p.write(ctx, fmt.Sprintf("reply on #%d", at.Number), func() error {
		if at.Thread != 0 {
			return p.Client.ReplyInThread(ctx, p.Owner, p.Repo, at.Number, at.Thread, full)
		}
		_, _, err := p.Client.Issues.CreateComment(
			ctx,
			p.Owner,
			p.Repo,
			at.Number,
			&gh.IssueComment{Body: &full},
		)
		return err
	}, there)
}

// said calls visit for the comments that may contain the reply, oldest first, until it returns
// true.
func (p *Poster) said(
	ctx context.Context,
	at ReplyTo,
	visit func(by *gh.User, text string) bool,
) error {
	for page := 1; page != 0; {
		next := 0
		err := p.read(fmt.Sprintf("list comments of #%d", at.Number), func() error {
			list := gh.ListOptions{PerPage: 100, Page: page}
			if at.Thread != 0 {
				all, resp, err := p.Client.PullRequests.ListComments(
					ctx,
					p.Owner,
					p.Repo,
					at.Number,
					&gh.PullRequestListCommentsOptions{ListOptions: list},
				)
				if err == nil && !visited(all, visit) {
					next = resp.NextPage
				}
				return err
			}
			all, resp, err := p.Client.Issues.ListComments(
				ctx,
				p.Owner,
				p.Repo,
				at.Number,
				&gh.IssueListCommentsOptions{ListOptions: list},
			)
			if err == nil && !visited(all, visit) {
				next = resp.NextPage
			}
			return err
		})
		if err != nil {
			return err
		}
		page = next
	}
	return nil
}

// visited calls visit for comments of either kind, and reports whether it returned true for one
// of them.
func visited[C interface {
	GetUser() *gh.User
	GetBody() string
}](all []C, visit func(by *gh.User, text string) bool) bool {
	return slices.ContainsFunc(all, func(c C) bool { return visit(c.GetUser(), c.GetBody()) })
}
