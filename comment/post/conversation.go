package post

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
)

// Conversation contains the comments of the App in one pull request: a review, replies in its
// threads, and one summary comment. It reads the conversation once, when needed. Each step may be
// repeated after a crash.
type Conversation struct {
	p       *Poster
	number  int
	known   bool     // threads and sticky have been read
	threads []thread // threads of the App
	sticky  []said   // visible summary comments of the App, oldest first
}

// said is a comment of the App.
type said struct {
	id   int64
	node string
	body string
}

// Conversation returns the conversation of a pull request. silent means that it has no comments
// of the App, so it is not read.
func (p *Poster) Conversation(number int, silent bool) *Conversation {
	return &Conversation{p: p, number: number, known: silent}
}

// Silent reports whether the conversation has no comments of the App, if it was read.
func (t *Conversation) Silent() bool { return t.known && len(t.threads) == 0 && len(t.sticky) == 0 }

const conversationQuery = `query($owner: String!, $name: String!, $number: Int!, $threads: String, $comments: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $threads) { pageInfo { hasNextPage endCursor }
      nodes { id isResolved resolvedBy { login }
          comments(first: 1) { nodes { id body author { __typename login } } } } }
    comments(first: 100, after: $comments) { pageInfo { hasNextPage endCursor }
      nodes { id fullDatabaseId body isMinimized author { __typename login } } } } } }`

type actor struct {
	Type  string `json:"__typename"`
	Login string `json:"login"`
}

// read reads the conversation, if needed.
func (t *Conversation) read(ctx context.Context) error {
	if t.known {
		return nil
	}
	t.threads, t.sticky = nil, nil
	var threads, comments *string
	for {
		var page struct {
			Repository struct {
				PullRequest struct {
					ReviewThreads struct {
						PageInfo pageInfo     `json:"pageInfo"`
						Nodes    []threadNode `json:"nodes"`
					} `json:"reviewThreads"`
					Comments struct {
						PageInfo pageInfo `json:"pageInfo"`
						Nodes    []struct {
							ID          string `json:"id"`
							Number      string `json:"fullDatabaseId"`
							Body        string `json:"body"`
							IsMinimized bool   `json:"isMinimized"`
							Author      *actor `json:"author"`
						} `json:"nodes"`
					} `json:"comments"`
				} `json:"pullRequest"`
			} `json:"repository"`
		}
		err := t.p.read(fmt.Sprintf("read the conversation of #%d", t.number), func() error {
			return t.p.Client.GraphQL(
				ctx,
				conversationQuery,
				map[string]any{
					"owner":    t.p.Owner,
					"name":     t.p.Repo,
					"number":   t.number,
					"threads":  threads,
					"comments": comments,
				},
				&page,
			)
		})
		if err != nil {
			return err
		}
		pull := page.Repository.PullRequest
		for _, n := range pull.ReviewThreads.Nodes {
			if own := n.ours(t.p); own != nil &&
				!slices.ContainsFunc(t.threads, func(o thread) bool { return o.id == own.id }) {
				t.threads = append(t.threads, *own)
			}
		}
		for _, c := range pull.Comments.Nodes {
			id, err := strconv.ParseInt(c.Number, 10, 64)
			if err != nil || c.IsMinimized || !c.Author.is(t.p) ||
				!strings.HasPrefix(c.Body, comment.Marker) ||
				slices.ContainsFunc(t.sticky, func(o said) bool { return o.id == id }) {
				continue
			}
			t.sticky = append(t.sticky, said{id, c.ID, c.Body})
		}
		more := false
		for _, list := range []struct {
			info   pageInfo
			cursor **string
		}{{pull.ReviewThreads.PageInfo, &threads}, {pull.Comments.PageInfo, &comments}} {
			// a list that has ended returns an empty page
			if end := list.info.EndCursor; end != "" {
				*list.cursor = &end
			}
			more = more || list.info.HasNextPage
		}
		if !more {
			t.known = true
			return nil
		}
	}
}

// reread reads the conversation again, after a write that may have succeeded.
func (t *Conversation) reread(ctx context.Context) error {
	t.known = false
	return t.read(ctx)
}

// is reports whether an actor is the App. GraphQL returns the login without "[bot]", which a
// person could have too, so the type is compared.
func (a *actor) is(p *Poster) bool {
	login, isBot := strings.CutSuffix(p.Bot, "[bot]")
	return a != nil && a.Login == login && (!isBot || a.Type == "Bot")
}

// Sticky writes the summary comment of the pull request: the newest one of the App that begins
// with the marker (a quoted name could contain it) and is not minimized. Earlier ones, left by a
// race, are minimized. If there is none it is created if create is set. An unchanged body is not
// written; "" does nothing.
func (t *Conversation) Sticky(ctx context.Context, body string, create bool) error {
	if body == "" {
		return nil
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	if len(t.sticky) == 0 {
		if !create {
			return nil
		}
		return t.p.write(ctx, fmt.Sprintf("comment on #%d", t.number), func() error {
			_, _, err := t.p.Client.Issues.CreateComment(
				ctx,
				t.p.Owner,
				t.p.Repo,
				t.number,
				&gh.IssueComment{Body: &body},
			)
			return err
		}, func() (bool, error) {
			err := t.reread(ctx)
			return len(t.sticky) > 0, err
		})
	}
	last := len(t.sticky) - 1
	for _, c := range t.sticky[:last] {
		if err := t.p.mutate(ctx, "minimize an earlier summary comment", minimizeMutation,
			map[string]any{"id": c.node, "why": "DUPLICATE"}); err != nil &&
			!refused(err) {
			return err
		}
	}
	if same(t.sticky[last].body, body) {
		return nil
	}
	return t.p.write(ctx, fmt.Sprintf("edit the comment on #%d", t.number), func() error {
		_, _, err := t.p.Client.Issues.EditComment(
			ctx,
			t.p.Owner,
			t.p.Repo,
			t.sticky[last].id,
			&gh.IssueComment{Body: &body},
		)
		return err
	}, func() (bool, error) { return false, nil }) // repeating an edit does no harm
}

type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
}

// same compares bodies of comments as GitHub stores them: with its line endings, without trailing
// white space.
func same(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}
