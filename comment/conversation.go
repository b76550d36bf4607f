package comment

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/internal/github"
)

// Sticky writes the summary comment of a pull request: the one that our bot wrote, that begins with the marker (a
// name quoted further down may look like it), and that is not minimised.
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
	var ours []*gh.IssueComment
	err := p.comments(ctx, number, func(c *gh.IssueComment) (bool, error) {
		if c.GetUser().GetLogin() == p.Bot && strings.HasPrefix(c.GetBody(), Marker) {
			ours = append(ours, c)
		}
		return false, nil
	})
	if err != nil || len(ours) == 0 {
		return nil, err
	}
	hidden, err := p.minimised(ctx, number)
	if err != nil {
		return nil, err
	}
	for _, c := range ours {
		if !hidden[c.GetNodeID()] {
			return c, nil
		}
	}
	return nil, nil
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

const minimisedQuery = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { comments(first: 100, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes { id isMinimized } } } } }`

// minimised asks which comments somebody hid, by node id; only GraphQL knows. Where it refuses to say, all count as visible: a
// second summary comment would be worse.
func (p *Poster) minimised(ctx context.Context, number int) (map[string]bool, error) {
	hidden := map[string]bool{}
	var after *string
	for {
		var page struct {
			Repository struct {
				PullRequest struct {
					Comments struct {
						PageInfo pageInfo `json:"pageInfo"`
						Nodes    []struct {
							ID          string `json:"id"`
							IsMinimized bool   `json:"isMinimized"`
						} `json:"nodes"`
					} `json:"comments"`
				} `json:"pullRequest"`
			} `json:"repository"`
		}
		err := p.read(fmt.Sprintf("list minimised comments of #%d", number), func() error {
			return p.Client.GraphQL(ctx, minimisedQuery, map[string]any{"owner": p.Owner, "name": p.Repo, "number": number, "after": after}, &page)
		})
		if refused(err) {
			p.log().Warn("GitHub does not say which comments are minimised", "number", number, "error", err)
			return hidden, nil
		}
		if err != nil {
			return nil, err
		}
		cs := page.Repository.PullRequest.Comments
		for _, c := range cs.Nodes {
			if c.IsMinimized {
				hidden[c.ID] = true
			}
		}
		if !cs.PageInfo.HasNextPage {
			return hidden, nil
		}
		after = &cs.PageInfo.EndCursor
	}
}

type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
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
			found = c.GetUser().GetLogin() == p.Bot && strings.HasPrefix(c.GetBody(), marker)
			return found, nil
		})
		return found, err
	}
	if found, err := there(); found || err != nil {
		return err
	}
	full := marker + "\n" + strings.ReplaceAll(body, Marker, "<!-- -->")
	return p.write(ctx, fmt.Sprintf("reply on #%d", number), func() error {
		_, _, err := p.Client.Issues.CreateComment(ctx, p.Owner, p.Repo, number, &gh.IssueComment{Body: &full})
		return err
	}, there)
}
