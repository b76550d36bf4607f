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

// ReplyTo is what an answer belongs to: a comment with a command, or a button that somebody pressed
// on a check run.
type ReplyTo struct {
	Number  int   // the pull request
	Comment int64 // 0: a button
	// of a comment on the diff: the first one of its conversation, which the answer goes into
	Thread int64
	Press  string // of a button: tells one press from another
}

// marker begins the reply to a spot, so that it is found again.
func (s ReplyTo) marker() string {
	name := s.Press
	if s.Comment != 0 {
		name = strconv.FormatInt(s.Comment, 10)
	}
	return "<!-- compat:reply " + name + " -->"
}

// React puts a reaction ("eyes", "+1", "-1", "confused") on the comment of a spot. GitHub keeps one
// of a kind for each user. A button has none, and a comment that is gone needs none.
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

// Reply answers at a spot, once: a reply to the same one that is there already is enough. body is
// Markdown of ours.
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

// said calls visit for the comments among which the reply to a spot would be, oldest first, until
// it says that it is done.
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

// visited shows comments of either kind to visit, and says whether it was done with one of them.
func visited[C interface {
	GetUser() *gh.User
	GetBody() string
}](all []C, visit func(by *gh.User, text string) bool) bool {
	return slices.ContainsFunc(all, func(c C) bool { return visit(c.GetUser(), c.GetBody()) })
}
