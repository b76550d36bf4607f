package comment

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
)

// Sticky writes the summary comment of a pull request: the one that our bot wrote, with the marker, and that is not minimised.
// Where there is none it makes one if create is set. body is left as it is when nothing changed; "" does nothing.
func (p *Poster) Sticky(ctx context.Context, number int, body string, create bool) error {
	if body == "" {
		return nil
	}
	old, err := p.findSticky(ctx, number)
	switch {
	case err != nil:
		return err
	case old == nil && !create, old != nil && same(old.GetBody(), body):
		return nil
	case old == nil:
		return p.write(ctx, fmt.Sprintf("comment on #%d", number), func() error {
			_, _, err := p.Client.Issues.CreateComment(ctx, p.Owner, p.Repo, number, &gh.IssueComment{Body: &body})
			return err
		}, func() (bool, error) {
			c, err := p.findSticky(ctx, number)
			return c != nil, err
		})
	}
	return p.write(ctx, fmt.Sprintf("edit the comment on #%d", number), func() error {
		_, _, err := p.Client.Issues.EditComment(ctx, p.Owner, p.Repo, old.GetID(), &gh.IssueComment{Body: &body})
		return err
	}, func() (bool, error) { return false, nil }) // the same edit twice is one edit
}

func (p *Poster) findSticky(ctx context.Context, number int) (*gh.IssueComment, error) {
	var found *gh.IssueComment
	err := p.comments(ctx, number, func(c *gh.IssueComment) (bool, error) {
		if c.GetUser().GetLogin() != p.Bot || !strings.Contains(c.GetBody(), Marker) {
			return false, nil
		}
		hidden, err := p.minimised(ctx, c.GetNodeID())
		if err == nil && !hidden {
			found = c
		}
		return found != nil, err
	})
	return found, err
}

// comments calls visit for every comment of an issue or pull request, oldest first, until it says that it is done.
func (p *Poster) comments(ctx context.Context, number int, visit func(*gh.IssueComment) (bool, error)) error {
	opts := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	for {
		var page []*gh.IssueComment
		var resp *gh.Response
		err := p.read(fmt.Sprintf("list comments of #%d", number), func() (err error) {
			page, resp, err = p.Client.Issues.ListComments(ctx, p.Owner, p.Repo, number, opts)
			return err
		})
		if err != nil {
			return err
		}
		for _, c := range page {
			if done, err := visit(c); done || err != nil {
				return err
			}
		}
		if resp.NextPage == 0 {
			return nil
		}
		opts.Page = resp.NextPage
	}
}

const minimisedQuery = `query($id: ID!) { node(id: $id) { ... on Minimizable { isMinimized } } }`

// minimised asks whether somebody hid a comment; only GraphQL knows. Where it refuses to say, the comment counts as visible: a
// second one would be worse.
func (p *Poster) minimised(ctx context.Context, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	var out struct {
		Node struct {
			IsMinimized bool `json:"isMinimized"`
		} `json:"node"`
	}
	err := p.read("ask whether a comment is minimised", func() error {
		return p.Client.GraphQL(ctx, minimisedQuery, map[string]any{"id": id}, &out)
	})
	if err == nil {
		return out.Node.IsMinimized, nil
	}
	if k := github.Classify(err).Kind; k == github.Retry || k == github.After || ctx.Err() != nil {
		return false, err
	}
	p.log().Warn("GitHub does not say whether the summary comment is minimised", "error", err)
	return false, nil
}

// same compares comment bodies as GitHub stores them: with its line ends and without white space at the end.
func same(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}

// React puts a reaction ("+1", "-1", "confused", "eyes") on an issue comment. GitHub keeps one of a kind for each user. A comment
// that is gone needs none.
func (p *Poster) React(ctx context.Context, commentID int64, content string) error {
	err := p.write(ctx, "react to a comment", func() error {
		_, _, err := p.Client.Reactions.CreateIssueCommentReaction(ctx, p.Owner, p.Repo, commentID, content)
		return err
	}, func() (bool, error) { return false, nil })
	if k := github.Classify(err).Kind; err != nil && (k == github.Missing || k == github.Gone) {
		return nil
	}
	return err
}

// Reply answers a command, once: a reply to the same comment that is there already is enough. body is Markdown of ours.
func (p *Poster) Reply(ctx context.Context, number int, commentID int64, body string) error {
	marker := fmt.Sprintf("<!-- compat:reply %d -->", commentID)
	there := func() (found bool, err error) {
		err = p.comments(ctx, number, func(c *gh.IssueComment) (bool, error) {
			found = c.GetUser().GetLogin() == p.Bot && strings.Contains(c.GetBody(), marker)
			return found, nil
		})
		return found, err
	}
	if found, err := there(); found || err != nil {
		return err
	}
	full := marker + "\n" + strings.ReplaceAll(body, Marker, "")
	return p.write(ctx, fmt.Sprintf("reply on #%d", number), func() error {
		_, _, err := p.Client.Issues.CreateComment(ctx, p.Owner, p.Repo, number, &gh.IssueComment{Body: &full})
		return err
	}, there)
}
